import Glibc
import ImagePrimitives
import Threads

/// Memory that decoders and transforms share: each takes what its image needs before it allocates, and waits while others have too much of it.
///
/// An image that needs more than the whole budget waits until nobody else has any, and then has it to itself; what one image may need at most is
/// for ``DecodingLimits/maximumBytes`` to say. Nobody may take twice at once, or two could wait for each other.
public final class DecodingBudget: Sendable {
  /// Bytes for all at once.
  public let bytes: Int
  private let taken = WaitableState(0)

  /// A budget of so many bytes; fewer than 1 is a programmer's error and traps.
  public init(bytes: Int) {
    trap(unless: bytes > 0, "a decoding budget of \(bytes) bytes")
    self.bytes = bytes
  }

  /// The budget of who names none: a quarter of the machine's memory, at least 256 MiB and at most 1 GiB.
  public static let standard: DecodingBudget = {
    let memory = sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE))
    return DecodingBudget(bytes: min(max(memory / 4, 256 << 20), 1 << 30))
  }()

  /// Bytes that are taken now.
  public var takenBytes: Int { taken.withLock(waking: .nobody) { $0 } }

  /// Calls `body` while `count` bytes are taken.
  package func spending<Result, Problem: Error>(_ count: Int, _ body: () throws(Problem) -> Result) throws(Problem) -> Result {
    let share = min(count, bytes)
    taken.wait { taken in
      guard share <= bytes - taken else { return nil as Void? }
      taken += share
      return ()
    }
    defer { taken.withLock(waking: .all) { $0 -= share } }
    return try body()
  }
}

extension DecodingBudget: Hashable {
  /// Whether it is the same object.
  public static func == (left: DecodingBudget, right: DecodingBudget) -> Bool { left === right }
  /// By identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
