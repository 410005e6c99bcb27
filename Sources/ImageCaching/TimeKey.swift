import ImagePrimitives

/// A key of the tables `by-stored` and `by-access`: a time, big-endian so that bytes are in its order, and an entry's key.
///
/// | offset | type | |
/// |---|---|---|
/// | 0 | u64 | milliseconds since 1970, with the sign bit turned |
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

  /// The key as it stands on disk; nil for bytes of another length.
  init?(stored: UnsafeRawBufferPointer) {
    guard stored.count == Self.byteCount else { return nil }
    guard let key = CacheKey(stored: stored.part(at: 8, count: CacheKey.byteCount)) else { return nil }
    let milliseconds = Int64(bitPattern: stored.bigEndian(at: 0, as: UInt64.self) ^ Self.signBit)
    self.init(Timestamp(milliseconds: milliseconds), key)
  }

  /// Whether it comes before another one on disk.
  func isBefore(_ other: TimeKey) -> Bool {
    (time.milliseconds, key.high, key.low) < (other.time.milliseconds, other.key.high, other.key.low)
  }

  /// Calls `body` with the key as it stands on disk.
  @inline(__always)
  func withStoredBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    let parts = ((UInt64(bitPattern: time.milliseconds) ^ Self.signBit).bigEndian, key.high.bigEndian, key.low.bigEndian)
    return try withUnsafeBytes(of: parts, body)
  }

  /// The key as it stands on disk, to go on behind it.
  var storedBytes: [UInt8] { withStoredBytes { Array($0) } }
}
