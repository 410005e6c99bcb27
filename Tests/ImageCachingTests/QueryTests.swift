import Dispatch
import Glibc
import ImageCaching
import Base
import Synchronization
import TestSupport
import Testing

/// Counts the transactions of a cache, each of which reads the time.
final class TransactionCounter: Sendable {
  private let counted = Mutex(0)
  var count: Int { counted.withLock { $0 } }

  var source: TimeSource {
    TimeSource(
      monotonic: TimeSource.system.monotonic,
      wall: {
        self.counted.withLock { $0 += 1 }
        return TimeSource.system.wall()
      }
    )
  }
}

/// Queries whose only thread is blocked until released.
struct BlockedQueries {
  let queries = CacheQueries(threads: 1)
  private let gate = DispatchSemaphore(value: 0)

  /// Returns when the thread is blocked.
  func hold() async {
    let (started, continuation) = AsyncStream.makeStream(of: Void.self)
    Task { [queries, gate] in
      try await queries.perform(cancelled: CacheError.cancelled) { () throws(CacheError) in
        continuation.finish()
        gate.wait()
      }
    }
    for await _ in started {}
  }

  func release() { gate.signal() }
}

@Suite struct QueryTests {
  let directory = TemporaryDirectory()
  private let a = Array("https://a/1.png".utf8)

  @Test func `a query cancelled before it starts reads nothing`() async throws {
    let counter = TransactionCounter()
    let cache = try ImageCache(ImageCache.Configuration(directory: directory.path, time: counter.source))
    try cache.storeData(body(10), identity: a, url: a)
    _ = try cache.data(forIdentity: a)
    let cost = counter.count
    _ = try cache.data(forIdentity: a)
    let before = counter.count
    let held = BlockedQueries()
    await held.hold()
    let asked = AsyncImageCache(cache, on: held.queries)
    let queries = (0..<3).map { _ in Task { [a] in try await asked.data(forIdentity: a) } }
    for query in queries { query.cancel() }
    for query in queries { await #expect(throws: CacheError.cancelled) { try await query.value } }
    #expect(counter.count == before)

    held.release()
    #expect(try await asked.data(forIdentity: a)?.bytes == body(10), "the next one follows all of them")
    #expect(counter.count == before + (before - cost))
  }

  @Test func `a cancelled task sends no query`() async throws {
    let counter = TransactionCounter()
    let cache = try ImageCache(ImageCache.Configuration(directory: directory.path, time: counter.source))
    let before = counter.count
    let (go, continuation) = AsyncStream.makeStream(of: Void.self)
    let query = Task { [a] in
      for await _ in go {}
      return try await cache.asynchronous.storeData([1], identity: a, url: "https://a/1")
    }
    query.cancel()
    continuation.finish()
    await #expect(throws: CacheError.cancelled) { try await query.value }
    #expect(counter.count == before)
  }

  @Test func `every call has both forms with the same effect`() async throws {
    let clock = ManualClock()
    let cache = try makeCache(directory, maxAge: .seconds(10), maxBodyBytes: 100, clock: clock)
    let asked = cache.asynchronous
    let b = Array("https://a/2.png".utf8)
    try cache.storeData(body(10), identity: a, url: a)
    try await asked.storeData(body(20), identity: b, url: "https://b/1")
    #expect(try cache.data(forIdentity: b) == (try await asked.data(forIdentity: b)))
    #expect(try cache.contains(identity: a))
    #expect(try await asked.contains(identity: a))
    #expect(try await asked.totals() == (try cache.totals()))
    #expect(try await asked.totals().bodyBytes == 30)
    #expect(try await asked.diskBytes() == (try cache.diskBytes()))
    #expect(try await asked.verify().entries == 2)
    #expect(try await asked.export(to: directory.file("out"), layout: .urlPath).exported == 2)
    #expect(try await makeCache(directory, namespace: "copy").asynchronous.importEntries(from: cache).imported == 2)
    #expect(try await asked.remove(identity: a))
    #expect(try cache.remove(identity: a) == false)
    clock.advance(by: .seconds(10))
    #expect(try await asked.data(forIdentity: b)?.isExpired == true)
    #expect(try await asked.contains(identity: b) == false)
    #expect(try await asked.trim().expired == 1)
    try await asked.compact()
    #expect(try await asked.clearBlacklist() == 0)
    #expect(try await asked.removeFromBlacklist(identity: a) == false)
    #expect(try await asked.clear().entries == 0)
    #expect(try await asked.perform { cache throws(CacheError) in try cache.entries(after: nil, limit: 1) } == [])
  }

  @Test func `both forms throw the call's error`() async throws {
    _ = try makeCache(directory)
    let cache = try makeCache(directory, access: .readOnly)
    await #expect(throws: CacheError.readOnly(path: cache.path)) {
      try await cache.asynchronous.storeData([1], identity: a, url: "https://a/1")
    }
  }

  @Test(arguments: [0, 10, 262_144, 262_145, 300_000])
  func `bytes are stored unchanged, with their metadata`(size: Int) throws {
    let cache = try makeCache(directory)
    let bytes = Array(body(size))
    try cache.storeData(
      bytes,
      identity: a,
      url: Array("https://a/1.png#x".utf8),
      contentType: "image/gif",
      validators: Validators(etag: "\"x\""),
      freshness: Freshness(lifetime: .seconds(5)),
      lifetime: .seconds(20)
    )
    let data = try #require(try cache.data(forIdentity: a))
    #expect(data.bytes == bytes && !data.isExpired)
    #expect(data.head.freshness == Freshness(lifetime: .seconds(5)) && data.head.lifetime == .seconds(20))
    let record = try #require(try cache.entries(after: nil, limit: 1).first)
    #expect(record.shownURL == Array("https://a/1.png#x".utf8) && record.identity == a && record.etag == "\"x\"")
    #expect(record.contentType == "image/gif")
  }

  @Test(
    arguments: [
      ("GIF89a", nil, ContentTypeMatch.absent), ("GIF89a", "image/gif", .exact), ("x", nil, .absent),
      ("x", "image/gif", .mismatch),
    ]
  )
  func `the format is sniffed, and nothing counts as verified`(bytes: String, type: String?, match: ContentTypeMatch) throws {
    let cache = try makeCache(directory)
    try cache.storeData(Array(bytes.utf8), identity: a, url: a, contentType: type)
    let head = try #require(try cache.data(forIdentity: a)).head
    #expect(head.image == ImageProperties(format: bytes == "x" ? nil : .gif, frames: 0))
    #expect(head.proof == .none && head.contentTypeMatch == match)
  }

  @Test func `a query renews the access time at most hourly`() throws {
    let clock = ManualClock()
    let cache = try makeCache(directory, maxAge: .seconds(7200), expireBy: .access, clock: clock)
    try cache.storeData([1], identity: a, url: a)
    clock.advance(by: .seconds(3600))
    #expect(try cache.data(forIdentity: a)?.isExpired == false)
    clock.advance(by: .seconds(7199))
    #expect(try cache.contains(identity: a))
    clock.advance(by: .seconds(1))
    #expect(try !cache.contains(identity: a))
  }

  @Test func `an existence check doesn't read the body`() throws {
    let cache = try makeCache(directory)
    try cache.storeData(body(400_000), identity: a, url: a)
    for blob in blobs(directory) { unlink(directory.file("default/blobs/\(blob)")) }
    #expect(try cache.contains(identity: a))
  }

  @Test(arguments: [ImageCache.Access.readOnly, .readWrite])
  func `a damaged image is a miss and is removed if the cache is writable`(access: ImageCache.Access) throws {
    try makeCache(directory).storeData(body(400_000), identity: a, url: a)
    directory.damageBlob()
    let cache = try makeCache(directory, access: access)
    #expect(try cache.data(forIdentity: a) == nil)
    #expect(try cache.contains(identity: a) == (access == .readOnly))
  }
}
