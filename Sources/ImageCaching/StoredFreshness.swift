import ImagePrimitives

/// The server's word on freshness as a record holds it, in the first bytes of the record's last field.
///
/// | offset | type | |
/// |---|---|---|
/// | 0 | i64 | lifetime in milliseconds; -1: the server said nothing |
/// | 8 | i64 | stale-while-revalidate, milliseconds |
/// | 16 | u8 | flags: 1 no-cache, 2 immutable |
///
/// It is left out where the server said nothing at all, unless Vary values follow it.
struct StoredFreshness: Sendable, Hashable {
  static let byteCount = 17
  private static let revalidateFlag: UInt8 = 1
  private static let immutableFlag: UInt8 = 2

  /// nil: the server said nothing.
  var lifetimeMilliseconds: Int64?
  var staleWhileRevalidateMilliseconds: Int64 = 0
  private var flags: UInt8 = 0

  /// No word of the server.
  init() {}

  init(_ freshness: Freshness) {
    lifetimeMilliseconds = freshness.lifetime.map { max(0, $0.wholeMilliseconds) }
    staleWhileRevalidateMilliseconds = max(0, freshness.staleWhileRevalidate.wholeMilliseconds)
    flags =
      (freshness.mustRevalidate ? Self.revalidateFlag : 0) | (freshness.isImmutable ? Self.immutableFlag : 0)
  }

  /// The freshness that the first bytes of a record's last field hold; none where they are too few.
  @inline(__always)
  init(stored bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= Self.byteCount else { return }
    let lifetime: Int64 = bytes.littleEndian(at: 0)
    lifetimeMilliseconds = lifetime < 0 ? nil : lifetime
    staleWhileRevalidateMilliseconds = max(0, bytes.littleEndian(at: 8))
    flags = bytes[16]
  }

  var mustRevalidate: Bool { flags & Self.revalidateFlag != 0 }

  /// As everybody else has it; what is stored was storable.
  var value: Freshness {
    Freshness(
      lifetime: lifetimeMilliseconds.map { .milliseconds($0) },
      mustRevalidate: mustRevalidate,
      isImmutable: flags & Self.immutableFlag != 0,
      staleWhileRevalidate: .milliseconds(staleWhileRevalidateMilliseconds)
    )
  }

  /// The last field of a record with those Vary values; empty where neither says anything.
  func field(vary: [UInt8]) -> [UInt8] {
    if self == StoredFreshness() && vary.isEmpty { return [] }
    var field = [UInt8](repeating: 0, count: Self.byteCount)
    field.withUnsafeMutableBytes { bytes in
      bytes.setLittleEndian(lifetimeMilliseconds ?? -1, at: 0)
      bytes.setLittleEndian(staleWhileRevalidateMilliseconds, at: 8)
      bytes[16] = flags
    }
    return field + vary
  }
}
