public import Base

/// The number of entries by outcome; ``urls`` is always their sum.
public struct Totals: Sendable, Hashable {
  /// Cached in memory, fresh and good.
  public var hitMemory: UInt64 = 0
  /// Cached on disk, fresh and good.
  public var hitDisk: UInt64 = 0
  /// Fetched, good, and stored.
  public var downloaded: UInt64 = 0
  /// The server returned 304.
  public var revalidated: UInt64 = 0
  /// Fetched and good, but not stored.
  public var checked: UInt64 = 0
  /// Failed in this run.
  public var failed: UInt64 = 0
  /// Known bad and not cached, so not requested.
  public var blacklisted: UInt64 = 0
  /// Filtered out, or a miss in a run that uses no network.
  public var skipped: UInt64 = 0
  /// Read, but not finished when the run stopped.
  public var cancelled: UInt64 = 0

  public init() {}

  /// All entries that were read.
  public var urls: UInt64 {
    hitMemory + hitDisk + downloaded + revalidated + checked + failed + blacklisted + skipped + cancelled
  }

  /// Cached and fresh, in memory or on disk.
  public var hits: UInt64 { hitMemory + hitDisk }

  /// Failed or known bad.
  public var bad: UInt64 { failed + blacklisted }

  /// Finished: all except cancelled ones.
  public var done: UInt64 { urls - cancelled }

  /// Neither skipped nor cancelled; percentages of rules refer to these.
  public var considered: UInt64 { urls - skipped - cancelled }

  /// The share of hits among all entries, 0…1; 0 without entries.
  public var hitRatio: Double { urls == 0 ? 0 : Double(hits) / Double(urls) }

  /// Adds `amount` entries with that outcome.
  @inline(__always)
  public mutating func add(_ outcome: LoadOutcome, _ amount: UInt64 = 1) {
    switch outcome {
    case .hitMemory: hitMemory += amount
    case .hitDisk: hitDisk += amount
    case .downloaded: downloaded += amount
    case .revalidated: revalidated += amount
    case .checked: checked += amount
    case .failed: failed += amount
    case .blacklisted: blacklisted += amount
    case .skipped: skipped += amount
    case .cancelled: cancelled += amount
    }
  }
}

extension Totals {
  package subscript(_ outcome: LoadOutcome) -> UInt64 {
    switch outcome {
    case .hitMemory: hitMemory
    case .hitDisk: hitDisk
    case .downloaded: downloaded
    case .revalidated: revalidated
    case .checked: checked
    case .failed: failed
    case .blacklisted: blacklisted
    case .skipped: skipped
    case .cancelled: cancelled
    }
  }
}
