public import Base

/// The progress of a run over time, in steps of equal length.
public struct Timeline: Sendable, Equatable {
  public struct Step: Sendable, Equatable {
    public var urls: UInt64 = 0
    /// How many of them failed or were blacklisted.
    public var bad: UInt64 = 0
    public var receivedBytes: UInt64 = 0

    static func += (sum: inout Step, other: Step) {
      sum.urls += other.urls
      sum.bad += other.bad
      sum.receivedBytes += other.receivedBytes
    }
  }

  static let maximumSteps = 120

  public var step = Duration.zero
  /// From the start of the run; its end may have cut the last step.
  public var steps: [Step] = []
}

/// Records the progress of a run in a bounded number of steps: their length doubles when there are too many. Entries that
/// finished since the last sample count in the step of the next one, so that the steps add up to the totals.
struct TimelineRecorder {
  static let firstStep = Duration.milliseconds(250)

  private var step = Self.firstStep
  private var steps: [Timeline.Step] = []
  private var noted = Timeline.Step()

  /// Records the counts of the whole run at a time after its start; a time before the last sample counts as that sample's. Cancelled
  /// entries aren't finished.
  mutating func sample(_ totals: OutcomeTotals, receivedBytes: UInt64, elapsed: Duration) {
    let index = max(index(of: elapsed), steps.count - 1)
    if index >= steps.count { steps.append(contentsOf: repeatElement(Timeline.Step(), count: index + 1 - steps.count)) }
    let sum = Timeline.Step(urls: totals.done, bad: totals.bad, receivedBytes: receivedBytes)
    guard sum != noted else { return }
    steps[index].urls += sum.urls - noted.urls
    steps[index].bad += sum.bad - noted.bad
    steps[index].receivedBytes += sum.receivedBytes - noted.receivedBytes
    noted = sum
  }

  var timeline: Timeline? { steps.isEmpty ? nil : Timeline(step: step, steps: steps) }

  /// Returns the step of a time, which is below the limit.
  private mutating func index(of elapsed: Duration) -> Int {
    while elapsed >= step * Timeline.maximumSteps { double() }
    return Int(max(.zero, elapsed) / step)
  }

  private mutating func double() {
    step = step * 2
    steps = stride(from: 0, to: steps.count, by: 2).map { index in
      var sum = steps[index]
      if index + 1 < steps.count { sum += steps[index + 1] }
      return sum
    }
  }
}

/// A run among those before it and after it.
public struct TrendPoint: Sendable, Equatable {
  static let limit = 30

  /// When it ended; nil if unknown.
  public var finishedAt: Timestamp?
  public var urls: UInt64 = 0
  /// How many failed or were blacklisted.
  public var bad: UInt64 = 0
  /// How many of them weren't known from the baseline of the run.
  public var new: UInt64 = 0
  /// By the monotonic clock; zero if unknown.
  public var duration = Duration.zero
  /// Whether its exit status wasn't 0.
  var isFailed = false
}

extension TrendPoint {
  init(_ report: FinishedReport) {
    self.init(
      finishedAt: report.end.finishedAt,
      urls: report.totals.urls,
      bad: report.totals.bad,
      new: report.standings.counting,
      duration: report.end.duration,
      isFailed: report.exitStatus != .withinLimits
    )
  }
}

extension FinishedReport {
  /// The last runs with this one at the end, for the next run; only this one if there is no other.
  var trendWithThisRun: [TrendPoint] { trend.isEmpty ? [TrendPoint(self)] : trend }

  /// `12 → 14 → 9 bad in the last 3 runs`; nil if no earlier run is known.
  var trendPhrase: String? {
    guard trend.count > 1 else { return nil }
    let shown = trend.suffix(10)
    return "\(shown.map { grouped($0.bad) }.joined(separator: " → ")) bad in the last \(shown.count) runs"
  }
}
