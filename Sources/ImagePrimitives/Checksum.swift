/// A 128-bit hash of a body's bytes (XXH3), which tells damaged and equal bodies.
public struct Checksum: Sendable, Hashable {
  public var high: UInt64
  public var low: UInt64

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }
}
