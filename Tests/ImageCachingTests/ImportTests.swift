import Glibc
import Base
import TestSupport
import Testing

@testable import ImageCaching

@Suite struct ImportTests {
  let directory = TemporaryDirectory()
  let clock = ManualClock()

  private func cache(_ namespace: String, access: ImageCache.Access = .readWrite, expireBy: ExpiryBasis = .modification)
    throws(CacheError)
    -> ImageCache
  {
    try makeCache(directory, namespace: namespace, access: access, expireBy: expireBy, clock: clock)
  }

  private func everything(_ cache: ImageCache) throws(CacheError) -> [EntryRecord] {
    try cache.entries(after: nil, limit: 10_000)
  }

  @Test func `an import copies bodies, times, freshness, validators, Vary and proofs, and totals stay correct`() throws {
    let source = try cache("source", expireBy: .access)
    let freshness = Freshness(lifetime: .seconds(5), mustRevalidate: true, staleWhileRevalidate: .seconds(6))
    try source.write { (writer) throws(CacheError) in
      for number in 0..<700 {
        try writer.put(
          "https://h/\(number)",
          body(number % 70 == 0 ? 280_000 : number, seed: UInt8(number % 200)),
          url: "HTTPS://H/\(number)",
          proof: number % 2 == 0 ? .full : .none,
          lifetime: number % 3 == 0 ? .seconds(number) : nil,
          freshness: number % 5 == 0 ? freshness : Freshness(),
          vary: number % 4 == 0 ? [1, 2, 3] : []
        )
      }
    }
    clock.advance(by: .seconds(4000))
    try source.touch("https://h/1")
    clock.advance(by: .seconds(86_400))

    let target = try cache("target")
    let result = try target.importEntries(from: try cache("source", access: .readOnly))
    let totals = try source.totals()
    #expect(result.imported == 700 && result.bytes == totals.bodyBytes)
    #expect(try target.totals() == totals)
    #expect(try target.counted() == (700, totals.bodyBytes))
    let (expected, found) = (try everything(source), try everything(target))
    #expect(found.map(\.identity) == expected.map(\.identity) && found.map(\.shownURL) == expected.map(\.shownURL))
    for (record, other) in zip(found, expected) {
      var head = record.head
      (head.revision, head.blobFolder) = (other.head.revision, other.head.blobFolder)
      #expect(head == other.head && record.vary == other.vary && record.etag == other.etag)
      #expect(record.lastModified == other.lastModified && record.contentType == other.contentType)
    }
    for number in stride(from: 0, to: 700, by: 35) {
      #expect(try target.cachedBody("https://h/\(number)") == (try source.cachedBody("https://h/\(number)")))
    }
    #expect(try target.verify().bytes == totals.bodyBytes)
    let again = try target.importEntries(from: source)
    #expect(again.imported == 0 && again.notNewer == 700)
  }

  @Test func `the newest image of an identity wins, in whichever cache it is`() throws {
    let (source, target) = (try cache("source"), try cache("target"))
    try source.put("old there", body(1))
    try target.put("old here", body(400_000))
    clock.advance(by: .seconds(1))
    try target.put("old there", body(2))
    try source.put("old here", body(3))
    try target.put("same", body(4))
    try source.put("same", body(5))
    var skipped: [ImportEvent] = []
    let result = try target.importEntries(from: source) { if case .skipped = $0 { skipped.append($0) } }
    #expect(result.imported == 1 && result.notNewer == 2 && skipped.count == 2)
    #expect(try target.cachedBody("old there") == .bytes(body(2)))
    #expect(try target.cachedBody("old here") == .bytes(body(3)))
    #expect(try target.cachedBody("same") == .bytes(body(4)))
    #expect(try target.totals() == CacheTotals(entries: 3, bodyBytes: 9, blacklistEntries: 0))
    #expect(files(below: directory.file("target/blobs")).isEmpty, "the replaced body is removed")
  }

  @Test func `an import skips and reports damaged images`() throws {
    let source = try cache("source")
    try source.put("bad", body(400_000))
    directory.damageBlob(namespace: "source")
    try source.put("good", body(400_000))
    let target = try cache("target")
    var skipped: [ImportEvent] = []
    let result = try target.importEntries(from: source) { if case .skipped = $0 { skipped.append($0) } }
    #expect(result.imported == 1 && result.damaged == 1)
    #expect(skipped == [.skipped(url: Array("bad".utf8), reason: .damaged(.wrongChecksum))])
    #expect(try target.present(["bad", "good"]) == ["good"])
    #expect(try source.isFresh("bad"))
  }

  @Test(arguments: [false, true])
  func `identities with hashed credentials are imported only under the same key`(haveOneKey: Bool) throws {
    let source = try cache("source")
    try source.put("https://0123456789abcdef0123456789abcdef@h/1.png", body(1), url: "https://***@h/1.png")
    try source.put("https://h/2@3x.png", body(2))
    if haveOneKey { directory.write(try #require(directory.read("source/KEY")), to: "target/KEY") }
    if haveOneKey { directory.write("1\n", to: "target/VERSION") }
    let result = try cache("target").importEntries(from: source)
    #expect(result.imported == (haveOneKey ? 2 : 1) && result.foreignCredentials == (haveOneKey ? 0 : 1))
  }

  @Test func `a read-only cache rejects imports`() throws {
    let source = try cache("source")
    let reader = try cache("source", access: .readOnly)
    #expect(throws: CacheError.readOnly(path: reader.path)) { try reader.importEntries(from: source) }
    #expect(try source.importEntries(from: source).imported == 0, "an import from itself imports nothing")
  }
}

@Suite struct FlatImportTests {
  let directory = TemporaryDirectory()
  let clock = ManualClock()

  private struct NoImage: Error, CustomStringConvertible {
    var description: String { "these bytes aren't an image" }
  }

  private func image(_ url: String, identity: String? = nil) -> FlatImage {
    FlatImage(url: Array(url.utf8), identity: Array((identity ?? url).utf8))
  }

  private static let found = ImageProperties(format: .webp, width: 7, height: 8, frames: 9)

  private func probe(_ bytes: [UInt8]) throws -> NewProof {
    if bytes.isEmpty { throw NoImage() }
    return NewProof(depth: .header, image: Self.found)
  }

  @Test func `a flat folder's images of the given URLs are imported as the probe verifies them`() throws {
    let cache = try makeCache(directory, maxAge: .seconds(100), clock: clock)
    let written = clock.source.wall().advanced(by: .seconds(-60))
    directory.write(body(10), to: "flat/\(digits("HTTPS://H/1.png"))")
    directory.setModified("flat/\(digits("HTTPS://H/1.png"))", written)
    directory.write(body(400_000), to: "flat/\(digits("https://h/2.png")).png")
    directory.setModified("flat/\(digits("https://h/2.png")).png", written.advanced(by: .seconds(1000)))
    directory.write([], to: "flat/\(digits("https://h/3.png"))")
    directory.write(body(600_000), to: "flat/\(digits("https://h/4.png"))")
    directory.write(body(1), to: "flat/\(digits("https://u@h/5.png"))")
    let images = [
      image("HTTPS://H/1.png", identity: "https://h/1.png"), image("https://h/2.png"), image("https://h/3.png"),
      image("https://h/4.png"),
      image("https://u@h/5.png"), image("https://h/6.png"),
    ]
    var events: [ImportEvent] = []
    let folder = try FlatFolder(path: directory.file("flat"))
    let result = try cache.importFlat(folder, images: images, maximumBytes: 400_000, onEntry: { events.append($0) }, probe: probe)

    #expect(result.imported == 2 && result.bytes == 400_010)
    #expect(result.unusable == 2 && result.foreignCredentials == 1 && result.notFound == 1)
    #expect(events.contains(.skipped(url: Array("https://h/3.png".utf8), reason: .notAnImage("these bytes aren't an image"))))
    #expect(try cache.cachedBody("https://h/1.png") == .bytes(body(10)))
    #expect(try cache.cachedBody("https://h/2.png") == .bytes(body(400_000)))
    let head = try #require(try cache.head("https://h/1.png"))
    #expect(head.storedAt == written && head.image == Self.found)
    #expect(head.proof == .header && head.contentTypeMatch == .absent && head.status == 200)
    #expect(try cache.head("https://h/2.png")?.storedAt == clock.source.wall(), "no storing time is later than now")
    #expect(try cache.totals() == CacheTotals(entries: 2, bodyBytes: 400_010, blacklistEntries: 0))
    clock.advance(by: .seconds(40))
    #expect(try cache.trim().expired == 1, "its age counts from the file's modification")
  }

  @Test func `in a flat folder the newest image wins too, by file time or by the given time`() throws {
    let cache = try makeCache(directory, clock: clock)
    try cache.put("https://h/1.png", body(10))
    directory.write(body(20), to: "flat/\(digits("https://h/1.png"))")
    directory.setModified("flat/\(digits("https://h/1.png"))", clock.source.wall())
    let folder = try FlatFolder(path: directory.file("flat"))
    let images = [image("https://h/1.png")]
    var probed = 0
    let result = try cache.importFlat(folder, images: images) { bytes in
      probed += 1
      return try probe(bytes)
    }
    #expect(result.notNewer == 1 && probed == 0, "a file that isn't newer isn't probed")
    clock.advance(by: .seconds(1))
    #expect(try cache.importFlat(folder, images: images, storedAt: clock.source.wall(), probe: probe).imported == 1)
    #expect(try cache.cachedBody("https://h/1.png") == .bytes(body(20)))
  }

  @Test func `an older imported image doesn't replace one that another process stores meanwhile`() throws {
    let cache = try makeCache(directory, clock: clock)
    directory.write(body(20), to: "flat/\(digits("https://h/1.png"))")
    let folder = try FlatFolder(path: directory.file("flat"))
    let before = clock.source.wall().advanced(by: .seconds(-1))
    let result = try cache.importFlat(folder, images: [image("https://h/1.png")], storedAt: before) { bytes in
      try cache.put("https://h/1.png", body(30))
      return try probe(bytes)
    }
    #expect(result.imported == 0 && result.notNewer == 1)
    #expect(try cache.cachedBody("https://h/1.png") == .bytes(body(30)))
    #expect(try cache.totals().bodyBytes == 30)
  }
}
