#if Queue
public import Reports

/// The result of a worker's run over one job.
public struct WorkerSummary: Sendable {
  /// The reason why a worker's run ended.
  public enum Ending: Sendable, Equatable {
    /// The sealed queue is empty.
    case drained
    /// A signal arrived.
    case interrupted(Interruption)
    /// The queue was deleted or filled again while this worker held some of its messages, or before it received any.
    case replaced
    /// It couldn't continue, for that reason.
    case failed(String)
  }

  public var name: String
  public var ending: Ending
  /// The outcomes of entries here; other workers may have finished some of them instead.
  public var totals: Totals
  /// Bytes of bodies received from the network.
  public var receivedBytes: UInt64
  /// The duration of the run.
  public var duration: Duration
  /// This worker's cache; nil if it has none.
  public var cache: CacheSummary?
  /// Warnings, one sentence each.
  public var warnings: [String]

  /// The summary for people: a line on the results, one on the cache, and one per warning.
  public var lines: [String] {
    var lines: [String] = []
    let parts = [
      (totals.downloaded, "downloaded"), (totals.revalidated, "revalidated"), (totals.checked, "checked"),
      (totals.hits, "hits"), (totals.failed, "failed"), (totals.blacklisted, "blacklisted"), (totals.skipped, "skipped"),
    ]
    let counts = parts.filter { $0.0 > 0 }.map { "\(grouped($0.0)) \($0.1)" }
    let done = counted(totals.urls, "URL") + (counts.isEmpty ? "" : " (\(counts.joined(separator: ", ")))")
    lines.append("\(name): this worker finished \(done); \(byteCount(Double(receivedBytes))) received in \(elapsed(duration))")
    if let cache {
      lines.append("cache \(cache.directory): \(counted(cache.entries, "image")), \(byteCount(Double(cache.bodyBytes)))")
    }
    return lines + warnings
  }
}
#endif
