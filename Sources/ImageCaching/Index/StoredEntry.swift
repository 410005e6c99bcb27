import Base

/// A record of the table `entries`: format version 1. All integers are little-endian.
///
/// | offset | type | |
/// |---|---|---|
/// | 0 | i64 | stored at, milliseconds since 1970 |
/// | 8 | i64 | accessed at, milliseconds since 1970 |
/// | 16 | i64 | own lifetime in milliseconds; -1: none |
/// | 24 | u64 | bytes of the body |
/// | 32, 40 | u64, u64 | checksum, high and low half |
/// | 48 | u64 | revision |
/// | 56, 60 | u32, u32 | width, height |
/// | 64 | u16 | frames; 65,535: that many or more |
/// | 66 | u16 | dots per inch; 0: unknown |
/// | 68 | u16 | HTTP status |
/// | 70 | u8 | format; 0: none |
/// | 71 | u8 | proof |
/// | 72 | u8 | content type match |
/// | 73 | u8 | flags: 1 the body is a blob, 2 the URL is a prefix of the identity, 4 a decoder warned |
/// | 74 | u8 | folder of the blob |
/// | 75 | u8 | metadata: bits 0…2 the orientation less 1, 8 a profile, 16 a GPS position |
/// | 76, 80 | u32, u32 | bytes of identity, of URL |
/// | 84, 86, 88, 90 | u16 each | bytes of ETag, Last-Modified, Content-Type, and of freshness with Vary values |
/// | 92 | bytes | identity, URL unless flag 2 is set, ETag, Last-Modified, Content-Type, ``StoredFreshness`` and Vary values |
struct StoredEntry {
  static let headByteCount = 92
  /// More bytes than any body has. A damaged record has no more, so that sums over many don't overflow; its body is of another size.
  private static let maximumBodySize: UInt64 = 1 << 40
  private static let blobFlag: UInt8 = 1
  private static let sharedURLFlag: UInt8 = 2
  private static let warningsFlag: UInt8 = 4

  /// The whole record, valid until its transaction ends or writes.
  let bytes: UnsafeRawBufferPointer

  @inline(__always)
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= Self.headByteCount else { return nil }
    self.bytes = bytes
    let (sum, overflow) = (Self.headByteCount + identityByteCount).addingReportingOverflow(tailByteCount)
    guard !overflow, bytes.count == sum, !sharesURL || urlByteCount <= identityByteCount else { return nil }
  }

  private var flags: UInt8 { bytes[73] }
  private var sharesURL: Bool { flags & Self.sharedURLFlag != 0 }
  private var identityByteCount: Int { Int(bytes.littleEndian(at: 76, as: UInt32.self)) }
  private var urlByteCount: Int { Int(bytes.littleEndian(at: 80, as: UInt32.self)) }
  private func shortCount(at offset: Int) -> Int { Int(bytes.littleEndian(at: offset, as: UInt16.self)) }
  private var tailByteCount: Int {
    (sharesURL ? 0 : urlByteCount) + shortCount(at: 84) + shortCount(at: 86) + shortCount(at: 88) + shortCount(at: 90)
  }
  private var etagOffset: Int { Self.headByteCount + identityByteCount + (sharesURL ? 0 : urlByteCount) }
  var identity: UnsafeRawBufferPointer { bytes.part(at: Self.headByteCount, count: identityByteCount) }
  var url: UnsafeRawBufferPointer {
    bytes.part(at: Self.headByteCount + (sharesURL ? 0 : identityByteCount), count: urlByteCount)
  }
  var etag: UnsafeRawBufferPointer { bytes.part(at: etagOffset, count: shortCount(at: 84)) }
  var lastModified: UnsafeRawBufferPointer { bytes.part(at: etagOffset + shortCount(at: 84), count: shortCount(at: 86)) }
  var contentType: UnsafeRawBufferPointer {
    bytes.part(at: etagOffset + shortCount(at: 84) + shortCount(at: 86), count: shortCount(at: 88))
  }

  /// Freshness and Vary values, at the end of the record.
  @inline(__always)
  private var lastField: UnsafeRawBufferPointer {
    let count = shortCount(at: 90)
    return bytes.part(at: bytes.count - count, count: count)
  }

  /// The caller's canonical text of the request headers that the response depends on; empty: none.
  var vary: UnsafeRawBufferPointer {
    let field = lastField
    let start = min(StoredFreshness.byteCount(ofField: field), field.count)
    return field.part(at: start, count: field.count - start)
  }

  var accessedAt: Timestamp { Timestamp(milliseconds: bytes.littleEndian(at: 8)) }
  var revision: UInt64 { bytes.littleEndian(at: 48) }

  var head: EntryHead {
    let lastField = lastField
    let lifetime = bytes.littleEndian(at: 16, as: Int64.self)
    return EntryHead(
      storedAt: Timestamp(milliseconds: bytes.littleEndian(at: 0)),
      accessedAt: accessedAt,
      image: ImageProperties(
        format: ImageFormat(storedNumber: bytes[70] &- 1),
        width: bytes.littleEndian(at: 56),
        height: bytes.littleEndian(at: 60),
        frames: UInt32(bytes.littleEndian(at: 64, as: UInt16.self)),
        metadata: ImageMetadata(stored: bytes[75], dpi: bytes.littleEndian(at: 66))
      ),
      bodySize: min(bytes.littleEndian(at: 24), Self.maximumBodySize),
      checksum: Checksum(high: bytes.littleEndian(at: 32), low: bytes.littleEndian(at: 40)),
      proof: ProofDepth(storedNumber: bytes[71]) ?? .none,
      hasWarnings: flags & Self.warningsFlag != 0,
      contentTypeMatch: ContentTypeMatch(storedNumber: bytes[72]) ?? .mismatch,
      status: bytes.littleEndian(at: 68),
      isBlob: flags & Self.blobFlag != 0,
      hasVary: lastField.count > StoredFreshness.byteCount(ofField: lastField),
      revision: revision,
      blobFolder: bytes[74],
      storedFreshness: StoredFreshness(stored: lastField),
      lifetimeMilliseconds: lifetime < 0 ? nil : lifetime
    )
  }

  /// Writes the head into the first bytes of a record, without changing the flag of the URL or the bytes from offset 76.
  static func write(_ head: EntryHead, to record: UnsafeMutableRawBufferPointer) {
    record.setLittleEndian(head.storedAt.milliseconds, at: 0)
    record.setLittleEndian(head.accessedAt.milliseconds, at: 8)
    record.setLittleEndian(head.lifetimeMilliseconds ?? -1, at: 16)
    record.setLittleEndian(head.bodySize, at: 24)
    record.setLittleEndian(head.checksum.high, at: 32)
    record.setLittleEndian(head.checksum.low, at: 40)
    record.setLittleEndian(head.revision, at: 48)
    record.setLittleEndian(head.image.width, at: 56)
    record.setLittleEndian(head.image.height, at: 60)
    record.setLittleEndian(UInt16(clamping: head.image.frames), at: 64)
    record.setLittleEndian(head.image.metadata.dpi, at: 66)
    record.setLittleEndian(head.status, at: 68)
    record[70] = head.image.format.map { $0.storedNumber + 1 } ?? 0
    record[71] = head.proof.storedNumber
    record[72] = head.contentTypeMatch.storedNumber
    record[73] = record[73] & sharedURLFlag | (head.isBlob ? blobFlag : 0) | (head.hasWarnings ? warningsFlag : 0)
    record[74] = head.blobFolder
    record[75] = head.image.metadata.storedByte
  }

  static func writeAccess(_ time: Timestamp, to record: UnsafeMutableRawBufferPointer) {
    record.setLittleEndian(time.milliseconds, at: 8)
  }

  static func byteCount(of fields: EntryFields) -> Int {
    headByteCount + fields.identity.count + (sharesURL(fields) ? 0 : fields.shownURL.count) + fields.etag.count
      + fields.lastModified.count + fields.contentType.count + fields.head.storedFreshness.byteCount(vary: fields.vary)
  }

  private static func sharesURL(_ fields: EntryFields) -> Bool {
    fields.identity.withUnsafeBytes { identity in fields.shownURL.withUnsafeBytes { identity.begins(with: $0) } }
  }

  /// Fills a whole record, which must have ``byteCount(of:)`` bytes.
  static func write(_ fields: EntryFields, to record: UnsafeMutableRawBufferPointer) {
    let sharesURL = sharesURL(fields)
    record[73] = sharesURL ? sharedURLFlag : 0
    write(fields.head, to: record)
    record.setLittleEndian(UInt32(fields.identity.count), at: 76)
    record.setLittleEndian(UInt32(fields.shownURL.count), at: 80)
    var offset = record.copy(fields.identity, at: headByteCount)
    if !sharesURL { offset = record.copy(fields.shownURL, at: offset) }
    func add(_ field: [UInt8], lengthAt place: Int) {
      record.setLittleEndian(UInt16(field.count), at: place)
      offset = record.copy(field, at: offset)
    }
    add(fields.etag, lengthAt: 84)
    add(fields.lastModified, lengthAt: 86)
    add(fields.contentType, lengthAt: 88)
    add(fields.head.storedFreshness.field(vary: fields.vary), lengthAt: 90)
  }
}

/// Values whose numbers on disk are positions in a list, independent of the order of cases. Only append to the lists.
protocol StoredByNumber: Equatable {
  static var onDisk: [Self] { get }
}

extension StoredByNumber {
  /// The value with that number in records; nil for unknown numbers.
  init?(storedNumber: UInt8) {
    guard storedNumber < Self.onDisk.count else { return nil }
    self = Self.onDisk[Int(storedNumber)]
  }

  var storedNumber: UInt8 {
    guard let position = Self.onDisk.firstIndex(of: self) else { fatalError("\(self) has no number on disk yet") }
    return UInt8(position)
  }
}

/// Records have the numbers of formats plus 1, and 0 for none.
extension ImageFormat: StoredByNumber {
  static let onDisk: [ImageFormat] = [.jpeg, .png, .gif, .webp, .avif, .heic, .tiff, .bmp, .svg, .ico, .jpegXL]
}

extension ProofDepth: StoredByNumber {
  static let onDisk: [ProofDepth] = [.none, .header, .full]
}

extension ContentTypeMatch: StoredByNumber {
  static let onDisk: [ContentTypeMatch] = [.exact, .alias, .generic, .absent, .mismatch]
}

extension FailureKind: StoredByNumber {
  static let onDisk: [FailureKind] = [
    .dns, .connect, .timeout, .stalled, .reset, .truncated, .hostDown, .tls, .httpStatus, .redirects, .tooLarge, .contentType,
    .remoteCache, .refusedAddress, .robots, .notAnImage, .empty, .undecodable, .size, .format, .dimensions, .animated,
    .placeholder, .invalidURL, .cacheWrite, .internal, .expectation,
  ]
}

extension ImageMetadata {
  private static let profileBit: UInt8 = 8
  private static let positionBit: UInt8 = 16
  private static let thumbnailBit: UInt8 = 32
  private static let largeEXIFBit: UInt8 = 64

  init(stored byte: UInt8, dpi: UInt16) {
    self.init(
      hasProfile: byte & Self.profileBit != 0,
      orientation: byte & 7 + 1,
      hasPosition: byte & Self.positionBit != 0,
      dpi: dpi
    )
    hasThumbnail = byte & Self.thumbnailBit != 0
    isEXIFLarge = byte & Self.largeEXIFBit != 0
  }

  /// Everything but the resolution.
  var storedByte: UInt8 {
    (orientation &- 1) & 7 | (hasProfile ? Self.profileBit : 0) | (hasPosition ? Self.positionBit : 0)
      | (hasThumbnail ? Self.thumbnailBit : 0) | (isEXIFLarge ? Self.largeEXIFBit : 0)
  }
}

/// The freshness that the server declared, as stored in the first bytes of a record's last field.
///
/// | offset | type | |
/// |---|---|---|
/// | 0 | i64 | lifetime in milliseconds; -1: not declared |
/// | 8 | i64 | stale-while-revalidate, milliseconds |
/// | 16 | u8 | flags: 1 no-cache, 2 immutable, 4 must-revalidate, 8 stale-if-error follows |
/// | 17 | u32 | stale-if-error, seconds; only with flag 8 |
///
/// It is omitted if the server declared no freshness, unless Vary values follow it.
struct StoredFreshness: Sendable, Hashable {
  private static let leastByteCount = 17
  static let maximumByteCount = 21
  private static let revalidateFlag: UInt8 = 1
  private static let immutableFlag: UInt8 = 2
  private static let noStaleFlag: UInt8 = 4
  private static let onErrorFlag: UInt8 = 8

  var lifetimeMilliseconds: Int64?
  var staleWhileRevalidateMilliseconds: Int64 = 0
  var staleIfErrorSeconds: UInt32 = 0
  private var flags: UInt8 = 0

  init() {}

  init(_ freshness: Freshness) {
    lifetimeMilliseconds = freshness.lifetime.map { max(0, $0.wholeMilliseconds) }
    staleWhileRevalidateMilliseconds = max(0, freshness.staleWhileRevalidate.wholeMilliseconds)
    staleIfErrorSeconds = UInt32(clamping: freshness.staleIfError.components.seconds)
    flags =
      (freshness.mustRevalidate ? Self.revalidateFlag : 0) | (freshness.isImmutable ? Self.immutableFlag : 0)
      | (freshness.forbidsStale ? Self.noStaleFlag : 0) | (staleIfErrorSeconds > 0 ? Self.onErrorFlag : 0)
  }

  /// Parses the first bytes of a record's last field; no freshness if there are too few.
  @inline(__always)
  init(stored bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= Self.leastByteCount, bytes.count >= Self.byteCount(ofField: bytes) else { return }
    let lifetime: Int64 = bytes.littleEndian(at: 0)
    lifetimeMilliseconds = lifetime < 0 ? nil : lifetime
    staleWhileRevalidateMilliseconds = max(0, bytes.littleEndian(at: 8))
    flags = bytes[16]
    if flags & Self.onErrorFlag != 0 { staleIfErrorSeconds = bytes.littleEndian(at: Self.leastByteCount) }
  }

  /// The bytes of a record's last field before the Vary values.
  @inline(__always)
  static func byteCount(ofField bytes: UnsafeRawBufferPointer) -> Int {
    bytes.count >= leastByteCount && bytes[16] & onErrorFlag != 0 ? maximumByteCount : leastByteCount
  }

  var forbidsStale: Bool { flags & (Self.noStaleFlag | Self.revalidateFlag) != 0 }
  var mustRevalidate: Bool { flags & Self.revalidateFlag != 0 }

  /// The freshness as other modules use it; stored responses are storable.
  var value: Freshness {
    Freshness(
      lifetime: lifetimeMilliseconds.map { .milliseconds($0) },
      mustRevalidate: mustRevalidate,
      isImmutable: flags & Self.immutableFlag != 0,
      forbidsStale: flags & Self.noStaleFlag != 0,
      staleWhileRevalidate: .milliseconds(staleWhileRevalidateMilliseconds),
      staleIfError: .seconds(Int64(staleIfErrorSeconds))
    )
  }

  /// The length of a record's last field with those Vary values; 0 if there is neither freshness nor Vary.
  func byteCount(vary: [UInt8]) -> Int {
    if self == StoredFreshness() && vary.isEmpty { return 0 }
    return (staleIfErrorSeconds > 0 ? Self.maximumByteCount : Self.leastByteCount) + vary.count
  }

  func field(vary: [UInt8]) -> [UInt8] {
    if byteCount(vary: vary) == 0 { return [] }
    var field = [UInt8](repeating: 0, count: byteCount(vary: vary) - vary.count)
    field.withUnsafeMutableBytes { bytes in
      bytes.setLittleEndian(lifetimeMilliseconds ?? -1, at: 0)
      bytes.setLittleEndian(staleWhileRevalidateMilliseconds, at: 8)
      bytes[16] = flags
      if staleIfErrorSeconds > 0 { bytes.setLittleEndian(staleIfErrorSeconds, at: Self.leastByteCount) }
    }
    return field + vary
  }
}
