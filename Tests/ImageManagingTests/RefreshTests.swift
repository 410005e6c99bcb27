import ImageCaching
import ImageCoding
@testable import ImageManaging
import Base
import TestOrigin
import TestSupport
import Testing

/// Conditional requests and HTTP freshness, with the manager and a server that supports both.
@Suite struct RefreshTests {
  private func loader(_ freshness: FreshnessRule = .http, minFresh: Duration = .zero) throws -> (Loader, Origin) {
    (try Loader(freshness: freshness, minFresh: minFresh), try Origin())
  }

  private func jpeg(_ number: Int, _ headers: HeaderFields) -> Behaviour {
    .body(SampleImages.jpeg(number), type: "image/jpeg", headers: headers)
  }

  @Test func `a refresh is conditional, and a 304 keeps the cached image`() async throws {
    let (loader, origin) = try loader(.age)
    origin.set("/a", Album.versioned(SampleImages.jpeg(1), etag: "\"1\""))
    #expect(try await loader.load(origin.url("/a")).outcome == .downloaded)
    loader.clock.advance(by: .seconds(100))
    let second = try await loader.load(origin.url("/a"), loader.context(mode: .refresh))
    #expect(second.outcome == .revalidated && second.bytes == SampleImages.jpeg(1).count && second.receivedBytes == 0)
    #expect(origin.requests.last?.headers["If-None-Match"] == "\"1\"")
    // From now on its age counts from the revalidation.
    loader.clock.advance(by: .seconds(7 * 86_400 - 50))
    #expect(try await loader.load(origin.url("/a")).outcome == .hitDisk)
  }

  @Test func `a refresh with a new body replaces the cached one`() async throws {
    let (loader, origin) = try loader(.age)
    origin.set("/a", Album.versioned(SampleImages.jpeg(1), etag: "\"1\""))
    _ = try await loader.load(origin.url("/a"))
    origin.set("/a", Album.versioned(SampleImages.jpeg(2), etag: "\"2\""))
    let second = try await loader.load(origin.url("/a"), loader.context(mode: .refresh))
    #expect(second.outcome == .downloaded)
    #expect(try await loader.load(origin.url("/a")).checksum == second.checksum)
    #expect(origin.requests.count == 2)
  }

  @Test func `without a validator a refresh requests the whole body, and with Last-Modified only changes`() async throws {
    let (loader, origin) = try loader(.age)
    let date = "Wed, 21 Oct 2015 07:28:00 GMT"
    origin.set("/plain", jpeg(1, [:]))
    origin.set(
      "/dated",
      .computed { request in
        request.headers["If-Modified-Since"] == date ? .status(304) : self.jpeg(1, ["Last-Modified": date])
      }
    )
    for path in ["/plain", "/dated"] { _ = try await loader.load(origin.url(path)) }
    let refresh = loader.context(mode: .refresh)
    #expect(try await loader.load(origin.url("/plain"), refresh).outcome == .downloaded)
    #expect(try await loader.load(origin.url("/dated"), refresh).outcome == .revalidated)
  }

  @Test func `a failed refresh keeps the cached image`() async throws {
    let (loader, origin) = try loader(.age)
    origin.set("/a", Album.versioned(SampleImages.jpeg(1), etag: "\"1\""))
    _ = try await loader.load(origin.url("/a"))
    origin.set("/a", .status(500))
    #expect(try await loader.load(origin.url("/a"), loader.context(mode: .refresh)).outcome == .failed)
    #expect(try await loader.load(origin.url("/a")).outcome == .hitDisk)
  }

  @Test func `damage is found before a 304 counts, and the body is fetched whole`() async throws {
    let (loader, origin) = try loader(.age)
    let large = SampleImages.jpeg(2, padding: 300_000)
    origin.set("/a", Album.versioned(large, etag: "\"1\""))
    _ = try await loader.load(origin.url("/a"))
    try loader.damageBlob()
    let context = loader.context(LoadOptions(mode: .refresh, verifiesHits: true))
    #expect(try await loader.load(origin.url("/a"), context).outcome == .downloaded)
    #expect(context.warnings.contains { $0.contains("damaged") })
    #expect(origin.requests.map { $0.headers["If-None-Match"] } == [nil, "\"1\"", nil])
  }

  @Test func `the server's max-age overrides the job's max-age`() async throws {
    let (loader, origin) = try loader()
    origin.set("/a", Album.versioned(SampleImages.jpeg(1), etag: "\"1\"", headers: ["Cache-Control": "max-age=60"]))
    let first = try await loader.load(origin.url("/a"))
    #expect(first.freshUntil == loader.clock.source.wall().advanced(by: .seconds(60)))
    loader.clock.advance(by: .seconds(59))
    #expect(try await loader.load(origin.url("/a")).outcome == .hitDisk)
    loader.clock.advance(by: .seconds(1))
    #expect(try await loader.load(origin.url("/a")).outcome == .revalidated)
    #expect(try await loader.load(origin.url("/a")).outcome == .hitDisk)
    #expect(origin.requests.count == 2)
  }

  @Test func `no-cache is revalidated each time and no-store isn't kept; the age rule ignores both`() async throws {
    let (loader, origin) = try loader()
    origin.set("/asked", Album.versioned(SampleImages.jpeg(1), etag: "\"1\"", headers: ["Cache-Control": "no-cache"]))
    origin.set("/unkept", jpeg(2, ["Cache-Control": "no-store, max-age=600"]))
    #expect(try await loader.load(origin.url("/asked")).outcome == .downloaded)
    #expect(try await loader.load(origin.url("/asked")).outcome == .revalidated)
    #expect(try await loader.load(origin.url("/unkept")).outcome == .checked)
    #expect(try await loader.load(origin.url("/unkept")).outcome == .checked)
    #expect(try loader.cache.totals().entries == 1)

    let byAge = try Loader()
    #expect(try await byAge.load(origin.url("/asked")).outcome == .downloaded)
    #expect(try await byAge.load(origin.url("/asked")).outcome == .hitDisk)
    #expect(try await byAge.load(origin.url("/unkept")).outcome == .downloaded)
    #expect(try await byAge.load(origin.url("/unkept")).outcome == .hitDisk)
  }

  @Test func `an immutable image isn't requested while fresh, not even by a refresh`() async throws {
    let (loader, origin) = try loader()
    let headers: HeaderFields = ["Cache-Control": "max-age=60, immutable"]
    origin.set("/a", Album.versioned(SampleImages.jpeg(1), etag: "\"1\"", headers: headers))
    _ = try await loader.load(origin.url("/a"))
    let refresh = loader.context(mode: .refresh)
    #expect(try await loader.load(origin.url("/a"), refresh).outcome == .hitDisk)
    loader.clock.advance(by: .seconds(61))
    #expect(try await loader.load(origin.url("/a"), refresh).outcome == .revalidated)
  }

  @Test func `an image that would expire within min-fresh is requested now`() async throws {
    let (loader, origin) = try loader(minFresh: .seconds(30))
    origin.set("/a", Album.versioned(SampleImages.jpeg(1), etag: "\"1\"", headers: ["Cache-Control": "max-age=60"]))
    _ = try await loader.load(origin.url("/a"))
    loader.clock.advance(by: .seconds(29))
    #expect(try await loader.load(origin.url("/a")).outcome == .hitDisk)
    loader.clock.advance(by: .seconds(2))
    #expect(try await loader.load(origin.url("/a")).outcome == .revalidated)
  }

  @Test func `different values of Vary headers are a miss, and equal ones a hit`() async throws {
    let (loader, origin) = try loader(.age)
    origin.set("/a", jpeg(1, ["Vary": "Accept-Language, Accept"]))
    let german = loader.context(LoadOptions(), headers: [("Accept-Language", "de")])
    let french = loader.context(LoadOptions(), headers: [("accept-language", "fr")])
    #expect(try await loader.load(origin.url("/a"), german).outcome == .downloaded)
    #expect(try await loader.load(origin.url("/a"), german).outcome == .hitDisk)
    #expect(try await loader.load(origin.url("/a"), french).outcome == .downloaded)
    #expect(try await loader.load(origin.url("/a"), french).outcome == .hitDisk)
    #expect(try await loader.load(origin.url("/a")).outcome == .downloaded)
    #expect(origin.requests.count == 3)
  }

  @Test func `Vary: * never matches under HTTP freshness and always under the age rule`() async throws {
    for freshness in [FreshnessRule.http, .age] {
      let (loader, origin) = try loader(freshness)
      origin.set("/a", jpeg(1, ["Vary": "*", "Cache-Control": "max-age=60"]))
      _ = try await loader.load(origin.url("/a"))
      #expect(try await loader.load(origin.url("/a")).outcome == (freshness == .http ? .downloaded : .hitDisk))
    }
  }

  @Test func `in cache-only mode a stale image is neither a hit nor requested`() async throws {
    let (loader, origin) = try loader()
    origin.set("/a", jpeg(1, ["Cache-Control": "max-age=60"]))
    _ = try await loader.load(origin.url("/a"))
    loader.clock.advance(by: .seconds(61))
    #expect(try await loader.load(origin.url("/a"), loader.context(mode: .only)).outcome == .skipped)
    #expect(origin.requests.count == 1)
  }

  @Test func `the cached image is shown first, and a 304 ends the load without another`() async throws {
    let album = try Album()
    album.origin.set("/v.jpg", Album.versioned(SampleImages.jpeg(1), etag: "\"1\""))
    _ = try await album.source("/v.jpg")
    let gate = album.origin.hold("/v.jpg")
    let task = album.manager.load(album.request("/v.jpg", mode: .refresh))
    var events = task.events.makeAsyncIterator()
    guard case .preview(let preview) = await events.next() else {
      Issue.record("the cached image wasn't shown first")
      return
    }
    #expect(preview.source == .memory && preview.image != nil && !task.isFinished)
    gate.open()
    let response = try await task.value
    #expect(response.result.outcome == .revalidated && response.image == preview.image)
    while let event = await events.next() { if case .preview = event { Issue.record("it was shown twice") } }
  }

  @Test func `a new body follows the cached image`() async throws {
    let album = try Album()
    album.origin.set("/v.jpg", Album.versioned(SampleImages.jpeg(1), etag: "\"1\""))
    _ = try await album.source("/v.jpg")
    album.origin.set("/v.jpg", Album.versioned(Fixtures.bytes("images/good/photo.jpg"), etag: "\"2\""))
    let task = album.manager.load(album.request("/v.jpg", mode: .refresh))
    let response = try await task.value
    #expect(response.source == .network && response.image?.header.size.width != 32)
    var previews: [ImageResponse] = []
    for await event in task.events { if case .preview(let preview) = event { previews.append(preview) } }
    #expect(previews.map { $0.image?.header.size.width } == [32])
  }

  @Test func `a stale-while-revalidate image is served at once and renewed in the background`() async throws {
    let album = try Album(freshness: .http)
    let headers: HeaderFields = ["Cache-Control": "max-age=60, stale-while-revalidate=30"]
    album.origin.set("/v.jpg", Album.versioned(SampleImages.jpeg(1), etag: "\"1\"", headers: headers))
    _ = try await album.source("/v.jpg")
    album.clock.advance(by: .seconds(70))
    let gate = album.origin.hold("/v.jpg")
    // Memory applies the lifetime; the disk still has a usable image.
    #expect(try await album.source("/v.jpg") == .disk)
    try await gate.waitForWaiting(1)
    // A refresh shares the revalidation in progress, and the image is fresh afterwards.
    let sure = album.manager.load(album.request("/v.jpg", mode: .refresh))
    gate.open()
    _ = try await sure.value
    album.clock.advance(by: .seconds(59))
    #expect(try await album.source("/v.jpg") == .memory)
    #expect(album.origin.requests.allSatisfy { $0.path == "/v.jpg" } && album.origin.requests.count <= 3)
  }
}
