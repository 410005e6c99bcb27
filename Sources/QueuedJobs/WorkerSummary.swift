#if Queue
public import Reports

/// What a worker did of one job.
public struct WorkerSummary: Sendable {
  /// How a worker's run ended.
  public enum Ending: Sendable, Equatable {
    /// The sealed queue has nothing left.
    case drained
    /// A signal came.
    case interrupted(Interruption)
    /// The queue was deleted, or filled anew, while this worker held some of it.
    case replaced
    /// It could not go on, for the reason in the sentence.
    case failed(String)
  }

  /// The job's name.
  public var name: String
  /// How it ended.
  public var ending: Ending
  /// How entries ended here, of which others may have finished some in its place.
  public var totals: Totals
  /// Bytes of bodies received from the network.
  public var receivedBytes: UInt64
  /// How long it took.
  public var duration: Duration
  /// This worker's cache; nil where it has none.
  public var cache: CacheSummary?
  /// Sentences on what was odd.
  public var warnings: [String]

  /// What a person is told: a line on what was done, one on the cache, and one for each warning.
  public var lines: [String] {
    var lines: [String] = []
    let parts = [
      (totals.downloaded, "downloaded"), (totals.revalidated, "revalidated"), (totals.checked, "checked"),
      (totals.hits, "in the cache"),
      (totals.failed, "failed"), (totals.blacklisted, "known bad"), (totals.skipped, "skipped"),
    ]
    let counts = parts.filter { $0.0 > 0 }.map { "\(grouped($0.0)) \($0.1)" }
    let done = ([counted(totals.urls, "URL")] + counts).joined(separator: ", ")
    lines.append("\(name): this worker finished \(done); \(byteCount(Double(receivedBytes))) received in \(elapsed(duration))")
    if let cache {
      lines.append("cache \(cache.directory): \(counted(cache.entries, "image")), \(byteCount(Double(cache.bodyBytes)))")
    }
    return lines + warnings
  }
}
#endif
