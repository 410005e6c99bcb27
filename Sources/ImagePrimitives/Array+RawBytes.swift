extension Array where Element == UInt8 {
  /// Calls `body` with the bytes, valid for the call; what it throws keeps its type, as with `withUnsafeBytes` it would not.
  @inlinable
  @inline(__always)
  package func withRawBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withUnsafeBufferPointer { buffer throws(Failure) in try body(UnsafeRawBufferPointer(buffer)) }
  }
}
