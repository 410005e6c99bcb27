public import Base

/// An entry of the blacklist without its URL.
package struct BlacklistHead: Sendable, Hashable {
  package let kind: FailureKind
  package let status: Int?
  package let firstAt: Timestamp
  package let lastAt: Timestamp
  package let count: Int
  package let expiresAt: Timestamp?

  package func isExpired(at now: Timestamp) -> Bool { ExpiryRule.isOver(self, at: now, runStart: nil) }
}

/// An entry of the blacklist with all fields of its record.
public struct BlacklistRecord: Sendable, Hashable {
  package let key: CacheKey
  package let head: BlacklistHead
  public let identity: [UInt8]
  package let shownURL: [UInt8]
  /// The URL, with credentials masked.
  public var url: String { String(decoding: shownURL, as: UTF8.self) }

  /// The kind of the last failure.
  public var kind: FailureKind { head.kind }
  /// The HTTP status of the last failure, if there was one.
  public var status: Int? { head.status }
  /// The first failure since it was blacklisted.
  public var firstAt: Timestamp { head.firstAt }
  public var lastAt: Timestamp { head.lastAt }
  /// The number of failures.
  public var count: Int { head.count }
  /// When it may be requested again; nil: never.
  public var expiresAt: Timestamp? { head.expiresAt }

  init(key: CacheKey, head: BlacklistHead, identity: [UInt8], shownURL: [UInt8]) {
    (self.key, self.head, self.identity, self.shownURL) = (key, head, identity, shownURL)
  }

  init(_ stored: StoredBlacklistEntry, key: CacheKey) {
    self.init(key: key, head: stored.head, identity: Array(stored.identity), shownURL: Array(stored.url))
  }
}

/// A record of the table `blacklist`: format version 1. All integers are little-endian.
///
/// | offset | type | |
/// |---|---|---|
/// | 0, 8 | i64, i64 | first and last failure, milliseconds since 1970 |
/// | 16 | i64 | expires at, milliseconds since 1970; the largest value: never |
/// | 24 | u32 | failures counted |
/// | 28 | u16 | HTTP status; 0: none |
/// | 30 | u8 | kind of failure |
/// | 31 | u8 | 0 |
/// | 32, 36 | u32, u32 | bytes of identity, of URL |
/// | 40 | bytes | identity, URL |
struct StoredBlacklistEntry {
  static let headByteCount = 40

  /// The whole record, valid until its transaction ends or writes.
  let bytes: UnsafeRawBufferPointer

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
      count: Int(bytes.littleEndian(at: 24, as: UInt32.self)),
      expiresAt: expiry == .max ? nil : Timestamp(milliseconds: expiry)
    )
  }

  static func byteCount(of record: BlacklistRecord) -> Int { headByteCount + record.identity.count + record.shownURL.count }

  /// Fills a whole record, which must have ``byteCount(of:)`` bytes.
  static func write(_ new: BlacklistRecord, to record: UnsafeMutableRawBufferPointer) {
    let head = new.head
    record.setLittleEndian(head.firstAt.milliseconds, at: 0)
    record.setLittleEndian(head.lastAt.milliseconds, at: 8)
    record.setLittleEndian(head.expiresAt?.milliseconds ?? .max, at: 16)
    record.setLittleEndian(UInt32(clamping: head.count), at: 24)
    record.setLittleEndian(UInt16(clamping: head.status ?? 0), at: 28)
    record[30] = head.kind.storedNumber
    record[31] = 0
    record.setLittleEndian(UInt32(new.identity.count), at: 32)
    record.setLittleEndian(UInt32(new.shownURL.count), at: 36)
    _ = record.copy(new.shownURL, at: record.copy(new.identity, at: headByteCount))
  }
}
