import Base
import TestSupport
import Testing

@testable import ImageCaching

@Suite struct TouchTests {
  let directory = TemporaryDirectory()
  let clock = ManualClock()
  let names = (0..<20_000).map { "https://h/\($0).jpg" }

  private func filledCache(maxBodyBytes: Int? = nil) throws -> ImageCache {
    let cache = try makeCache(directory, maxAge: .seconds(86_400), maxBodyBytes: maxBodyBytes, expireBy: .access, clock: clock)
    for start in stride(from: 0, to: names.count, by: 1000) {
      try cache.write { (writer) throws(CacheError) in
        for name in names[start..<start + 1000] { try writer.put(name, body(10)) }
      }
      clock.advance(by: .milliseconds(7))
    }
    return cache
  }

  private func touch(_ name: String, in cache: ImageCache) throws -> EntryTouch {
    EntryTouch(identity(name).key, try #require(try cache.head(name)))
  }

  /// The rows of `by-access` in order, which must match the records.
  private func accessRows(_ cache: ImageCache) throws -> [Timestamp] {
    try cache.environment.read { (transaction) throws(CacheError) in
      let tables = transaction.tables
      var rows: [Timestamp] = []
      var wrong = 0
      var expected = 0
      try transaction.forEach(in: tables.byAccess) { (bytes, _) throws(CacheError) in
        guard let row = TimeKey(stored: bytes) else { return true }
        rows.append(row.time)
        if try transaction.entry(row.key)?.accessedAt != row.time { wrong += 1 }
        return true
      }
      try transaction.forEach(in: tables.entries) { (_, _) throws(CacheError) in
        expected += 1
        return true
      }
      #expect(wrong == 0 && rows.count == expected)
      return rows
    }
  }

  @Test func `pending access times are written in one transaction, whatever their order`() throws {
    let cache = try filledCache()
    clock.advance(by: .seconds(3600))
    var asked: Set<String> = []
    for (index, name) in names.enumerated() where index % 3 != 0 { asked.insert(name) }
    let touches = try asked.shuffled().map { try touch($0, in: cache) }
    #expect(cache.note(Array(touches[..<500])) == 500)
    #expect(cache.note(Array(touches[500...])) == touches.count)
    // Adding the same twice has no further effect.
    _ = cache.note(Array(touches[..<500]))
    let now = clock.source.wall()
    #expect(try accessRows(cache).allSatisfy { $0 < now }, "nothing has been written yet")
    try cache.writeTouches()
    #expect(try accessRows(cache).count { $0 == now } == asked.count)
    for name in [names[0], names[1], names[2], names[3]] {
      #expect(try cache.head(name)?.accessedAt == now || !asked.contains(name))
    }
    #expect(try cache.cachedBody(names[1]) == .bytes(body(10)))

    // Again, when all have the same time, and in the presence of later rows.
    clock.advance(by: .seconds(3600))
    let later = try makeCache(
      directory,
      expireBy: .access,
      clock: ManualClock(start: clock.source.wall().advanced(by: .seconds(60)))
    )
    try later.put("later", body(10))
    _ = cache.note(try names.map { try touch($0, in: cache) })
    try cache.writeTouches()
    let second = clock.source.wall()
    #expect(try accessRows(cache).count { $0 == second } == names.count)
    #expect(try cache.totals().entries == names.count + 1)
  }

  @Test func `an entry replaced or removed since its request gets no access time`() throws {
    let cache = try makeCache(directory, expireBy: .access, clock: clock)
    for name in ["replaced", "removed", "kept"] { try cache.put(name, body(10)) }
    let touches = try ["replaced", "removed", "kept"].map { try touch($0, in: cache) }
    // The writer's clock is behind, so that its record would be old enough.
    try cache.put("replaced", body(20, seed: 2))
    #expect(try cache.remove("removed"))
    let before = try cache.head("replaced")
    clock.advance(by: .seconds(3600))
    _ = cache.note(touches)
    try cache.writeTouches()
    #expect(try cache.head("replaced") == before)
    #expect(try cache.head("removed") == nil)
    #expect(try cache.head("kept")?.accessedAt == clock.source.wall())
    #expect(try accessRows(cache).count == 2)
  }

  @Test func `a trim counts pending access times`() throws {
    let cache = try makeCache(directory, maxBodyBytes: 2000, expireBy: .access, clock: clock)
    for name in ["asked", "idle", "third"] {
      try cache.put(name, body(1000))
      clock.advance(by: .seconds(1))
    }
    clock.advance(by: .seconds(3600))
    _ = cache.note([try touch("asked", in: cache)])
    #expect(try cache.trim().trimmed == 2)
    #expect(try cache.present(["asked", "idle", "third"]) == ["asked"])
  }

  @Test func `a record of many pages gets its access time too`() throws {
    let cache = try makeCache(directory, expireBy: .access, clock: clock)
    let long = "https://h/" + String(repeating: "x", count: 9000)
    for name in ["https://h/a", long, "https://h/b"] { try cache.put(name, body(10)) }
    clock.advance(by: .seconds(3600))
    _ = cache.note(try [long, "https://h/a"].map { try touch($0, in: cache) })
    try cache.writeTouches()
    #expect(try cache.head(long)?.accessedAt == clock.source.wall())
    #expect(try cache.cachedBody(long) == .bytes(body(10)))
    #expect(try accessRows(cache).count == 3)
  }
}
