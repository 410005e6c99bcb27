import ImagePrimitives

/// What a cache holds, kept in every transaction: true after a crash, and never counted.
public struct CacheTotals: Sendable, Hashable {
  /// Images.
  public let entries: Int
  /// Bytes of their bodies.
  public let bodyBytes: Int
  /// URLs on the blacklist, those included that have expired and were not trimmed yet.
  public let blacklistEntries: Int
}

/// The one record of the table `totals`: format version 1. All integers are little-endian.
///
/// | offset | type | |
/// |---|---|---|
/// | 0 | u64 | entries |
/// | 8 | u64 | bytes of bodies |
/// | 16 | u64 | bytes of blobs on disk, each rounded up to whole blocks |
/// | 24 | u64 | entries of the blacklist |
/// | 32 | i64 | no entry of the blacklist expires before this, milliseconds since 1970 |
/// | 40 | u64 | the highest revision given so far |
/// | 48 | u8 | flags: 1 the table `by-access` is kept |
struct Totals: Equatable {
  static let byteCount = 49
  private static let blockByteCount: UInt64 = 4096

  var entries: UInt64 = 0
  var bodyBytes: UInt64 = 0
  var blobDiskBytes: UInt64 = 0
  var blacklistEntries: UInt64 = 0
  var nextBlacklistExpiry: Int64 = .max
  var lastRevision: UInt64 = 0
  var keepsAccessOrder = false

  init() {}

  /// Totals from their record; nil for bytes that are none.
  init?(stored bytes: UnsafeRawBufferPointer) {
    guard bytes.count == Self.byteCount else { return nil }
    entries = bytes.littleEndian(at: 0)
    bodyBytes = bytes.littleEndian(at: 8)
    blobDiskBytes = bytes.littleEndian(at: 16)
    blacklistEntries = bytes.littleEndian(at: 24)
    nextBlacklistExpiry = bytes.littleEndian(at: 32)
    lastRevision = bytes.littleEndian(at: 40)
    keepsAccessOrder = bytes[48] & 1 != 0
  }

  func write(to record: UnsafeMutableRawBufferPointer) {
    record.setLittleEndian(entries, at: 0)
    record.setLittleEndian(bodyBytes, at: 8)
    record.setLittleEndian(blobDiskBytes, at: 16)
    record.setLittleEndian(blacklistEntries, at: 24)
    record.setLittleEndian(nextBlacklistExpiry, at: 32)
    record.setLittleEndian(lastRevision, at: 40)
    record[48] = keepsAccessOrder ? 1 : 0
  }

  mutating func add(_ head: EntryHead) {
    entries += 1
    bodyBytes += head.bodySize
    if head.isBlob { blobDiskBytes += Self.diskBytes(head.bodySize) }
  }

  mutating func subtract(_ head: EntryHead) {
    // Clamped: a damaged record must not bring the process down.
    entries -= min(entries, 1)
    bodyBytes -= min(bodyBytes, head.bodySize)
    if head.isBlob { blobDiskBytes -= min(blobDiskBytes, Self.diskBytes(head.bodySize)) }
  }

  private static func diskBytes(_ size: UInt64) -> UInt64 { (size + blockByteCount - 1) / blockByteCount * blockByteCount }

  /// What users of the cache are told.
  var shown: CacheTotals {
    CacheTotals(entries: Int(entries), bodyBytes: Int(bodyBytes), blacklistEntries: Int(blacklistEntries))
  }
}
