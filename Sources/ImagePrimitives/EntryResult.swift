/// How one entry ended and what is known of it: one row of a report.
///
/// The parts that a plain hit has are stored in line; what only some entries have is in ``details``, so that a hit costs
/// no allocation.
public struct EntryResult: Sendable {
  /// How it ended.
  public var outcome: Outcome
  /// The image's format, where its bytes were recognised.
  public var format: ImageFormat?
  /// Whether it joined a request of another entry that was in flight: same outcome, bytes counted once.
  public var isShared: Bool
  /// What caches on the way had of it; nil where they were not asked.
  public var remoteCache: RemoteCacheStatus?
  /// Requests made for it, retries included, redirects not; 0 for a hit.
  public var attempts: UInt32
  /// Pixels; 0 where not known.
  public var width: UInt32
  /// Pixels; 0 where not known.
  public var height: UInt32
  /// Bytes of the image's body; 0 where none came.
  public var bytes: UInt64
  /// Bytes of what this entry put into the cache where those are not ``bytes``: of the transformed image, with the original where that
  /// is kept too, or of what a serializer made; nil: all that came, where something came to be kept.
  public var storedBytes: UInt64?
  /// Bytes of bodies received from the network, failed attempts included.
  public var receivedBytes: UInt64
  /// From the first start of a transfer to its end, in nanoseconds, waiting between retries not counted; 0 where no transfer was made.
  public var durationNanoseconds: UInt64
  /// From the entry's first wait for a retry to the last, in nanoseconds.
  public var waitedNanoseconds: UInt64
  /// Until when the cached image is fresh; nil where it never expires, and where nothing is cached.
  public var freshUntil: Timestamp?
  /// The body's hash, where the body is known.
  public var checksum: Checksum?
  /// What only some entries have; nil for a plain hit.
  public var details: Details?

  /// What only some entries have.
  public final class Details: Sendable {
    /// Why it failed, for `failed` and `blacklisted`.
    public let failure: Failure?
    /// Whether this entry's failure put its URL on the blacklist, or found it there.
    public let isBlacklisted: Bool
    /// The URL that answered, where redirects led away from the entry's own, secrets masked.
    public let finalURL: String?
    /// The Content-Type that the server declared.
    public let contentType: String?
    /// Sentences on what was odd but is no failure.
    public let warnings: [String]
    /// In place of ``EntryResult/checksum``, where only the beginning of a body came, or was kept: the hash of that, mixed with the length of the
    /// whole body. As a rule it tells images apart as the sum over all of their bytes would.
    public let prefixChecksum: Checksum?

    /// Details, of which most entries have few.
    public init(
      failure: Failure? = nil,
      isBlacklisted: Bool = false,
      finalURL: String? = nil,
      contentType: String? = nil,
      warnings: [String] = [],
      prefixChecksum: Checksum? = nil
    ) {
      self.failure = failure
      self.isBlacklisted = isBlacklisted
      self.finalURL = finalURL
      self.contentType = contentType
      self.warnings = warnings
      self.prefixChecksum = prefixChecksum
    }
  }

  /// A result with nothing known but its outcome.
  public init(_ outcome: Outcome, details: Details? = nil) {
    self.outcome = outcome
    self.details = details
    isShared = false
    attempts = 0
    width = 0
    height = 0
    bytes = 0
    receivedBytes = 0
    durationNanoseconds = 0
    waitedNanoseconds = 0
  }

  /// Why it failed, for `failed` and `blacklisted`.
  public var failure: Failure? { details?.failure }

  /// What tells whether its bytes are those of another image; nil where too little is known of them.
  public var bodyIdentity: Checksum? {
    guard let checksum else { return details?.prefixChecksum }
    // Where nothing was summed up there is a zero.
    return checksum == Checksum(high: 0, low: 0) ? nil : checksum
  }
}

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

/// How deeply the bytes of an image have been proven good; a deeper proof includes the shallower ones.
public enum ProofDepth: UInt8, Sendable, CaseIterable, Comparable {
  /// Taken as they came.
  case none
  /// The header was read: format, size.
  case header
  /// Every pixel was decoded.
  case full

  /// The name in job files, such as `header`.
  public var name: String { "\(self)" }

  /// Shallower proofs are less.
  public static func < (left: ProofDepth, right: ProofDepth) -> Bool { left.rawValue < right.rawValue }
}

/// A 128-bit hash of a body's bytes (XXH3), which tells damaged and equal bodies.
public struct Checksum: Sendable, Hashable {
  /// The upper 64 bits.
  public var high: UInt64
  /// The lower 64 bits.
  public var low: UInt64

  /// A hash in two halves.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }
}

/// The class of a request: a higher class starts first, and order holds within a class.
public enum Priority: UInt8, Sendable, CaseIterable, Comparable {
  case veryHigh, high, normal, low, veryLow

  /// The name in job files, manifests and reports, such as `very-high`.
  public var name: String {
    switch self {
    case .veryHigh: "very-high"
    case .high: "high"
    case .normal: "normal"
    case .low: "low"
    case .veryLow: "very-low"
    }
  }

  /// The class of that name; nil for any other text.
  public init?(name: some StringProtocol) {
    guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = match
  }

  /// Orders by urgency: `.veryHigh` is the greatest.
  public static func < (left: Priority, right: Priority) -> Bool { left.rawValue > right.rawValue }
}
