/// How an entry of a run ended; every entry ends in exactly one of these.
public enum Outcome: UInt8, Sendable, CaseIterable {
  /// Cached in memory, fresh and good.
  case hitMemory
  /// Cached on disk, fresh and good.
  case hitDisk
  /// Fetched, good, and committed.
  case downloaded
  /// The server answered 304: the cached image is still right.
  case revalidated
  /// Fetched and good, not meant to be kept.
  case checked
  /// Failed, with a ``FailureKind``.
  case failed
  /// Known bad and not cached: not asked.
  case blacklisted
  /// Filtered out, or a miss where the network is not to be asked.
  case skipped
  /// Read, but not finished when the run was stopped.
  case cancelled

  /// The name in rows of a report, such as `hit-disk`.
  public var name: String {
    switch self {
    case .hitMemory: "hit-memory"
    case .hitDisk: "hit-disk"
    case .downloaded: "downloaded"
    case .revalidated: "revalidated"
    case .checked: "checked"
    case .failed: "failed"
    case .blacklisted: "blacklisted"
    case .skipped: "skipped"
    case .cancelled: "cancelled"
    }
  }
}
