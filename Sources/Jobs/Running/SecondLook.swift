import Base
import ImageManaging
import Reports

/// The entries of a run whose failure may be temporary: they are requested once more at its end, and only that result counts.
final class SecondLook: PrefetchDelegate {
  /// With more failures, hosts are down rather than flaky, and the rest counts at once: about 30 MB.
  private static let limit = 100_000

  private unowned let execution: JobExecution
  private var entries = EntryBatch()
  /// Their first results.
  private var results: [EntryResult] = []
  /// How many were requested again.
  private var started = 0

  init(of execution: JobExecution) { self.execution = execution }

  var count: UInt64 { UInt64(results.count) }

  /// Keeps an entry for the end of the run; false if its result counts at once.
  func takes(_ entry: Entry, _ result: EntryResult) -> Bool {
    guard result.outcome == .failed, result.failure?.isTransient == true, results.count < Self.limit else { return false }
    entries.append(copying: entry)
    results.append(result)
    return true
  }

  /// Makes the first results of those count that weren't requested again.
  func end() {
    for index in started..<results.count { execution.conclude(entries.entry(index), LoadCompletion(results[index])) }
  }

  var sourceDescriptor: Int32? { nil }

  func read(_ batch: inout EntryBatch, maximum: Int) -> PrefetchSourceState {
    let end = min(started + maximum, results.count)
    batch.bytes = entries.bytes
    for index in started..<end { batch.append(entries.entries[index], owner: entries.owner(index)) }
    started = end
    return end == results.count ? .ended : .open
  }

  func finished(_ entry: Entry, _ completion: LoadCompletion) {
    // The run numbers entries in the order in which it reads them.
    let first = results[Int(entry.sequence)]
    var completion = completion
    if completion.result.outcome == .cancelled {
      completion = LoadCompletion(first)
    } else {
      completion.result.add(first)
    }
    execution.conclude(entry, completion)
  }

  func progressed() { execution.progressed() }
}

extension EntryResult {
  /// Adds the costs of an earlier failure.
  fileprivate mutating func add(_ first: EntryResult) {
    attempts += first.attempts
    receivedBytes += first.receivedBytes
    durationNanoseconds += first.durationNanoseconds
    waitedNanoseconds += first.waitedNanoseconds
    if outcome.isGood { details.isRecovered = true }
  }
}
