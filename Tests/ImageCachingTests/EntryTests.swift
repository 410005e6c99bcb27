import ImageCaching
import Base
import TestSupport
import Testing

@Suite struct EntryTests {
  let directory = TemporaryDirectory()
  let clock = ManualClock()

  @Test func `a lookup returns the head without reading the body`() throws {
    let cache = try makeCache(directory, clock: clock)
    try cache.put("https://a/1.png", body(1000), proof: .full)

    guard case .fresh(let head) = try cache.lookUp("https://a/1.png") else {
      Issue.record("not found")
      return
    }
    #expect(head.storedAt == clock.source.wall())
    #expect(head.accessedAt == head.storedAt)
    #expect(head.image == ImageProperties(format: .png, width: 640, height: 480))
    #expect(head.bodySize == 1000)
    #expect(head.checksum == body(1000).withUnsafeBytes(checksum(of:)))
    #expect(head.proof == .full)
    #expect(head.contentTypeMatch == .alias)
    #expect(head.status == 200)
    #expect(!head.isBlob)
    #expect(head.lifetime == nil)
    #expect(try cache.lookUp("https://a/2.png") == .missing)
  }

  @Test func `bodies of any size come back as stored`() throws {
    let cache = try makeCache(directory)
    for size in [0, 1, 5000, ImageCache.maximumInlineBytes, ImageCache.maximumInlineBytes + 1, 1_000_000] {
      try cache.put("\(size)", body(size))
      #expect(try cache.cachedBody("\(size)") == .bytes(body(size)))
      #expect(try cache.head("\(size)")?.isBlob == (size > ImageCache.maximumInlineBytes))
    }
    #expect(blobs(directory).count == 2)
  }

  @Test func `removing an entry removes its body, and reports whether it existed`() throws {
    let cache = try makeCache(directory)
    try cache.put("small", body(10))
    try cache.put("large", body(400_000))
    #expect(try cache.remove("small"))
    #expect(try cache.remove("large"))
    #expect(try cache.lookUp("small") == .missing)
    #expect(try !cache.remove("small"))
    #expect(blobs(directory).isEmpty)
    #expect(try cache.totals() == makeCache(TemporaryDirectory()).totals())
  }

  @Test func `a hash collision is a miss`() throws {
    let cache = try makeCache(directory)
    let key = identity("two").key
    try cache.write { (writer) throws(CacheError) in try writer.put("one", body(10), key: key) }
    #expect(try cache.lookUp("two") == .missing)
    #expect(try !cache.remove("two"))
    #expect(try cache.totals().entries == 1)

    try cache.put("two", body(20))
    #expect(try cache.isFresh("two"))
    #expect(try cache.totals().entries == 1, "one replaces the other")
  }

  @Test func `storing again replaces the entry`() throws {
    let cache = try makeCache(directory)
    let sizes = [10, 400_000, 300_000, 20, 30]
    for size in sizes {
      try cache.put("a", body(size))
      #expect(try cache.cachedBody("a") == .bytes(body(size)))
      #expect(try cache.totals().entries == 1)
      #expect(try cache.totals().bodyBytes == size)
      #expect(blobs(directory).count == (size > ImageCache.maximumInlineBytes ? 1 : 0))
    }
  }

  @Test func `a transaction is all or nothing`() throws {
    let cache = try makeCache(directory)
    try cache.put("old", body(10))
    #expect(throws: CacheError.diskFull(path: "here")) {
      let staged = try cache.stage(body(400_000))
      try cache.write { (writer) throws(CacheError) in
        try writer.put("new", body(10))
        try writer.put("large", [], staged: staged)
        try writer.put("old", body(20))
        throw CacheError.diskFull(path: "here")
      }
    }
    #expect(try cache.present(["old", "new", "large"]) == ["old"])
    #expect(try cache.totals().bodyBytes == 10 && blobs(directory).isEmpty)
    try cache.put("next", body(10))
    #expect(try cache.isFresh("next"))
  }

  @Test func `records hold all fields and are listed in key order`() throws {
    let cache = try makeCache(directory, maxAge: .seconds(60), clock: clock)
    let names = (0..<25).map { "https://a/\($0).png" }
    try cache.write { (writer) throws(CacheError) in for name in names { try writer.put(name, body(10)) } }

    var seen: [EntryRecord] = []
    while true {
      let page = try cache.entries(after: seen.last, limit: 10)
      if page.isEmpty { break }
      seen += page
    }
    #expect(seen.map { String(decoding: $0.shownURL, as: UTF8.self) }.sorted() == names.sorted())
    #expect(seen.allSatisfy { $0.identity == $0.shownURL })
    #expect(seen.allSatisfy { $0.etag == "\"1\"" && $0.contentType == "image/png" })
    #expect(seen.allSatisfy { $0.lastModified == "Sat, 21 Nov 2026 09:00:00 GMT" })
    #expect(seen.allSatisfy { $0.expiresAt == clock.source.wall().advanced(by: .seconds(60)) })
    let one = try cache.entry(identity: Array(names[3].utf8))
    #expect(one == seen.first { $0.identity == Array(names[3].utf8) })
  }

  @Test func `the URL is stored separately if the identity doesn't start with it`() throws {
    let cache = try makeCache(directory)
    let url = Array("https://***@a/1.png".utf8)
    try cache.write { (writer) throws(CacheError) in
      try writer.put("https://1f3c@a/1.png edge", body(10), url: "https://***@a/1.png")
    }
    let record = try cache.entries(after: nil, limit: 1)[0]
    #expect(record.shownURL == url)
    #expect(record.identity == Array("https://1f3c@a/1.png edge".utf8))
    #expect(record.etag == "\"1\"")
  }

  @Test func `a proof is raised only on the record that was read`() throws {
    let cache = try makeCache(directory, clock: clock)
    let proof = NewProof(depth: .full, image: ImageProperties(format: .webp, width: 1, height: 2, frames: 3))
    func raise(from head: EntryHead) throws -> Bool {
      try cache.write { (writer) throws(CacheError) in
        try writer.raiseProof(of: identity("a").key, identity: identity("a").bytes, from: head, to: proof)
      }
    }
    try cache.put("a", body(10))
    let old = try #require(try cache.head("a"))
    #expect(try raise(from: old))
    let raised = try #require(try cache.head("a"))
    #expect(raised.proof == .full && raised.image == proof.image)
    #expect(try cache.entries(after: nil, limit: 1)[0].etag == "\"1\"", "the rest of the record is unchanged")
    #expect(try cache.cachedBody("a") == .bytes(body(10)))

    // The same bytes, stored again in the same millisecond, are a different record.
    try cache.put("a", body(10))
    #expect(try !raise(from: old))
    #expect(try cache.head("a")?.proof == .header)
  }

  @Test func `only the record that was read is removed as damaged`() throws {
    let cache = try makeCache(directory)
    try cache.put("a", body(10))
    let old = try #require(try cache.head("a"))
    try cache.put("a", body(20))
    // Which a running write transaction doesn't hold up.
    let isRemoved = try cache.write { _ throws(CacheError) in try cache.removeDamaged(identity("a").key, old) }
    #expect(try !isRemoved && cache.isFresh("a"))
    #expect(try cache.removeDamaged(identity("a").key, try #require(try cache.head("a"))))
    #expect(try cache.lookUp("a") == .missing)
  }
}
