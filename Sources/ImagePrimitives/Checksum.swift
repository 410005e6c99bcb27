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
