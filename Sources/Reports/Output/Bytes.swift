import Glibc

extension UnsafeRawBufferPointer {
  /// Whether both hold the same bytes; the caller has compared the counts.
  @inline(__always)
  func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
    guard let left = baseAddress, let right = other.baseAddress else { return true }
    return memcmp(left, right, count) == 0
  }
}
