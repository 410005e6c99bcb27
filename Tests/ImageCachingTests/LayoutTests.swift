import Base
import TestSupport
import Testing

@testable import ImageCaching

@Suite struct LayoutTests {
  @Test func `records of version 1 have these bytes`() throws {
    let head = EntryHead(
      storedAt: Timestamp(milliseconds: 0x0102),
      accessedAt: Timestamp(milliseconds: 0x0304),
      image: ImageProperties(
        format: .webp,
        width: 5,
        height: 6,
        frames: 7,
        metadata: ImageMetadata(hasProfile: true, orientation: 6, hasPosition: true, dpi: 300)
      ),
      bodySize: 8,
      checksum: Checksum(high: 9, low: 10),
      proof: .full,
      hasWarnings: true,
      contentTypeMatch: .generic,
      status: 200,
      isBlob: true,
      revision: 11,
      blobFolder: 12,
      storedFreshness: StoredFreshness()
    )
    let identity = Array("https://a/1.png x".utf8)
    var fields = EntryFields(
      key: CacheKey(identity: identity),
      head: head,
      identity: identity,
      shownURL: Array(identity.dropLast(2))
    )
    (fields.etag, fields.lastModified, fields.contentType) = ([1, 2], [3], [4, 5, 6])
    var record = [UInt8](repeating: 0xFF, count: StoredEntry.byteCount(of: fields))
    record.withUnsafeMutableBytes { StoredEntry.write(fields, to: $0) }
    #expect(
      record == [
        2, 1, 0, 0, 0, 0, 0, 0, 4, 3, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 8, 0, 0, 0, 0, 0, 0, 0,
        9, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 11, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0,
        7, 0, 44, 1, 200, 0, 4, 2, 2, 7, 12, 29, 17, 0, 0, 0, 15, 0, 0, 0, 2, 0, 1, 0, 3, 0, 0, 0,
      ] + identity + [1, 2, 3, 4, 5, 6]
    )
    record.withUnsafeBytes { bytes in
      #expect(StoredEntry(bytes).map { EntryFields($0, key: fields.key) } == fields)
      #expect(StoredEntry(UnsafeRawBufferPointer(rebasing: bytes.dropLast())) == nil, "a truncated record is rejected")
    }
  }

  @Test func `freshness and Vary values are the last field of a version 1 record`() throws {
    let freshness = Freshness(
      lifetime: .seconds(1),
      mustRevalidate: true,
      isImmutable: true,
      staleWhileRevalidate: .milliseconds(2)
    )
    let field = StoredFreshness(freshness).field(vary: [7, 8])
    #expect(field == [0xE8, 3, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 7, 8])
    #expect(field.withUnsafeBytes { StoredFreshness(stored: $0).value } == freshness)
    let none = [UInt8](repeating: 255, count: 8) + [UInt8](repeating: 0, count: 9)
    #expect(StoredFreshness().field(vary: [7]) == none + [7])
    #expect(StoredFreshness().field(vary: []) == [], "a record without freshness and Vary has an empty field")
    #expect(Array(field.prefix(16)).withUnsafeBytes { StoredFreshness(stored: $0) } == StoredFreshness())
  }

  @Test func `damaged records are rejected`() {
    var generator = SystemRandomNumberGenerator()
    for count in [0, 1, 40, 91, 92, 93, 200] {
      for _ in 0..<200 {
        let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
        bytes.withUnsafeBytes { bytes in
          if let entry = StoredEntry(bytes) {
            _ = (entry.identity.count, entry.url.count, entry.contentType.count, entry.vary.count, entry.head)
          }
          if let entry = StoredBlacklistEntry(bytes) { _ = (entry.identity.count, entry.url.count) }
        }
      }
    }
  }

  @Test func `numbers on disk never change their meaning`() {
    let formats = ["jpeg", "png", "gif", "webp", "avif", "heic", "tiff", "bmp", "svg", "ico", "jpeg-xl"]
    #expect(ImageFormat.onDisk.map(\.name) == formats)
    for format in ImageFormat.allCases { #expect(ImageFormat(storedNumber: format.storedNumber) == format) }
    #expect(ImageFormat(storedNumber: 200) == nil && ImageFormat(storedNumber: 255) == nil)
    for kind in FailureKind.allCases { #expect(FailureKind(storedNumber: kind.storedNumber) == kind) }
    #expect(FailureKind.dns.storedNumber == 0 && FailureKind.httpStatus.storedNumber == 8)
    #expect(FailureKind.internal.storedNumber == 25)
    #expect(ProofDepth.allCases.map(\.storedNumber) == [0, 1, 2])
    #expect([ContentTypeMatch.exact, .alias, .generic, .absent, .mismatch].map(\.storedNumber) == [0, 1, 2, 3, 4])
  }

  @Test func `encoded times sort like their bytes`() throws {
    let key = CacheKey(high: 1, low: 2)
    let times: [Int64] = [.min, -1, 0, 1, 255, 256, .max]
    let stored = times.map { TimeKey(Timestamp(milliseconds: $0), key).withStoredBytes { Array($0) } }
    #expect(stored.sorted { $0.lexicographicallyPrecedes($1) } == stored)
    #expect(stored.map { $0.withUnsafeBytes { TimeKey(stored: $0)?.time.milliseconds } } == times)
  }
}

@Suite struct HashingTests {
  @Test func `keys and checksums are 128-bit XXH3`() {
    // Values from the xxHash project's own tool: printf '' | xxh128sum; printf 'abc' | xxh128sum
    let empty = checksum(of: UnsafeRawBufferPointer(start: nil, count: 0))
    #expect(empty == Checksum(high: 0x99AA_06D3_0147_98D8, low: 0x6001_C324_468D_497F))
    Array("abc".utf8).withUnsafeBytes { bytes in
      #expect(checksum(of: bytes) == Checksum(high: 0x06B0_5AB6_733A_6185, low: 0x78AF_5F94_892F_3950))
      #expect(CacheKey(identity: bytes) == CacheKey(high: 0x06B0_5AB6_733A_6185, low: 0x78AF_5F94_892F_3950))
    }
  }

  @Test func `credentials are hashed with HMAC-SHA-256, truncated to 128 bits`() {
    // RFC 4231, test case 2.
    let digest = Array("what do ya want for nothing?".utf8).withUnsafeBytes {
      CredentialHasher(key: Array("Jefe".utf8)).digest($0)
    }
    #expect(String(decoding: digest, as: UTF8.self) == "5bdcc146bf60754e6a042426089575c7")
    let (one, other) = (CredentialHasher.random(), CredentialHasher.random())
    [1].withUnsafeBytes { #expect(one.digest($0) != other.digest($0) && one.digest($0) == one.digest($0)) }
  }

  @Test func `a folder's key is stable`() throws {
    let directory = TemporaryDirectory()
    func digest(_ cache: ImageCache) -> [UInt8] { [1, 2, 3].withUnsafeBytes(cache.credentialHasher.digest) }
    let first = try digest(makeCache(directory))
    #expect(try digest(makeCache(directory)) == first)
    #expect(try digest(makeCache(directory, access: .readOnly)) == first)
    #expect(try digest(makeCache(directory, namespace: "other")) != first)
  }
}
