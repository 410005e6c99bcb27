import Base
import TestSupport
import Testing

@testable import ImageCaching

@Suite struct ExpiryTests {
  let directory = TemporaryDirectory()
  let clock = ManualClock()

  /// What decides on the expiry of an entry.
  struct Rule {
    var maxAge: Duration? = .seconds(100)
    var own: Duration?
    var server = Freshness()
    var rule = FreshnessRule.http
    var minFresh = Duration.zero
  }

  private static func lifetime(_ seconds: Int, mustRevalidate: Bool = false) -> Freshness {
    Freshness(lifetime: .seconds(seconds), mustRevalidate: mustRevalidate, staleWhileRevalidate: .seconds(5))
  }

  @Test(
    arguments: [
      ("the maximum age", Rule(maxAge: .seconds(7 * 86_400)), .seconds(7 * 86_400)),
      ("no maximum age", Rule(maxAge: nil), nil),
      ("a maximum age of zero", Rule(maxAge: .zero), .zero),
      ("a shorter lifetime of its own", Rule(own: .seconds(10)), .seconds(10)),
      ("a longer lifetime of its own", Rule(own: .seconds(1000)), .seconds(1000)),
      ("a shorter lifetime by the server", Rule(server: lifetime(10)), .seconds(10)),
      ("a longer lifetime by the server", Rule(server: lifetime(1000)), .seconds(1000)),
      ("a lifetime of zero by the server", Rule(server: lifetime(0)), .zero),
      ("its own lifetime before the server's", Rule(own: .seconds(50), server: lifetime(10)), .seconds(50)),
      ("age alone, whatever the server says", Rule(server: lifetime(1, mustRevalidate: true), rule: .age), .seconds(100)),
      ("no-cache at once", Rule(server: lifetime(10, mustRevalidate: true)), .zero),
      ("no-cache, whatever its own lifetime", Rule(own: .seconds(10), server: lifetime(10, mustRevalidate: true)), .zero),
      ("the maximum age less minFresh", Rule(rule: .age, minFresh: .seconds(30)), .seconds(70)),
      ("the server's lifetime less minFresh", Rule(server: lifetime(100), minFresh: .seconds(30)), .seconds(70)),
    ] as [(String, Rule, Duration?)]
  )
  func `an entry expires by`(name: String, rule: Rule, expiry: Duration?) throws {
    let (maxAge, minFresh) = (rule.maxAge, rule.minFresh)
    let cache = try makeCache(directory, maxAge: maxAge, freshness: rule.rule, minFresh: minFresh, clock: clock)
    try cache.put("a", body(10), lifetime: rule.own, freshness: rule.server)
    let head = try #require(try cache.head("a"))
    #expect(head.lifetime == rule.own && head.freshness == rule.server, "the record keeps both under any rule")
    #expect(cache.expiry.end(of: head) == expiry.map { head.storedAt.advanced(by: $0 + minFresh) })
    guard let expiry else {
      clock.advance(by: .seconds(1000 * 365 * 86_400))
      #expect(try cache.isFresh("a") && cache.freshUntil() == nil)
      return
    }
    clock.advance(by: expiry - .milliseconds(1))
    #expect(try cache.isFresh("a") == (expiry > .zero), "with a lifetime of zero, not even if the clock was set back")
    clock.advance(by: .milliseconds(1))
    #expect(try !cache.isFresh("a"))
    #expect(try cache.head("a") == head, "expired entries aren't missing")
    if rule.server.mustRevalidate { #expect(!cache.expiry.isUsableWhileRevalidating(head, at: clock.source.wall())) }
    if minFresh > .zero { #expect(try cache.trim() == TrimResult(), "it isn't removed before it has expired") }
  }

  @Test func `caches over one folder keep their own rules`() throws {
    let strict = try makeCache(directory, maxAge: .seconds(1), clock: clock)
    let lax = try makeCache(directory, maxAge: nil, clock: clock)
    try strict.put("a", body(10))
    clock.advance(by: .seconds(1))
    #expect(try !strict.isFresh("a") && lax.isFresh("a"))
  }

  @Test func `expiry by access keeps requested entries and renews their access time at most hourly`() throws {
    let cache = try makeCache(directory, maxAge: .seconds(4 * 3600), expireBy: .access, clock: clock)
    let start = clock.source.wall()
    try cache.put("asked", body(10))
    try cache.put("idle", body(10))
    clock.advance(by: .seconds(3599))
    try cache.touch("asked")
    #expect(try cache.head("asked")?.accessedAt == start)
    clock.advance(by: .seconds(1))
    let head = try #require(try cache.head("asked"))
    #expect(try cache.read { reader in reader.needsTouch(head) })
    try cache.touch("asked")
    #expect(try cache.head("asked")?.accessedAt == start.advanced(by: .seconds(3600)))
    #expect(try cache.head("asked")?.storedAt == start)

    clock.advance(by: .seconds(3 * 3600))
    #expect(try cache.isFresh("asked"))
    #expect(try !cache.isFresh("idle"))
    #expect(try cache.trim().expired == 1)
    #expect(try cache.present(["asked", "idle"]) == ["asked"])
  }

  @Test func `a cache filled by modification can be trimmed by access`() throws {
    let filled = try makeCache(directory, clock: clock)
    for name in ["a", "b", "c"] {
      try filled.put(name, body(1000))
      clock.advance(by: .seconds(3600))
    }
    let cache = try makeCache(directory, maxBodyBytes: 2000, trimTo: 0.5, expireBy: .access, clock: clock)
    try cache.touch("a")
    // From now on the first cache, which expires by modification, maintains the access order too.
    try filled.put("d", body(1000))
    clock.advance(by: .seconds(3600))
    try cache.touch("a")
    #expect(try cache.trim().trimmed == 3)
    #expect(try cache.present(["a", "b", "c", "d"]) == ["a"])
  }

  @Test func `fresh-until is the time when the oldest entry expires`() throws {
    let cache = try makeCache(directory, maxAge: .seconds(100), clock: clock)
    #expect(try cache.freshUntil() == nil)
    let start = clock.source.wall()
    try cache.put("a", body(10))
    clock.advance(by: .seconds(50))
    try cache.put("b", body(10))
    #expect(try cache.freshUntil() == start.advanced(by: .seconds(100)))
    try cache.put("a", body(10))
    #expect(try cache.freshUntil() == start.advanced(by: .seconds(150)))
  }
}
