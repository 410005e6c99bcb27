import ImageCaching
@testable import ImageManaging
import Base
import TestOrigin
import TestSupport
import Testing

/// The reference times of ages: in runs from start to start, in single loads the moment.
@Suite struct RunAgeTests {
  private static let day = Duration.seconds(86_400)
  /// The cache's own maximum age, and how long it keeps a URL on the blacklist.
  private static let (maxAge, ttl) = (day * 7, Duration.seconds(6 * 3600))

  private let loader = Loader.plain()
  private var origin: Origin { loader.origin }

  init() {
    origin.set("/a", Album.versioned(SampleImages.jpeg(1), etag: "\"1\""))
    origin.set("/gone", .status(404))
  }

  /// The context of a run that begins now.
  private func run(_ loader: Loader) -> LoadContext { loader.context(LoadOptions(run: LoadOptions.Run())) }

  @Test func `max-age and the blacklist's time count from the start of one run to the start of another, however long they take`()
    async throws
  {
    let first = run(loader)
    loader.clock.advance(by: .seconds(400))
    #expect(try await loader.load(origin.url("/a"), first).outcome == .downloaded)
    #expect(try await loader.load(origin.url("/gone"), first).outcome == .failed)
    loader.clock.advance(by: Self.ttl - .seconds(400 + 61))
    #expect(try await loader.load(origin.url("/gone"), run(loader)).outcome == .blacklisted)
    loader.clock.advance(by: .seconds(61))
    let second = run(loader)
    loader.clock.advance(by: .seconds(300))
    #expect(try await loader.load(origin.url("/gone"), second).outcome == .failed)
    loader.clock.advance(by: Self.maxAge - Self.ttl - .seconds(300 + 61))
    #expect(try await loader.load(origin.url("/a"), run(loader)).outcome == .hitDisk)
    loader.clock.advance(by: .seconds(61))
    #expect(try await loader.load(origin.url("/a"), run(loader)).outcome == .revalidated)
    #expect(try await loader.load(origin.url("/a"), run(loader)).outcome == .hitDisk)
  }

  @Test func `a run that starts up to a minute earlier than the last one requests what is due`() async throws {
    let first = run(loader)
    for path in ["/a", "/gone"] { _ = try await loader.load(origin.url(path), first) }
    loader.clock.advance(by: Self.ttl - .seconds(60))
    #expect(try await loader.load(origin.url("/gone"), run(loader)).outcome == .failed)
    loader.clock.advance(by: Self.maxAge - Self.ttl)
    #expect(try await loader.load(origin.url("/a"), run(loader)).outcome == .revalidated)
  }

  @Test func `an image stored by a run is fresh for that run, however long it takes, and expires for others`() async throws {
    let long = run(loader)
    for path in ["/a", "/gone"] { _ = try await loader.load(origin.url(path), long) }
    loader.clock.advance(by: Self.maxAge * 2)
    #expect(try await loader.load(origin.url("/a"), long).outcome == .hitDisk)
    #expect(try await loader.load(origin.url("/gone"), long).outcome == .blacklisted)
    #expect(try loader.cache.trim(protecting: long.startedAt, ageEnd: long.runStart) == TrimResult())
    #expect(try await loader.load(origin.url("/a")).outcome == .revalidated)
  }

  @Test func `the server's freshness counts from its response, whenever the run began`() async throws {
    let loader = try Loader(freshness: .http)
    let origin = loader.origin
    origin.set("/a", Album.versioned(SampleImages.jpeg(1), etag: "\"1\"", headers: ["Cache-Control": "max-age=3600"]))
    let first = run(loader)
    loader.clock.advance(by: .seconds(400))
    #expect(try await loader.load(origin.url("/a"), first).outcome == .downloaded)
    loader.clock.advance(by: .seconds(3599))
    let second = run(loader)
    #expect(try await loader.load(origin.url("/a"), second).outcome == .hitDisk)
    loader.clock.advance(by: .seconds(1))
    #expect(try await loader.load(origin.url("/a"), second).outcome == .revalidated)
  }

  @Test func `a load outside of runs counts ages to the moment`() async throws {
    let context = loader.context()
    loader.clock.advance(by: .seconds(400))
    for path in ["/a", "/gone"] { _ = try await loader.load(origin.url(path), context) }
    loader.clock.advance(by: Self.ttl - .milliseconds(1))
    #expect(try await loader.load(origin.url("/gone"), context).outcome == .blacklisted)
    loader.clock.advance(by: .milliseconds(1))
    #expect(try await loader.load(origin.url("/gone"), context).outcome == .failed)
    loader.clock.advance(by: Self.maxAge - Self.ttl - .milliseconds(1))
    #expect(try await loader.load(origin.url("/a"), context).outcome == .hitDisk)
    loader.clock.advance(by: .milliseconds(1))
    #expect(try await loader.load(origin.url("/a"), context).outcome == .revalidated)
  }
}

/// Images that have expired by the cache's own age rule.
@Suite struct ExpiredEntryTests {
  private let loader = Loader.plain()
  private var origin: Origin { loader.origin }

  init() { origin.set("/a", Album.versioned(SampleImages.jpeg(1), etag: "\"1\"")) }

  @Test func `without permission to download, an expired image is a miss`() async throws {
    _ = try await loader.load(origin.url("/a"))
    loader.clock.advance(by: .seconds(8 * 86_400))
    let hooks = LoadHooks(shouldDownload: { _ in false })
    #expect(try await loader.load(origin.url("/a"), loader.context(LoadOptions(hooks: hooks))).outcome == .skipped)
  }

  @Test func `a fresh copy of a read-only cache takes precedence over revalidating the own expired one`() async throws {
    _ = try await loader.load(origin.url("/a"))
    loader.clock.advance(by: .seconds(8 * 86_400))
    let other = try Loader()
    _ = try await other.load(origin.url("/a"))
    let context = loader.context(LoadOptions(readOnly: [ReadOnlyCache(other.cache)]))
    #expect(try await loader.load(origin.url("/a"), context).outcome == .hitDisk)
    #expect(origin.requests.count == 2)
  }

  @Test func `the first of several read-only caches that has an image serves it`() async throws {
    let (loader, one, two, origin) = (try Loader(), try Loader(), try Loader(), try Origin())
    for (number, filled) in [one, two].enumerated() {
      origin.set("/a", Album.versioned(SampleImages.jpeg(number), etag: "\"\(number)\""))
      _ = try await filled.load(origin.url("/a"))
    }
    for stores in [[one, two], [two, one]] {
      let context = loader.context(LoadOptions(readOnly: stores.map { ReadOnlyCache($0.cache) }))
      let result = try await loader.load(origin.url("/a"), context)
      #expect(try result.outcome == .hitDisk && result.checksum == stores[0].cache.entries(limit: 1).first?.checksum)
    }
    #expect(try loader.cache.totals().entries == 0 && origin.requests.count == 2)
  }
}
