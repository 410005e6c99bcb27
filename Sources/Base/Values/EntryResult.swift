/// The outcome of one entry and its details: one row of a report.
///
/// A plain hit needs no allocation.
@dynamicMemberLookup
public struct EntryResult: Sendable {
  /// Requests made for it, including retries but not redirects; 0 for a hit.
  public var attempts: UInt32 = 0
  /// What is known of the image, whose properties are also the result's: `result.width`.
  public var image = ImageProperties()
  public var outcome: LoadOutcome
  /// Whether it joined a request of another entry that was in flight: same outcome, bytes counted once.
  public var isShared = false
  /// The status of CDN caches; nil if they weren't checked.
  package var remoteCache: RemoteCacheStatus?
  /// The HTTP status of the response of this run that brought or confirmed a good image; 0 if there was none.
  package var status: UInt16 = 0
  /// Whether format, size, bytes and checksum are those of a transformed image, since its original is unknown, as for a hit.
  package var isTransformed = false
  /// Bytes of the image's body; 0 if none was received.
  public var bytes: UInt64 = 0
  /// Bytes that this entry added to the cache if they differ from ``bytes``: those of a transformed image, plus the original if it
  /// is kept too, or of a serializer's output. Nil if the body was stored as received, or nothing was stored.
  public var storedBytes: UInt64?
  /// Bytes of bodies received from the network, including failed attempts.
  public var receivedBytes: UInt64 = 0
  /// From the first start of a transfer to its end, in nanoseconds, without waits between retries; 0 if there was no transfer.
  public var durationNanoseconds: UInt64 = 0
  /// From the first wait for a retry to the last, in nanoseconds.
  public var waitedNanoseconds: UInt64 = 0
  /// The same as durations.
  public var duration: Duration { .nanoseconds(Int64(clamping: durationNanoseconds)) }
  public var waited: Duration { .nanoseconds(Int64(clamping: waitedNanoseconds)) }
  /// When the cached image expires; nil if it never does, or if nothing is cached.
  public var freshUntil: Timestamp?
  /// The body's hash, if the body is known.
  public var checksum: Checksum?
  /// For those who read several details of many results: nil costs one comparison.
  package private(set) var rare: Rare?
  /// Rarer fields; each change allocates.
  package var details: Details {
    get { rare?.details ?? Details() }
    set { rare = Rare(newValue) }
  }

  /// Fields that few entries have.
  package struct Details: Sendable {
    package var failure: ImageFailure?
    package var isBlacklisted = false
    package var finalURL: String?
    package var contentType: String?
    package var warnings: [String] = []
    /// Replaces ``EntryResult/checksum`` if only the start of a body was received or kept: the hash of that start, mixed with the
    /// length of the whole body. It usually distinguishes images as well as a hash of the whole body.
    package var prefixChecksum: Checksum?
    /// The SHA-256 of the body, if its list states one.
    package var sha256: [UInt8]?
    /// Nil unless the response of this run was to be judged.
    package var delivery: DeliveryFacts?
    /// The image that was made of the original in this run, and stored; nil if there is none.
    package var transformed: TransformedImage?
    package var storeFailure: ImageFailure?
    package var staleReason: ImageFailure?
    /// Whether it is good after a failure of the same run.
    package var isRecovered = false

    package init() {}
  }

  /// An object, so that results without details stay small.
  package final class Rare: Sendable {
    package let details: Details
    fileprivate init(_ details: Details) { self.details = details }
  }

  package init(_ outcome: LoadOutcome) { self.outcome = outcome }

  package init(_ outcome: LoadOutcome, failure: ImageFailure, isBlacklisted: Bool = false) {
    self.init(outcome)
    var details = Details()
    (details.failure, details.isBlacklisted) = (failure, isBlacklisted)
    self.details = details
  }

  @inlinable
  public subscript<Value>(dynamicMember property: WritableKeyPath<ImageProperties, Value>) -> Value {
    get { image[keyPath: property] }
    set { image[keyPath: property] = newValue }
  }

  /// Why it failed, for `failed` and `blacklisted`.
  public var failure: ImageFailure? { rare?.details.failure }
  /// Whether its URL is on the blacklist, because of this failure or an earlier one.
  public var isBlacklisted: Bool { rare?.details.isBlacklisted ?? false }
  /// The URL that redirects led to, with credentials masked; nil if there was no redirect.
  public var finalURL: String? { rare?.details.finalURL }
  /// The `Content-Type` that the server sent, if it is known.
  public var contentType: String? { rare?.details.contentType }
  /// Sentences about oddities that aren't failures.
  public var warnings: [String] { rare?.details.warnings ?? [] }
  /// Why a good image isn't in the cache although it was to be stored, such as a full disk; nil if it is there or needn't be.
  public var storeFailure: ImageFailure? { rare?.details.storeFailure }
  /// Why the image of an expired entry was served: the failure to revalidate it (`stale-if-error`, RFC 5861, section 4). Nil if it is
  /// current, or was served for another reason.
  public var staleReason: ImageFailure? { rare?.details.staleReason }
  /// Nil unless the response of this run was to be judged.
  package var delivery: DeliveryFacts? { rare?.details.delivery }
  /// The SHA-256 of the body, if its list states one.
  package var sha256: [UInt8]? { rare?.details.sha256 }

  /// The transformed image that is stored; nil if there is none.
  package var transformed: TransformedImage? {
    get {
      guard isTransformed else { return rare?.details.transformed }
      return TransformedImage(format: image.format, width: image.width, height: image.height, bytes: bytes, checksum: checksum)
    }
    set { details.transformed = newValue }
  }

  /// The checksum that identifies equal bodies; nil if too little of the body is known.
  public var bodyIdentity: Checksum? {
    guard let checksum else { return rare?.details.prefixChecksum }
    // A body that wasn't hashed has a checksum of zero.
    return checksum == Checksum(high: 0, low: 0) ? nil : checksum
  }
}

package struct TransformedImage: Sendable, Hashable {
  package var format: ImageFormat?
  /// In pixels; 0 if unknown.
  package var width: UInt32
  /// In pixels; 0 if unknown.
  package var height: UInt32
  package var bytes: UInt64
  package var checksum: Checksum?

  package init(format: ImageFormat?, width: UInt32, height: UInt32, bytes: UInt64, checksum: Checksum?) {
    (self.format, self.width, self.height, self.bytes, self.checksum) = (format, width, height, bytes, checksum)
  }
}

/// How an entry of a run ended; each entry has exactly one outcome.
public enum LoadOutcome: UInt8, Sendable, CaseIterable {
  /// In the memory cache, fresh and valid.
  case hitMemory
  /// In the disk cache, fresh and valid.
  case hitDisk
  /// Fetched, valid and committed.
  case downloaded
  /// The server responded with 304: the cached image is unchanged.
  case revalidated
  /// Fetched and valid, but not to be stored.
  case checked
  case failed
  /// Known to be bad and not cached, so not requested.
  case blacklisted
  /// Filtered out, or not cached in a run without network access.
  case skipped
  /// Read, but unfinished when the run stopped.
  case cancelled

  /// The name in rows of a report, such as `hit-disk`.
  public var name: String { Self.names[Int(rawValue)] }
  private static let names = allCases.map { hyphenated("\($0)") }
}

/// How thoroughly the bytes of an image were verified; each level includes those before.
public enum ProofDepth: UInt8, Sendable, CaseIterable, Comparable {
  /// Not verified.
  case none
  /// The header was read: format and size.
  case header
  case full

  /// The name in job files, such as `header`.
  public var name: String { "\(self)" }

  public static func < (left: ProofDepth, right: ProofDepth) -> Bool { left.rawValue < right.rawValue }
}

/// A 128-bit hash of a body's bytes (XXH3), used to detect damaged and equal bodies.
public struct Checksum: Sendable, Hashable {
  /// The upper 64 bits.
  public var high: UInt64
  /// The lower 64 bits.
  public var low: UInt64

  public init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }
}

/// The priority class of a request: higher classes start first; order is kept within a class.
public enum LoadPriority: UInt8, Sendable, CaseIterable, Comparable {
  case veryHigh, high, normal, low, veryLow

  /// The name in job files, manifests and reports, such as `very-high`.
  public var name: String { Self.names[Int(rawValue)] }
  private static let names = allCases.map { hyphenated("\($0)") }

  /// The class with that name; nil for other text.
  public init?(name: some StringProtocol) {
    guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = match
  }

  /// Compares urgency: `.veryHigh` is the greatest.
  public static func < (left: LoadPriority, right: LoadPriority) -> Bool { left.rawValue > right.rawValue }
}

/// How a server delivered an image, for advice on its configuration.
package struct DeliveryFacts: Sendable, Hashable {
  /// All `Cache-Control` headers, joined by commas; nil if there is none.
  package var cacheControl: String?
  package var hasExpires = false
  package var hasValidator = false
  /// All `Vary` headers, joined by commas; nil if there is none.
  package var vary: String?
  /// Whether it is a 304, which may leave out what hasn't changed (RFC 9110, section 15.4.5).
  package var isNotModified = false
  /// When the certificate of the server expires; nil if it has none.
  package var certificateEnd: Timestamp?

  package init() {}
}
