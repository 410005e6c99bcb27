import CXXHash
package import Base

/// The key of an entry in the cache: the 128-bit XXH3 hash of its identity.
///
/// Records contain their identity, so a hash collision is a miss.
package struct CacheKey: Hashable, Sendable {
  /// The upper and lower half of the hash.
  package let high: UInt64, low: UInt64

  static let byteCount = 16

  init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// The key of an identity.
  package init(identity: UnsafeRawBufferPointer) {
    let hash = checksum(of: identity)
    self.init(high: hash.high, low: hash.low)
  }

  /// Parses a key from disk; nil if its length is wrong.
  init?(stored: UnsafeRawBufferPointer) {
    guard stored.count == Self.byteCount else { return nil }
    self.init(high: stored.bigEndian(at: 0), low: stored.bigEndian(at: 8))
  }

  /// Calls `body` with the key's representation on disk: both halves big-endian, so that byte order is key order.
  @inline(__always)
  func withStoredBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    let halves = (high.bigEndian, low.bigEndian)
    return try withUnsafeBytes(of: halves, body)
  }

  /// The key's representation on disk, from which a listing can continue.
  var storedBytes: [UInt8] { withStoredBytes { Array($0) } }
}

/// Replaces credentials in identities by a hash, with a key that never leaves the cache's folder.
///
/// Runs with the same cache compute the same hash, and an identity reveals nothing about its credentials.
package struct CredentialHasher: Sendable {
  /// The length of new keys, in bytes.
  static let keyByteCount = 32
  /// The bytes of the hash that are kept; its hexadecimal form is twice as long.
  private static let digestByteCount = 16

  private let key: [UInt8]

  /// A hasher with that key of any length.
  package init(key: [UInt8]) { self.key = key }

  /// A hasher with a random key, for runs without a cache.
  package static func random() -> CredentialHasher { CredentialHasher(key: randomKey()) }

  /// 32 bytes from the system's random number generator.
  static func randomKey() -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    var key: [UInt8] = []
    while key.count < keyByteCount { withUnsafeBytes(of: generator.next()) { key += $0 } }
    return key
  }

  /// Whether both compute the same hashes.
  func hasSameKey(as other: CredentialHasher) -> Bool { key == other.key }

  /// HMAC-SHA-256 of `bytes` (RFC 2104), truncated to 128 bits: 32 hexadecimal digits in lower case.
  package func digest(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    let full = hmac(.sha256, key: key, of: bytes)
    return full.prefix(Self.digestByteCount).flatMap { [hexadecimalDigit($0 >> 4), hexadecimalDigit($0 & 15)] }
  }
}

/// The checksum of a body: 128 bits of XXH3 over all of its bytes.
package func checksum(of bytes: UnsafeRawBufferPointer) -> Checksum {
  let hash = xxhash_checksum(bytes.baseAddress, bytes.count)
  return Checksum(high: hash.high64, low: hash.low64)
}

/// Computes the checksum of a body that arrives in parts.
struct ChecksumStream: ~Copyable {
  private let state: OpaquePointer

  init() {
    guard let state = XXH3_createState() else { fatalError("out of memory") }
    self.state = state
    XXH3_128bits_reset(state)
  }

  deinit { XXH3_freeState(state) }

  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    xxhash_append(state, bytes.baseAddress, bytes.count)
  }

  /// The checksum of the parts so far.
  var checksum: Checksum {
    let hash = XXH3_128bits_digest(state)
    return Checksum(high: hash.high64, low: hash.low64)
  }
}
