import ImageCaching
import Base
import TestSupport
import Testing

extension ImageCache {
  func blacklist(_ name: String, _ kind: FailureKind = .httpStatus, status: Int? = 404) throws(CacheError) {
    _ = try write { (writer) throws(CacheError) in
      let (key, bytes) = identity(name)
      return try writer.blacklist(key, identity: bytes, shownURL: bytes, kind: kind, status: status)
    }
  }

  func blacklistHead(_ name: String) throws(CacheError) -> BlacklistHead? {
    try read { (reader) throws(CacheError) in
      try Array(name.utf8).withRawBytes { (bytes) throws(CacheError) in
        try reader.isBlacklisted(CacheKey(identity: bytes), identity: bytes)
      }
    }
  }

  func isBlacklisted(_ name: String) throws(CacheError) -> Bool { try blacklistHead(name) != nil }

  func unblacklist(_ name: String) throws(CacheError) -> Bool {
    try removeFromBlacklist(identity: Array(name.utf8))
  }
}

@Suite struct BlacklistTests {
  let directory = TemporaryDirectory()
  let clock = ManualClock()

  @Test func `the blacklist persists reason, first and last time, and count`() throws {
    let start = clock.source.wall()
    try makeCache(directory, clock: clock).blacklist("bad")
    clock.advance(by: .seconds(60))
    try makeCache(directory, clock: clock).blacklist("bad", .notAnImage, status: nil)

    let cache = try makeCache(directory, clock: clock)
    let head = try #require(try cache.blacklistHead("bad"))
    #expect(head.kind == .notAnImage && head.status == nil)
    #expect(head.firstAt == start && head.lastAt == start.advanced(by: .seconds(60)))
    #expect(head.count == 2)
    #expect(head.expiresAt == start.advanced(by: .seconds(60 + 6 * 3600)))
    #expect(try cache.totals().blacklistEntries == 1)
    #expect(try !cache.isBlacklisted("good"))
  }

  @Test(arguments: [Duration.milliseconds(1000), nil])
  func `a blacklist entry expires after its TTL, to the millisecond, or never without one`(timeToLive: Duration?) throws {
    let cache = try makeCache(directory, blacklistTTL: timeToLive, clock: clock)
    try cache.blacklist("bad")
    clock.advance(by: timeToLive.map { $0 - .milliseconds(1) } ?? .seconds(100 * 365 * 86_400))
    #expect(try cache.isBlacklisted("bad"))
    #expect(try (cache.blacklistHead("bad")?.expiresAt == nil) == (timeToLive == nil))
    clock.advance(by: .milliseconds(1))
    #expect(try cache.isBlacklisted("bad") == (timeToLive == nil))
  }

  @Test func `trimming removes expired entries and updates the total`() throws {
    let cache = try makeCache(directory, blacklistTTL: .seconds(10), clock: clock)
    for number in 0..<1500 { if number % 500 == 0 { try cache.blacklist("other \(number)") } }
    try cache.write { (writer) throws(CacheError) in
      for number in 0..<2000 {
        let (key, bytes) = identity("bad \(number)")
        try writer.blacklist(key, identity: bytes, shownURL: bytes, kind: .empty)
      }
    }
    clock.advance(by: .seconds(5))
    try cache.blacklist("later")
    try cache.trim()
    #expect(try cache.totals().blacklistEntries == 2004)
    clock.advance(by: .seconds(5))
    try cache.trim()
    #expect(try cache.totals().blacklistEntries == 1)
    #expect(try cache.blacklist(after: nil, limit: 10).map { String(decoding: $0.shownURL, as: UTF8.self) } == ["later"])
    clock.advance(by: .seconds(5))
    try cache.trim()
    #expect(try cache.totals().blacklistEntries == 0)
  }

  @Test func `entries can be listed, removed one by one, and cleared`() throws {
    let cache = try makeCache(directory, clock: clock)
    for name in ["a", "b", "c"] { try cache.blacklist(name) }
    #expect(Set(try cache.blacklist(after: nil, limit: 10).map(\.identity)) == [[97], [98], [99]])
    let first = try cache.blacklist(after: nil, limit: 1)
    #expect(try cache.blacklist(after: first[0], limit: 10).count == 2)

    #expect(try cache.unblacklist("a"))
    #expect(try !cache.unblacklist("a"))
    #expect(try !cache.isBlacklisted("a"))
    #expect(try cache.totals().blacklistEntries == 2)
    #expect(try cache.clearBlacklist() == 2)
    #expect(try cache.totals().blacklistEntries == 0)
    #expect(try !cache.isBlacklisted("b"))
  }
}
