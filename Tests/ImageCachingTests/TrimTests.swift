import ImageCaching
import Base
import TestSupport
import Testing

@Suite struct TrimTests {
  let directory = TemporaryDirectory()
  let clock = ManualClock()

  /// Stores bodies of the same size, one second apart.
  func fill(_ cache: ImageCache, _ names: [String], size: Int) throws {
    for name in names {
      try cache.put(name, body(size))
      clock.advance(by: .seconds(1))
    }
  }

  /// Entries of one size, stored a second apart or later, and what a trim leaves of them.
  struct Case {
    var maxAge: Duration?
    var maxBodyBytes: Int?
    var trimTo = 0.5
    let size: Int
    /// The seconds at which entries are stored: a, b, and so on.
    let stored: [Int]
    var trimmed = 0
    var expired = 0
    let left: String
  }

  @Test(
    arguments: [
      (
        "the limit leaves half of it",
        Case(maxBodyBytes: 3_000_000, size: 1_000_000, stored: [0, 1, 2, 3], trimmed: 3, left: "d")
      ),
      ("at the limit nothing goes", Case(maxBodyBytes: 40_000, size: 10_000, stored: [0, 1, 2, 3], left: "abcd")),
      (
        "the rest may equal the target",
        Case(maxBodyBytes: 40_000, size: 10_000, stored: [0, 1, 2, 3, 4], trimmed: 3, left: "de")
      ),
      ("so it is with blobs", Case(maxBodyBytes: 1_600_000, size: 400_000, stored: [0, 1, 2, 3, 4], trimmed: 3, left: "de")),
      ("without limits nothing goes", Case(size: 1_000_000, stored: [0, 1], left: "ab")),
      (
        "expired entries go first and may suffice",
        Case(
          maxAge: .seconds(100),
          maxBodyBytes: 3000,
          trimTo: 1,
          size: 1000,
          stored: [0, 1, 100, 101, 102],
          expired: 2,
          left: "cde"
        )
      ),
      (
        "without a size limit only expired entries go",
        Case(maxAge: .seconds(10), size: 10, stored: [0, 3, 9], expired: 1, left: "bc")
      ),
    ]
  )
  func `a trim removes the oldest`(name: String, row: Case) throws {
    let cache = try makeCache(directory, maxAge: row.maxAge, maxBodyBytes: row.maxBodyBytes, trimTo: row.trimTo, clock: clock)
    var now = 0
    for (entry, second) in zip("abcde", row.stored) {
      clock.advance(by: .seconds(second - now))
      now = second
      try cache.put("\(entry)", body(row.size))
    }
    clock.advance(by: .seconds(1))
    let result = try cache.trim()
    #expect(result.trimmed == row.trimmed && result.expired == row.expired && result.evictedProtected == 0)
    #expect(result.bytesRemoved == (row.trimmed + row.expired) * row.size)
    #expect(try cache.present("abcde".map { "\($0)" }).joined() == row.left)
    #expect(blobs(directory).count == (row.size > ImageCache.maximumInlineBytes ? row.left.count : 0))
  }

  @Test func `all expired entries are evicted first, by any lifetime`() throws {
    let cache = try makeCache(directory, maxAge: nil, maxBodyBytes: 3000, trimTo: 0.5, freshness: .http, clock: clock)
    try fill(cache, ["old"], size: 1000)
    try cache.put("own", body(1000), lifetime: .seconds(10))
    try cache.put("server", body(1000), freshness: Freshness(lifetime: .seconds(10)))
    try cache.put("each", body(1000), freshness: Freshness(mustRevalidate: true))
    clock.advance(by: .seconds(10))
    let start = clock.source.wall()
    try cache.put("new", body(1000), freshness: Freshness(mustRevalidate: true))
    // In a run too, except for the entries that the run has stored.
    let result = try cache.trim(protecting: start)
    #expect(result.expired == 3 && result.trimmed == 0)
    #expect(try cache.present(["old", "own", "server", "each", "new"]) == ["old", "new"])
  }

  @Test func `if there is room, a run's trim keeps entries for revalidation, and a requested trim removes all expired ones`()
    throws
  {
    let cache = try makeCache(directory, maxAge: .seconds(100), freshness: .http, clock: clock)
    try cache.put("server", body(10), freshness: Freshness(lifetime: .seconds(10)))
    clock.advance(by: .seconds(10))
    #expect(try cache.trim(protecting: clock.source.wall()).expired == 0)
    #expect(try cache.trim().expired == 1)
  }

  @Test func `a run's trim counts ages up to the run's start`() throws {
    let cache = try makeCache(directory, maxAge: .seconds(100), blacklistTTL: .seconds(100), clock: clock)
    try cache.put("a", body(10))
    try cache.blacklist("bad")
    clock.advance(by: .seconds(99))
    let start = clock.source.wall()
    clock.advance(by: .seconds(50))
    #expect(try cache.trim(protecting: start, ageEnd: start) == TrimResult())
    #expect(try cache.totals().blacklistEntries == 1)
    #expect(try cache.trim(protecting: start).expired == 1)
    #expect(try cache.totals().blacklistEntries == 0)
  }

  @Test(arguments: [ExpiryBasis.modification, .access])
  func `this run's entries are evicted last and counted`(basis: ExpiryBasis) throws {
    let cache = try makeCache(directory, maxBodyBytes: 2000, trimTo: 0.5, expireBy: basis, clock: clock)
    try fill(cache, ["a", "b"], size: 1000)
    clock.advance(by: .seconds(3600))
    let start = clock.source.wall()
    try fill(cache, ["c", "d"], size: 1000)
    // By access these are newer than the run's entries, but are still evicted before them.
    for name in ["a", "b"] { try cache.touch(name) }
    let result = try cache.trim(protecting: start)
    #expect(result.trimmed == 3 && result.evictedProtected == 1)
    #expect(try cache.present(["a", "b", "c", "d"]) == ["d"])
  }

  @Test func `entries that this run found in the cache are evicted last, too, and counted`() throws {
    let cache = try makeCache(directory, maxBodyBytes: 2000, trimTo: 0.5, clock: clock)
    try fill(cache, ["a", "b", "c", "d"], size: 1000)
    clock.advance(by: .seconds(3600))
    let used = UsedEntries()
    used.insert(try ["a", "b"].map { try #require(try cache.head($0)).revision })
    let result = try cache.trim(protecting: clock.source.wall(), used: used, ageEnd: nil)
    #expect(result.trimmed == 3 && result.evictedProtected == 1)
    #expect(try cache.present(["a", "b", "c", "d"]) == ["b"])
  }

  @Test func `after an outage expired entries are kept if there is room`() throws {
    let cache = try makeCache(directory, maxAge: .seconds(10), maxBodyBytes: 2000, clock: clock)
    try fill(cache, ["a", "b"], size: 1000)
    clock.advance(by: .seconds(11))
    let start = clock.source.wall()
    #expect(try cache.trim(protecting: start, keepsExpired: true, ageEnd: start) == TrimResult())
    try cache.put("c", body(1000))
    #expect(try cache.trim(protecting: start, keepsExpired: true, ageEnd: start).expired == 2)
    #expect(try cache.present(["a", "b", "c"]) == ["c"])
  }

  @Test func `many entries are evicted in several transactions, and nothing is left behind`() throws {
    let cache = try makeCache(directory, maxBodyBytes: 100_000, trimTo: 0.1, clock: clock)
    for batch in 0..<5 {
      try cache.write { (writer) throws(CacheError) in
        for number in 0..<600 { try writer.put("\(batch)/\(number)", body(100)) }
      }
      clock.advance(by: .seconds(1))
    }
    #expect(try cache.trim().trimmed == 2900)
    #expect(try cache.totals().entries == 100)
    #expect(try cache.totals().bodyBytes == 10_000)
    #expect(try cache.counted() == (100, 10_000))
    #expect(try cache.present(["0/1", "3/1"]) == [])
  }

  @Test func `others write between the steps of a trim, and one that ends early leaves a consistent cache`() throws {
    let cache = try makeCache(directory, maxBodyBytes: 10_000, trimTo: 1, clock: clock)
    try cache.write { (writer) throws(CacheError) in
      for number in 0..<3000 { try writer.put("\(number)", body(100)) }
    }
    clock.advance(by: .seconds(1))
    let steps = Watched<[Int]>([])
    try cache.trim(protecting: nil, ageEnd: nil) { removed in
      let number = steps.withLock { steps in
        steps.append(removed.trimmed)
        return steps.count
      }
      do { try cache.put("new \(number)", body(100)) } catch { Issue.record("\(error)") }
      return steps.value.reduce(0, +) < 1500
    }
    let removed = steps.value.reduce(0, +)
    #expect((1500..<2900).contains(removed) && steps.value.allSatisfy { $0 <= 1024 } && steps.value.filter { $0 > 0 }.count > 1)
    let totals = try cache.totals()
    #expect(totals.entries == 3000 - removed + steps.value.count)
    #expect(try cache.counted() == (totals.entries, totals.bodyBytes))
    try cache.trim()
    #expect(try cache.totals().entries == 100)
    #expect(try cache.isFresh("new 1"), "the newest stay")
  }

  @Test func `room is made by the oldest entries of other runs, and by old ones only without a limit`() throws {
    let cache = try makeCache(directory, maxAge: .seconds(100), maxBodyBytes: 1 << 30, clock: clock)
    try fill(cache, ["a", "b", "c"], size: 1000)
    let start = clock.source.wall()
    try fill(cache, ["d"], size: 1000)
    #expect(try cache.makeRoom(1500, protecting: start, used: nil).trimmed == 2)
    #expect(try cache.makeRoom(1 << 20, protecting: start, used: nil).trimmed == 1)
    #expect(try cache.present(["a", "b", "c", "d"]) == ["d"])
    let unlimited = try makeCache(directory, namespace: "other", maxAge: .seconds(100), clock: clock)
    try fill(unlimited, ["a"], size: 1000)
    #expect(try unlimited.makeRoom(1500, protecting: nil, used: nil) == TrimResult())
    clock.advance(by: .seconds(100))
    #expect(try unlimited.makeRoom(1500, protecting: nil, used: nil).expired == 1)
  }

  @Test func `exceeding the limit by a fraction is detected without a trim`() throws {
    let cache = try makeCache(directory, maxBodyBytes: 1000, clock: clock)
    try cache.put("a", body(1000))
    #expect(try !cache.exceedsMaxSize(bySlack: 0))
    try cache.put("b", body(100))
    #expect(try cache.exceedsMaxSize(bySlack: 0))
    #expect(try !cache.exceedsMaxSize(bySlack: 0.1))
    try cache.put("c", body(1))
    #expect(try cache.exceedsMaxSize(bySlack: 0.1))
    #expect(try !makeCache(directory, clock: clock).exceedsMaxSize(bySlack: 0.1))
  }

  @Test func `totals equal the sum of the records after any mix of changes`() throws {
    let cache = try makeCache(directory, maxBodyBytes: 3_000_000, clock: clock)
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<120 {
      let name = "\(Int.random(in: 0..<15, using: &generator))"
      let size = [10, 9000, ImageCache.maximumInlineBytes, 300_000].randomElement(using: &generator)!
      switch Int.random(in: 0..<10, using: &generator) {
      case 0: _ = try cache.remove(name)
      case 1: try cache.trim()
      default: try cache.put(name, body(size))
      }
      clock.advance(by: .seconds(1))
    }
    let totals = try cache.totals()
    #expect(try cache.counted() == (totals.entries, totals.bodyBytes))
    let large = try cache.entries(after: nil, limit: 100).filter(\.head.isBlob).count
    #expect(blobs(directory).count == large)
    #expect(try makeCache(directory).totals() == totals)
  }
}
