public import Base

public enum Interruption: String, Sendable, Hashable {
  case interrupt = "SIGINT"
  case terminate = "SIGTERM"

  public var signalName: String { rawValue }
  public var exitStatus: ExitStatus { self == .interrupt ? .interrupted : .terminated }
}

/// The facts about a run that are known only at its end and don't follow from its entries.
public struct RunEnd: Sendable {
  /// When it ended, by the calendar; nil if unknown.
  public var finishedAt: Timestamp?
  /// The duration by the monotonic clock, on which rates are based; zero if unknown.
  public var duration: Duration
  public var interruption: Interruption?
  public var isPastDeadline = false
  /// A sentence on why it couldn't finish, such as a broken manifest; then the exit status is 1.
  public var breakage: String?
  public var areManifestsRead = true
  /// Whether no entry remained after include and exclude.
  public var isEmpty = false
  /// Entries of a queue that workers hadn't finished when the wait for them ended; the report has nothing else about them.
  public var outstanding: UInt64 = 0
  /// The cache as it is now; nil if the run had none.
  public var cache: CacheSummary?
  /// The blacklist as it is now; nil if the run had none.
  public var blacklist: BlacklistSummary?
  /// The bottleneck and its remedy, such as `per-host: 8 of 32 transfers used; raise prefetch.per-host`; nil if there was none.
  public var bottleneck: String?
  /// The share of the run in which each part was the bottleneck, the largest first; empty if unknown.
  public var bottlenecks: [BottleneckShare] = []
  /// Sentences on the run as a whole; ``RunReport`` collects those of entries.
  public var warnings: [String] = []
  /// The peak memory use (RssAnon + RssShmem) in bytes; nil if unknown.
  public var peakMemoryBytes: UInt64?
  /// The peak of its mapped files, above all the cache's index, in bytes (RssFile); nil if unknown. They count as resident memory (RSS), but
  /// the system takes them back when it needs memory.
  public var mappedMemoryBytes: UInt64?

  public init(finishedAt: Timestamp?, duration: Duration) { (self.finishedAt, self.duration) = (finishedAt, duration) }
}

/// The share of a run in which one part was the bottleneck.
public struct BottleneckShare: Sendable, Equatable {
  /// The first word of ``RunEnd/bottleneck`` if this share is the largest: `network`, `per-host`, `rate`, `decoding`, `disk`,
  /// `manifest` or `cpu`.
  public var name: String
  /// Of the run's duration, from 0 to 1.
  public var fraction: Double

  public init(name: String, fraction: Double) { (self.name, self.fraction) = (name, fraction) }
}

public struct CacheSummary: Sendable, Equatable {
  public var directory: String
  /// The namespace of the job, to which the figures refer.
  public var namespace: String
  public var entries: UInt64
  public var bodyBytes: UInt64
  /// The disk space of its files in bytes.
  public var diskBytes: UInt64
  /// The limit of bodies in bytes; nil if there is none.
  public var maximumBytes: UInt64?
  /// Entries that trimming removed to keep the limit.
  public var trimmedEntries: UInt64 = 0
  public var expiredEntries: UInt64 = 0
  /// How many of the trimmed entries this run had stored.
  public var evictedFromThisRun: UInt64 = 0
  /// The limit that would have been enough for the images of this run; nil unless it evicted some of them.
  public var sufficientBytes: UInt64?
  /// When the first of this run's good entries expires; nil if none of them expires, or there are none.
  public var freshUntil: Timestamp?

  public init(directory: String, namespace: String, entries: UInt64, bodyBytes: UInt64, diskBytes: UInt64) {
    (self.directory, self.namespace, self.entries, self.bodyBytes) = (directory, namespace, entries, bodyBytes)
    self.diskBytes = diskBytes
  }
}

public struct BlacklistSummary: Sendable, Equatable {
  public var entries: UInt64
  public var added: UInt64
  public var removed: UInt64

  public init(entries: UInt64, added: UInt64, removed: UInt64) {
    (self.entries, self.added, self.removed) = (entries, added, removed)
  }
}
