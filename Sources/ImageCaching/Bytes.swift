import Glibc

// Integers in the records of the index. LMDB aligns values to two bytes only, so every access is an unaligned one.

extension UnsafeRawBufferPointer {
  /// The little-endian integer at `offset`.
  @inline(__always)
  func littleEndian<T: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: T.Type = T.self) -> T {
    T(littleEndian: loadUnaligned(fromByteOffset: offset, as: T.self))
  }

  /// The big-endian integer at `offset`.
  @inline(__always)
  func bigEndian<T: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: T.Type = T.self) -> T {
    T(bigEndian: loadUnaligned(fromByteOffset: offset, as: T.self))
  }

  /// The `count` bytes from `offset` on.
  @inline(__always)
  func part(at offset: Int, count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[offset..<offset + count])
  }

  /// Whether both hold the same bytes.
  @inline(__always)
  func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    guard let own = baseAddress, let others = other.baseAddress, count > 0 else { return true }
    return memcmp(own, others, count) == 0
  }

  /// Whether these bytes begin with `prefix`.
  func begins(with prefix: UnsafeRawBufferPointer) -> Bool {
    count >= prefix.count && part(at: 0, count: prefix.count).hasSameBytes(as: prefix)
  }
}

extension UnsafeMutableRawBufferPointer {
  /// Writes a little-endian integer at `offset`.
  @inline(__always)
  func setLittleEndian<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, at offset: Int) {
    storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
  }

  /// Writes a big-endian integer at `offset`.
  @inline(__always)
  func setBigEndian<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, at offset: Int) {
    storeBytes(of: value.bigEndian, toByteOffset: offset, as: T.self)
  }

  /// Copies `bytes` to `offset` and returns the offset behind them.
  @inline(__always)
  func copy(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
    UnsafeMutableRawBufferPointer(rebasing: self[offset...]).copyMemory(from: bytes)
    return offset + bytes.count
  }
}
