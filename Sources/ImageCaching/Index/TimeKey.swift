import Platform
import Base

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

  /// The `count` bytes starting at `offset`.
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

  func begins(with prefix: UnsafeRawBufferPointer) -> Bool {
    count >= prefix.count && part(at: 0, count: prefix.count).hasSameBytes(as: prefix)
  }
}

extension UnsafeMutableRawBufferPointer {
  @inline(__always)
  func setLittleEndian<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, at offset: Int) {
    storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
  }

  @inline(__always)
  func setBigEndian<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, at offset: Int) {
    storeBytes(of: value.bigEndian, toByteOffset: offset, as: T.self)
  }

  /// Copies `bytes` to `offset` and returns the offset after them.
  @inline(__always)
  func copy(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
    UnsafeMutableRawBufferPointer(rebasing: self[offset...]).copyMemory(from: bytes)
    return offset + bytes.count
  }
}

/// A key of the tables `by-stored` and `by-access`: a time, big-endian so that byte order is time order, and the entry's key.
///
/// | offset | type | |
/// |---|---|---|
/// | 0 | u64 | milliseconds since 1970, with the sign bit inverted |
/// | 8 | 16 bytes | the key as in `entries` |
struct TimeKey {
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

  /// Whether it sorts before `other` on disk.
  func isBefore(_ other: TimeKey) -> Bool {
    (time.milliseconds, key.high, key.low) < (other.time.milliseconds, other.key.high, other.key.low)
  }

  /// Calls `body` with the key's representation on disk.
  @inline(__always)
  func withStoredBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    let parts = ((UInt64(bitPattern: time.milliseconds) ^ Self.signBit).bigEndian, key.high.bigEndian, key.low.bigEndian)
    return try withUnsafeBytes(of: parts, body)
  }

  /// The key's representation on disk, from which a listing can continue.
  var storedBytes: [UInt8] { withStoredBytes { Array($0) } }
}
