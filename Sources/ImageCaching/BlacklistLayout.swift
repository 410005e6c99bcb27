import ImagePrimitives

/// A record of the table `blacklist`: format version 1. All integers are little-endian.
///
/// | offset | type | |
/// |---|---|---|
/// | 0, 8 | i64, i64 | first and last failure, milliseconds since 1970 |
/// | 16 | i64 | expires at, milliseconds since 1970; the greatest number: never |
/// | 24 | u32 | failures counted |
/// | 28 | u16 | HTTP status; 0: none |
/// | 30 | u8 | kind of failure |
/// | 31 | u8 | 0 |
/// | 32, 36 | u32, u32 | bytes of identity, of URL |
/// | 40 | bytes | identity, URL |
struct StoredBlacklistEntry {
  static let headByteCount = 40

  /// The whole record; valid as long as its transaction, and until the next write in it.
  let bytes: UnsafeRawBufferPointer

  /// A view of a record; nil for bytes that are none.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= Self.headByteCount, FailureKind(storedNumber: bytes[30]) != nil else { return nil }
    self.bytes = bytes
    guard bytes.count == Self.headByteCount + identityByteCount + urlByteCount else { return nil }
  }

  private var identityByteCount: Int { Int(bytes.littleEndian(at: 32, as: UInt32.self)) }
  private var urlByteCount: Int { Int(bytes.littleEndian(at: 36, as: UInt32.self)) }

  var identity: UnsafeRawBufferPointer { bytes.part(at: Self.headByteCount, count: identityByteCount) }
  var url: UnsafeRawBufferPointer { bytes.part(at: Self.headByteCount + identityByteCount, count: urlByteCount) }

  var head: BlacklistHead {
    let status: UInt16 = bytes.littleEndian(at: 28)
    let expiry: Int64 = bytes.littleEndian(at: 16)
    return BlacklistHead(
      kind: FailureKind(storedNumber: bytes[30]) ?? .internal,
      status: status == 0 ? nil : Int(status),
      firstAt: Timestamp(milliseconds: bytes.littleEndian(at: 0)),
      lastAt: Timestamp(milliseconds: bytes.littleEndian(at: 8)),
      count: bytes.littleEndian(at: 24),
      expiresAt: expiry == .max ? nil : Timestamp(milliseconds: expiry)
    )
  }

  static func byteCount(of entry: NewBlacklistEntry) -> Int { headByteCount + entry.identity.count + entry.url.count }

  /// Fills a whole record, of the size that ``byteCount(of:)`` says.
  static func write(_ entry: NewBlacklistEntry, head: BlacklistHead, to record: UnsafeMutableRawBufferPointer) {
    record.setLittleEndian(head.firstAt.milliseconds, at: 0)
    record.setLittleEndian(head.lastAt.milliseconds, at: 8)
    record.setLittleEndian(head.expiresAt?.milliseconds ?? .max, at: 16)
    record.setLittleEndian(head.count, at: 24)
    record.setLittleEndian(UInt16(clamping: head.status ?? 0), at: 28)
    record[30] = head.kind.storedNumber
    record[31] = 0
    record.setLittleEndian(UInt32(entry.identity.count), at: 32)
    record.setLittleEndian(UInt32(entry.url.count), at: 36)
    let offset = record.copy(entry.identity, at: headByteCount)
    _ = record.copy(entry.url, at: offset)
  }
}
