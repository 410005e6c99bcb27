import ImagePrimitives

/// The name of an entry in the cache: the 128-bit XXH3 hash of its identity.
///
/// Two identities with one key are told apart by the identity that every record keeps, so a collision is a miss.
public struct CacheKey: Hashable, Sendable {
  /// The upper and the lower half of the hash.
  public let high: UInt64, low: UInt64

  /// How many bytes a key takes on disk.
  static let byteCount = 16

  init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// The key of an identity, whose bytes are copied nowhere.
  public init(identity: UnsafeRawBufferPointer) {
    let hash = checksum(of: identity)
    self.init(high: hash.high, low: hash.low)
  }

  /// The key as it stands on disk; nil for bytes of another length.
  init?(stored: UnsafeRawBufferPointer) {
    guard stored.count == Self.byteCount else { return nil }
    self.init(high: stored.bigEndian(at: 0), low: stored.bigEndian(at: 8))
  }

  /// Calls `body` with the key as it stands on disk: both halves big-endian, so that the order of bytes is the order of keys.
  @inline(__always)
  func withStoredBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    let halves = (high.bigEndian, low.bigEndian)
    return try withUnsafeBytes(of: halves, body)
  }

  /// The key as it stands on disk, to go on behind it.
  var storedBytes: [UInt8] { withStoredBytes { Array($0) } }
}
