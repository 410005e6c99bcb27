import ImageCaching
import Base
import TestSupport
import Testing

@Suite struct ExpiryTests {
  let directory = TemporaryDirectory()
  let clock = ManualClock()

  @Test func `an entry expires at the maximum age, by default seven days`() throws {
    let cache = try makeCache(directory, clock: clock)
    try cache.put("a", body(10))
    clock.advance(by: .seconds(7 * 86_400) - .milliseconds(1))
    #expect(try cache.isFresh("a"))
    clock.advance(by: .milliseconds(1))
    #expect(try !cache.isFresh("a"))
    #expect(try cache.head("a") != nil, "expired entries aren't missing")
  }

  @Test func `without a maximum age nothing expires`() throws {
    let cache = try makeCache(directory, maxAge: nil, clock: clock)
    try cache.put("a", body(10))
    clock.advance(by: .seconds(1000 * 365 * 86_400))
    #expect(try cache.isFresh("a"))
    #expect(try cache.freshUntil() == nil)
  }

  @Test func `with a maximum age of zero everything expires at once, even if the clock was set back`() throws {
    let cache = try makeCache(directory, maxAge: .zero, clock: clock)
    try cache.put("a", body(10))
    #expect(try !cache.isFresh("a"))
    clock.advance(by: .seconds(-10))
    #expect(try !cache.isFresh("a"))
  }

  @Test func `an entry's own lifetime overrides the cache's rule`() throws {
    let cache = try makeCache(directory, maxAge: .seconds(100), clock: clock)
    try cache.put("short", body(10), lifetime: .seconds(10))
    try cache.put("long", body(10), lifetime: .seconds(1000))
    #expect(try cache.head("short")?.lifetime == .seconds(10))
    clock.advance(by: .seconds(10))
    #expect(try !cache.isFresh("short"))
    clock.advance(by: .seconds(500))
    #expect(try cache.isFresh("long"))
    #expect(try cache.trim().expired == 1)
    #expect(try cache.present(["short", "long"]) == ["long"])
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
    let cache = try makeCache(directory, maxSize: 2000, trimTo: 0.5, expireBy: .access, clock: clock)
    try cache.touch("a")
    // From now on the first cache, which expires by modification, maintains the access order too.
    try filled.put("d", body(1000))
    clock.advance(by: .seconds(3600))
    try cache.touch("a")
    #expect(try cache.trim().trimmed == 3)
    #expect(try cache.present(["a", "b", "c", "d"]) == ["a"])
  }

  @Test func `caches over one folder keep their own rules`() throws {
    let strict = try makeCache(directory, maxAge: .seconds(1), clock: clock)
    let lax = try makeCache(directory, maxAge: nil, clock: clock)
    try strict.put("a", body(10))
    clock.advance(by: .seconds(1))
    #expect(try !strict.isFresh("a"))
    #expect(try lax.isFresh("a"))
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
