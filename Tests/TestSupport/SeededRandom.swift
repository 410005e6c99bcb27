/// A random generator that returns the same numbers for the same seed: SplitMix64 (Steele, Lea, Flood 2014, OOPSLA).
public struct SeededRandom: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Starts with `seed`, which a failing test should print.
  public init(seed: UInt64) { state = seed }

  public mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }

  /// Bytes below 128, eight per number, since a debug build takes long for many.
  public mutating func noise(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count + 8) { buffer, initialized in
      for offset in stride(from: 0, to: count, by: 8) {
        UnsafeMutableRawBufferPointer(buffer).storeBytes(
          of: next() & 0x7f7f_7f7f_7f7f_7f7f,
          toByteOffset: offset,
          as: UInt64.self
        )
      }
      initialized = count
    }
  }

  public mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next() >> 56) }
  }
}
