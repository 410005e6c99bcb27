import CXXHash
import Platform
package import Base

/// The key of an entry in the cache: the 128-bit XXH3 hash of its identity. Records contain their identity, so a hash collision
/// is a miss.
package struct CacheKey: Hashable, Comparable, Sendable, IndexKey {
  package let high: UInt64, low: UInt64

  static let byteCount = 16

  init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  package init(identity: UnsafeRawBufferPointer) {
    let hash = checksum(of: identity)
    self.init(high: hash.high, low: hash.low)
  }

  package init(identity: [UInt8]) { self = identity.withUnsafeBytes { CacheKey(identity: $0) } }

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

  package static func < (left: CacheKey, right: CacheKey) -> Bool { (left.high, left.low) < (right.high, right.low) }
}

/// Replaces credentials in identities by a hash, with a key that never leaves the cache's folder. Runs with the same cache
/// compute the same hash, and an identity reveals nothing about its credentials.
package struct CredentialHasher: Sendable {
  static let keyByteCount = 32
  /// The bytes of the hash that are kept; its hexadecimal form is twice as long.
  private static let digestByteCount = 16

  let key: [UInt8]

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

  mutating func append(_ bytes: UnsafeRawBufferPointer) { xxhash_append(state, bytes.baseAddress, bytes.count) }

  var checksum: Checksum {
    let hash = XXH3_128bits_digest(state)
    return Checksum(high: hash.high64, low: hash.low64)
  }
}

// Integers in index records. LMDB aligns values to two bytes only, so every access is unaligned.

extension UnsafeRawBufferPointer {
  @inline(__always)
  func littleEndian<T: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: T.Type = T.self) -> T {
    T(littleEndian: loadUnaligned(fromByteOffset: offset, as: T.self))
  }

  @inline(__always)
  func bigEndian<T: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: T.Type = T.self) -> T {
    T(bigEndian: loadUnaligned(fromByteOffset: offset, as: T.self))
  }

  @inline(__always)
  func part(at offset: Int, count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[offset..<offset + count])
  }

  @inline(__always)
  func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    guard let own = baseAddress, let others = other.baseAddress, count > 0 else { return true }
    return memcmp(own, others, count) == 0
  }

  package func hasSameBytes(as other: [UInt8]) -> Bool { other.withUnsafeBytes { hasSameBytes(as: $0) } }

  func begins(with prefix: UnsafeRawBufferPointer) -> Bool {
    count >= prefix.count && part(at: 0, count: prefix.count).hasSameBytes(as: prefix)
  }
}

extension UnsafeMutableRawBufferPointer {
  @inline(__always)
  func setLittleEndian<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, at offset: Int) {
    storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
  }

  /// Copies `bytes` to `offset` and returns the offset after them.
  @inline(__always)
  func copy(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
    UnsafeMutableRawBufferPointer(rebasing: self[offset...]).copyMemory(from: bytes)
    return offset + bytes.count
  }

  func copy(_ bytes: [UInt8], at offset: Int) -> Int { bytes.withUnsafeBytes { copy($0, at: offset) } }
}

/// A key of the tables `by-stored` and `by-access`: a time, big-endian so that byte order is time order, and the entry's key.
///
/// | offset | type | |
/// |---|---|---|
/// | 0 | u64 | milliseconds since 1970, with the sign bit inverted |
/// | 8 | 16 bytes | the key as in `entries` |
struct TimeKey: IndexKey, Comparable {
  private static let byteCount = 8 + CacheKey.byteCount
  private static let signBit: UInt64 = 1 << 63

  let time: Timestamp
  let key: CacheKey

  init(_ time: Timestamp, _ key: CacheKey) {
    self.time = time
    self.key = key
  }

  /// The last key of that time.
  init(lastAt time: Timestamp) { self.init(time, CacheKey(high: .max, low: .max)) }

  /// Parses a key from disk; nil if its length is wrong.
  init?(stored: UnsafeRawBufferPointer) {
    guard stored.count == Self.byteCount else { return nil }
    guard let key = CacheKey(stored: stored.part(at: 8, count: CacheKey.byteCount)) else { return nil }
    let milliseconds = Int64(bitPattern: stored.bigEndian(at: 0, as: UInt64.self) ^ Self.signBit)
    self.init(Timestamp(milliseconds: milliseconds), key)
  }

  static func < (left: TimeKey, right: TimeKey) -> Bool {
    (left.time.milliseconds, left.key) < (right.time.milliseconds, right.key)
  }

  /// Calls `body` with the key's representation on disk.
  @inline(__always)
  func withStoredBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    let parts = ((UInt64(bitPattern: time.milliseconds) ^ Self.signBit).bigEndian, key.high.bigEndian, key.low.bigEndian)
    return try withUnsafeBytes(of: parts, body)
  }
}
