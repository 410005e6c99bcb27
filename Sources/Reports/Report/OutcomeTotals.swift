public import Base

extension LoadOutcome {
  /// Whether its image is good.
  @inline(__always)
  package var isGood: Bool {
    switch self {
    case .hitMemory, .hitDisk, .downloaded, .revalidated, .checked: true
    case .failed, .blacklisted, .skipped, .cancelled: false
    }
  }

  @inline(__always)
  var isBad: Bool { self == .failed || self == .blacklisted }
}

/// A value whose counts add up when reports are merged.
protocol Countable {
  /// The counts, by their names in a JSON report.
  static var counts: KeyValuePairs<StaticString, WritableKeyPath<Self, UInt64>> { get }
}

extension Countable {
  mutating func add(_ other: Self) {
    for (_, path) in Self.counts { self[keyPath: path] += other[keyPath: path] }
  }
}

/// The number of entries by outcome; ``urls`` is always their sum.
public struct OutcomeTotals: Sendable, Hashable, Countable {
  public var hitMemory: UInt64 = 0
  public var hitDisk: UInt64 = 0
  public var downloaded: UInt64 = 0
  public var revalidated: UInt64 = 0
  public var checked: UInt64 = 0
  public var failed: UInt64 = 0
  public var blacklisted: UInt64 = 0
  public var skipped: UInt64 = 0
  public var cancelled: UInt64 = 0

  public init() {}

  static var counts: KeyValuePairs<StaticString, WritableKeyPath<OutcomeTotals, UInt64>> {
    [
      "hit_memory": \.hitMemory, "hit_disk": \.hitDisk, "downloaded": \.downloaded, "revalidated": \.revalidated,
      "checked": \.checked, "failed": \.failed, "blacklisted": \.blacklisted, "skipped": \.skipped, "cancelled": \.cancelled,
    ]
  }

  public var urls: UInt64 {
    hitMemory + hitDisk + downloaded + revalidated + checked + failed + blacklisted + skipped + cancelled
  }

  /// Cached and fresh, in memory or on disk.
  public var hits: UInt64 { hitMemory + hitDisk }

  /// Cached, and fresh or confirmed by the server.
  var unchanged: UInt64 { hits + revalidated }
  var fetched: UInt64 { downloaded + checked }

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

  /// Counts are in the order of the outcomes.
  package subscript(_ outcome: LoadOutcome) -> UInt64 { self[keyPath: Self.counts[Int(outcome.rawValue)].value] }
}
