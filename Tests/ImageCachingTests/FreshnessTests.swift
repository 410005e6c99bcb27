import Base
import TestSupport
import Testing

@testable import ImageCaching

@Suite struct FreshnessTests {
  let directory = TemporaryDirectory()
  let clock = ManualClock()

  private func cache(
    _ rule: FreshnessRule = .http,
    maxAge: Duration? = .seconds(100),
    minFresh: Duration = .zero,
    expireBy: ExpiryBasis = .modification
  ) throws(CacheError) -> ImageCache {
    try makeCache(directory, maxAge: maxAge, expireBy: expireBy, freshness: rule, minFresh: minFresh, clock: clock)
  }

  @Test func `stale-while-revalidate extends the expiry, by the server's rule only`() throws {
    let freshness = Freshness(lifetime: .seconds(10), staleWhileRevalidate: .seconds(5))
    let cache = try cache()
    try cache.put("a", body(10), freshness: freshness)
    try cache.put("without", body(10), freshness: Freshness(lifetime: .seconds(10)))
    let (head, without) = (try #require(try cache.head("a")), try #require(try cache.head("without")))
    let end = head.storedAt.advanced(by: .seconds(15))
    #expect(cache.expiry.isUsableWhileRevalidating(head, at: end.advanced(by: .milliseconds(-1))))
    #expect(!cache.expiry.isUsableWhileRevalidating(head, at: end))
    #expect(!cache.expiry.isUsableWhileRevalidating(without, at: end.advanced(by: .seconds(-5))))
    #expect(!(try self.cache(.age)).expiry.isUsableWhileRevalidating(head, at: head.storedAt))
  }

  @Test func `validators, Vary values and freshness survive reopening and a change of the head`() throws {
    let freshness = Freshness(lifetime: .seconds(86_400), isImmutable: true, staleWhileRevalidate: .seconds(60))
    let vary = Array("accept: image/webp\n".utf8)
    try cache().put("a", body(10), proof: .none, freshness: freshness, vary: vary)
    let cache = try cache()
    let head = try #require(try cache.head("a"))
    #expect(head.freshness == freshness && head.hasVary)
    try cache.write { (writer) throws(CacheError) in
      let proof = NewProof(depth: .full, image: ImageProperties(format: .png, width: 1, height: 1))
      #expect(try writer.raiseProof(of: identity("a").key, identity: identity("a").bytes, from: head, to: proof))
    }
    #expect(try cache.head("a")?.freshness == freshness)
    #expect(
      try cache.details("a")
        == EntryDetails(
          validators: Validators(etag: "\"1\"", lastModified: "Sat, 21 Nov 2026 09:00:00 GMT"),
          contentType: "image/png",
          vary: vary
        )
    )
    #expect(try cache.entries(after: nil, limit: 1).first?.vary == vary)
    #expect(try cache.details("b") == nil)
    try Array("a".utf8).withRawBytes { (bytes) throws(CacheError) in
      let key = CacheKey(identity: bytes)
      #expect(try cache.read { (reader) throws(CacheError) in try reader.vary(of: key, identity: bytes) } == vary)
    }
  }

  @Test func `Vary values that are too long match nothing, and the record stays readable`() throws {
    let cache = try cache()
    let vary = [UInt8](repeating: 65, count: EntryFields.maximumVaryBytes + 1)
    try cache.put("a", body(10), vary: vary)
    #expect(try cache.details("a")?.vary == vary.dropLast())
  }

  @Test(
    arguments: [10, 400_000],
    [ExpiryBasis.modification, .access]
  )
  func `a 304 renews an entry and updates its validators and freshness`(size: Int, basis: ExpiryBasis) throws {
    let cache = try cache(.age, expireBy: basis)
    try cache.put("a", body(size), freshness: Freshness(lifetime: .seconds(10), isImmutable: true), vary: [1, 2])
    try cache.put("b", body(size))
    let before = try cache.totals()
    clock.advance(by: .seconds(60))
    let head = try #require(try cache.head("a"))
    let isSame = try revalidate(cache, "a", head, Freshness(lifetime: .seconds(20)), Validators(etag: "W/\"a longer one\""))
    #expect(isSame)

    let now = try #require(try cache.head("a"))
    #expect(now.storedAt == clock.source.wall() && now.accessedAt == clock.source.wall())
    #expect(now.freshness == Freshness(lifetime: .seconds(20)) && now.hasVary)
    let details = try #require(try cache.details("a"))
    #expect(details.validators == Validators(etag: "W/\"a longer one\"", lastModified: "Sat, 21 Nov 2026 09:00:00 GMT"))
    #expect(details.vary == [1, 2] && details.contentType == "image/png")
    #expect(try cache.cachedBody("a") == .bytes(body(size)))
    #expect(try cache.totals() == before)
    clock.advance(by: .seconds(50))
    #expect(try cache.trim().expired == 1, "its age restarts in every table")
    #expect(try cache.present(["a", "b"]) == ["a"])
    #expect(try cache.freshUntil() == now.storedAt.advanced(by: .seconds(100)), "no rows of its previous times remain")
  }

  @Test func `a 304 without freshness keeps the stored one and restarts its lifetime`() throws {
    let cache = try cache()
    let freshness = Freshness(lifetime: .seconds(10), isImmutable: true, staleWhileRevalidate: .seconds(3))
    try cache.put("a", body(10), freshness: freshness)
    clock.advance(by: .seconds(60))
    #expect(try !cache.isFresh("a"))
    #expect(try revalidate(cache, "a", try #require(try cache.head("a")), nil, nil))
    #expect(try cache.head("a")?.freshness == freshness)
    clock.advance(by: .seconds(9))
    #expect(try cache.isFresh("a"))
    clock.advance(by: .seconds(1))
    #expect(try !cache.isFresh("a"))
  }

  @Test func `a 304 for a replaced record changes nothing`() throws {
    let cache = try cache()
    try cache.put("a", body(10))
    let head = try #require(try cache.head("a"))
    try cache.put("a", body(20))
    clock.advance(by: .seconds(1))
    #expect(try !revalidate(cache, "a", head, Freshness(lifetime: .seconds(1)), nil))
    #expect(try !revalidate(cache, "gone", head, Freshness(), nil))
    #expect(try cache.head("a")?.freshness == Freshness())
    #expect(try cache.head("a")?.storedAt == head.storedAt)
  }

  private func revalidate(
    _ cache: ImageCache,
    _ name: String,
    _ head: EntryHead,
    _ freshness: Freshness?,
    _ validators: Validators?
  ) throws(CacheError) -> Bool {
    try cache.write { (writer) throws(CacheError) in
      let (key, identity) = identity(name)
      return try writer.revalidate(key, identity: identity, from: head, freshness: freshness, validators: validators)
    }
  }

  @Test func `a run's trim keeps stale entries younger than maxAge, and entries with longer lifetimes`() throws {
    let cache = try cache()
    try cache.put("stale", body(10), freshness: Freshness(lifetime: .seconds(1)))
    try cache.put("no-cache", body(10), freshness: Freshness(mustRevalidate: true))
    try cache.put("long", body(10), freshness: Freshness(lifetime: .seconds(1000)))
    let names = ["stale", "no-cache", "long"]
    clock.advance(by: .seconds(99))
    #expect(try cache.trim(protecting: clock.source.wall()) == TrimResult())
    clock.advance(by: .seconds(1))
    #expect(try cache.trim(protecting: clock.source.wall()).expired == 2)
    #expect(try cache.present(names) == ["long"])
    clock.advance(by: .milliseconds(899_999))
    let start = clock.source.wall()
    #expect(
      try self.cache(minFresh: .seconds(60)).trim(protecting: start) == TrimResult(),
      "entries that expire soon stay for revalidation"
    )
    clock.advance(by: .milliseconds(1))
    #expect(try cache.trim().expired == 1)
  }
}
