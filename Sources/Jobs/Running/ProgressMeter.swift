import ImageDownloading
import Base
package import Reports

final class ProgressMeter {
  /// The least time between two updates.
  static let interval = Duration.milliseconds(100)
  /// The window of rates: long enough that they don't flicker.
  static let window = Duration.seconds(5)
  /// No run is estimated to take longer: some 30,000 years.
  private static let maximumSeconds = 1e12

  private struct Sample {
    let moment: MonotonicInstant
    let done: UInt64
    let bytes: UInt64
  }

  private let jobName: String
  private var samples: [Sample]
  private var nextDue: MonotonicInstant

  init(jobName: String, start: MonotonicInstant) {
    self.jobName = jobName
    samples = [Sample(moment: start, done: 0, bytes: 0)]
    nextDue = start.advanced(by: Self.interval)
  }

  /// Returns whether progress is due, and schedules the next update if it is.
  func isDue(now: MonotonicInstant) -> Bool {
    guard now >= nextDue else { return false }
    nextDue = now.advanced(by: Self.interval)
    return true
  }

  /// Returns the state of the run, with rates over the last seconds.
  func snapshot(
    totals: OutcomeTotals,
    receivedBytes: UInt64,
    expected: Int?,
    note: String?,
    lastFailure: String? = nil,
    now: MonotonicInstant
  ) -> ProgressSnapshot {
    let done = totals.done
    while samples.count > 1, now.since(samples[1].moment) >= Self.window { samples.removeFirst() }
    let first = samples[0]
    samples.append(Sample(moment: now, done: done, bytes: receivedBytes))
    let seconds = now.since(first.moment).inSeconds
    let rate = seconds > 0 ? Double(done - first.done) / seconds : 0
    // An estimated total is never less than the entries read so far.
    let total = expected.map { max(UInt64(clamping: $0), totals.urls) }
    return ProgressSnapshot(
      name: jobName,
      totals: totals,
      total: total,
      urlsPerSecond: rate,
      bytesPerSecond: seconds > 0 ? Double(receivedBytes - first.bytes) / seconds : 0,
      // Only finished entries count: entries in flight still take their time.
      remaining: total.flatMap { rate > 0 ? .seconds(min(Double($0 - done) / rate, Self.maximumSeconds)) : nil },
      note: note,
      lastFailure: lastFailure
    )
  }
}

/// Displays the progress of a job; called on the driver thread.
package protocol JobProgress: AnyObject {
  /// Called at most ten times per second while the job runs.
  func show(_ snapshot: ProgressSnapshot)
  /// Shows a line above the progress.
  func note(_ text: String)
  func end()
}

extension DownloaderStatistics {
  /// The host that gets no requests now, such as `img.example.com paused 12 s (429)` or `img.example.com down (connection refused)`: the
  /// one with the longest pause, and the number of others; nil if there is none.
  var pauseNote: String? {
    guard let longest = pausedHosts.max(by: { $0.remaining < $1.remaining }) else { return nil }
    let seconds = Int64(longest.remaining.inSeconds.rounded(.up))
    let reason = longest.status.map(String.init) ?? longest.failure?.cause ?? "repeated failures"
    let others = pausedHosts.count - 1
    let state = longest.isDown ? "down" : "paused \(grouped(UInt64(clamping: seconds))) s"
    return "\(longest.host) \(state) (\(reason))" + (others > 0 ? " and \(grouped(UInt64(others))) more" : "")
  }
}
