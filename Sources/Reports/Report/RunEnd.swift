public import ImagePrimitives

/// What stopped a run before its end.
public enum Interruption: String, Sendable, Hashable {
  case interrupt = "SIGINT"
  case terminate = "SIGTERM"

  public var signalName: String { rawValue }
}

/// What is known of a run only when it has ended, and not from its entries.
public struct RunEnd: Sendable {
  /// When it ended, by the calendar; nil if that is unknown.
  public var finishedAt: Timestamp?
  /// How long the run took by the monotonic clock, zero if that is unknown: rates are over this.
  public var duration: Duration
  /// The signal that stopped it, if one did.
  public var interruption: Interruption?
  /// Whether the job's deadline stopped it.
  public var isPastDeadline = false
  /// One sentence on why it could not finish, such as a manifest that broke midway; then the exit status is 1.
  public var breakage: String?
  /// Whether every manifest was read to its end.
  public var areManifestsRead = true
  /// Whether no entry was left after include and exclude.
  public var isEmpty = false
  /// Entries of a queue that workers had not finished when the wait for them ended, and of which the report has nothing else.
  public var outstanding: UInt64 = 0
  /// The cache as it is now; nil if the run had none.
  public var cache: CacheSummary?
  /// The blacklist as it is now; nil if the run had none.
  public var blacklist: BlacklistSummary?
  /// What held the speed down and what to do, such as `per-host: 8 of 32 transfers used; raise prefetch.per-host`.
  public var bottleneck: String?
  /// For how much of the run each of these parts held up all else, the largest first; empty if that is unknown.
  public var bottlenecks: [BottleneckShare] = []
  /// Sentences on the run as a whole; those of entries are gathered by ``RunReport``.
  public var warnings: [String] = []
  /// The most memory it held (RssAnon + RssShmem), in bytes; nil if unknown.
  public var peakMemoryBytes: UInt64?

  public init(finishedAt: Timestamp?, duration: Duration) {
    self.finishedAt = finishedAt
    self.duration = duration
  }
}

/// A part of a run that held up all else.
public struct BottleneckShare: Sendable, Equatable {
  /// The word by which ``RunEnd/bottleneck`` begins where it is the largest: `network`, `per-host`, `rate`, `decoding`, `disk`, `manifest`
  /// or `cpu`.
  public var name: String
  /// Of the run's duration, from 0 to 1.
  public var fraction: Double

  public init(name: String, fraction: Double) {
    self.name = name
    self.fraction = fraction
  }
}

/// The cache after a run.
public struct CacheSummary: Sendable, Equatable {
  /// The folder that holds it.
  public var directory: String
  /// The namespace that the job uses; the figures are of it.
  public var namespace: String
  public var entries: UInt64
  public var bodyBytes: UInt64
  /// Bytes that its files take on disk.
  public var diskBytes: UInt64
  /// The limit of bodies in bytes; nil for none.
  public var maximumBytes: UInt64?
  /// Entries that trimming to the limit removed.
  public var trimmedEntries: UInt64 = 0
  /// Entries that were removed because they had expired.
  public var expiredEntries: UInt64 = 0
  /// How many of the trimmed this very run had stored.
  public var evictedFromThisRun: UInt64 = 0
  /// Until when all of this run's good entries are fresh; nil if none of them ever expires, or there are none.
  public var freshUntil: Timestamp?

  public init(directory: String, namespace: String, entries: UInt64, bodyBytes: UInt64, diskBytes: UInt64) {
    self.directory = directory
    self.namespace = namespace
    self.entries = entries
    self.bodyBytes = bodyBytes
    self.diskBytes = diskBytes
  }
}

/// The blacklist after a run.
public struct BlacklistSummary: Sendable, Equatable {
  public var entries: UInt64
  /// URLs that this run put on it.
  public var added: UInt64
  /// URLs that this run took off it.
  public var removed: UInt64

  public init(entries: UInt64, added: UInt64, removed: UInt64) {
    self.entries = entries
    self.added = added
    self.removed = removed
  }
}
