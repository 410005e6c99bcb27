package import Base

/// A signal that stopped a run.
package enum Interruption: String, Sendable, Hashable {
  case interrupt = "SIGINT"
  case terminate = "SIGTERM"

  package var signalName: String { rawValue }

  package var exitStatus: ExitStatus {
    switch self {
    case .interrupt: .interrupted
    case .terminate: .terminated
    }
  }
}

/// The facts about a run that are known only at its end and don't follow from its entries.
package struct RunEnd: Sendable {
  /// When it ended, by the calendar; nil if unknown.
  package var finishedAt: Timestamp?
  /// The duration by the monotonic clock, on which rates are based; zero if unknown.
  package var duration: Duration
  /// The signal that stopped it, if one did.
  package var interruption: Interruption?
  /// Whether the job's deadline stopped it.
  package var isPastDeadline = false
  /// A sentence on why it couldn't finish, such as a broken manifest; then the exit status is 1.
  package var breakage: String?
  /// Whether every manifest was read to its end.
  package var areManifestsRead = true
  /// Whether no entry remained after include and exclude.
  package var isEmpty = false
  /// Entries of a queue that workers hadn't finished when the wait for them ended; the report has nothing else about them.
  package var outstanding: UInt64 = 0
  /// The cache as it is now; nil if the run had none.
  package var cache: CacheSummary?
  /// The blacklist as it is now; nil if the run had none.
  package var blacklist: BlacklistSummary?
  /// The bottleneck and its remedy, such as `per-host: 8 of 32 transfers used; raise prefetch.per-host`; nil if there was none.
  package var bottleneck: String?
  /// The share of the run in which each part was the bottleneck, the largest first; empty if unknown.
  package var bottlenecks: [BottleneckShare] = []
  /// Sentences on the run as a whole; ``RunReport`` collects those of entries.
  package var warnings: [String] = []
  /// The peak memory use (RssAnon + RssShmem) in bytes; nil if unknown.
  package var peakMemoryBytes: UInt64?

  package init(finishedAt: Timestamp?, duration: Duration) {
    self.finishedAt = finishedAt
    self.duration = duration
  }
}

/// The share of a run in which one part was the bottleneck.
package struct BottleneckShare: Sendable, Equatable {
  /// The first word of ``RunEnd/bottleneck`` if this share is the largest: `network`, `per-host`, `rate`, `decoding`, `disk`,
  /// `manifest` or `cpu`.
  package var name: String
  /// Of the run's duration, from 0 to 1.
  package var fraction: Double

  package init(name: String, fraction: Double) {
    self.name = name
    self.fraction = fraction
  }
}

/// The cache after a run.
package struct CacheSummary: Sendable, Equatable {
  /// Its folder.
  package var directory: String
  /// The namespace of the job, to which the figures refer.
  package var namespace: String
  package var entries: UInt64
  package var bodyBytes: UInt64
  /// The disk space of its files in bytes.
  package var diskBytes: UInt64
  /// The limit of bodies in bytes; nil if there is none.
  package var maximumBytes: UInt64?
  /// Entries that trimming removed to keep the limit.
  package var trimmedEntries: UInt64 = 0
  /// Expired entries that were removed.
  package var expiredEntries: UInt64 = 0
  /// How many of the trimmed entries this run had stored.
  package var evictedFromThisRun: UInt64 = 0
  /// The limit that would have been enough for the images of this run; nil unless it evicted some of them.
  package var sufficientBytes: UInt64?
  /// When the first of this run's good entries expires; nil if none of them expires, or there are none.
  package var freshUntil: Timestamp?

  package init(directory: String, namespace: String, entries: UInt64, bodyBytes: UInt64, diskBytes: UInt64) {
    self.directory = directory
    self.namespace = namespace
    self.entries = entries
    self.bodyBytes = bodyBytes
    self.diskBytes = diskBytes
  }
}

/// The blacklist after a run.
package struct BlacklistSummary: Sendable, Equatable {
  package var entries: UInt64
  /// URLs that this run added.
  package var added: UInt64
  /// URLs that this run removed.
  package var removed: UInt64

  package init(entries: UInt64, added: UInt64, removed: UInt64) {
    self.entries = entries
    self.added = added
    self.removed = removed
  }
}
