import ImagePrimitives

/// How a run went over its time: what was done in each of some steps of equal length.
public struct Timeline: Sendable, Equatable {
  /// What was done in one step.
  public struct Step: Sendable, Equatable {
    /// Entries that ended.
    public var urls: UInt64 = 0
    /// Those of them that failed or were blacklisted.
    public var bad: UInt64 = 0
    /// Bytes of bodies received.
    public var receivedBytes: UInt64 = 0

    static func += (sum: inout Step, other: Step) {
      sum.urls += other.urls
      sum.bad += other.bad
      sum.receivedBytes += other.receivedBytes
    }
  }

  static let maximumSteps = 120

  /// How long each step is.
  public var step = Duration.zero
  /// From the start of the run on; its end may have cut the last.
  public var steps: [Step] = []
}

/// Notes how a run goes, in steps of equal length that double whenever there are too many: however long it takes, a bounded number of them.
///
/// What ended since the last sample counts in the step that the next one falls into, so that their sums are the totals.
struct TimelineRecorder {
  /// The length of a step at first.
  static let firstStep = Duration.milliseconds(250)

  private var step = Self.firstStep
  private var steps: [Timeline.Step] = []
  /// What was noted so far.
  private var noted = Timeline.Step()

  /// Takes the counts of the whole run, so long after its start; one that is earlier than the last counts as that. Cancelled entries did
  /// not end.
  mutating func sample(_ totals: Totals, receivedBytes: UInt64, elapsed: Duration) {
    let index = max(index(of: elapsed), steps.count - 1)
    if index >= steps.count { steps.append(contentsOf: repeatElement(Timeline.Step(), count: index + 1 - steps.count)) }
    let sum = Timeline.Step(urls: totals.done, bad: totals.bad, receivedBytes: receivedBytes)
    guard sum != noted else { return }
    steps[index].urls += sum.urls - noted.urls
    steps[index].bad += sum.bad - noted.bad
    steps[index].receivedBytes += sum.receivedBytes - noted.receivedBytes
    noted = sum
  }

  /// All of it; nil if nothing was noted.
  var timeline: Timeline? { steps.isEmpty ? nil : Timeline(step: step, steps: steps) }

  /// The step that a moment falls into, which is below the limit.
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
