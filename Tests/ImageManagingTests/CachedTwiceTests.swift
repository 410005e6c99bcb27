import ImageCaching
import ImageCoding
import ImageDownloading
import ImageManaging
import Base
import Synchronization
import TestOrigin
import TestSupport
import Testing

/// Images that are cached twice or requested in two ways at once: different ones must not replace each other.
@Suite struct CachedTwiceTests {
  private let album = Album.plain()

  private func speaking(_ language: String, _ album: Album, _ path: String) -> ImageRequest {
    var request = album.request(path)
    request.options.headers = [.init("Accept-Language", language)]
    return request
  }

  @Test func `a fresh image is served during a refresh, even if the refresh fails`() async throws {
    album.origin.set("/v.jpg", .sequence([Album.versioned(SampleImages.jpeg(1), etag: "\"1\""), .status(503)]))
    _ = try await album.source("/v.jpg")
    let gate = album.origin.hold("/v.jpg")
    let refresh = album.manager.load(album.request("/v.jpg", mode: .refresh))
    try await gate.waitForWaiting(1)
    #expect(try await album.source("/v.jpg") == .memory)
    album.memory.removeAll()
    #expect(try await album.source("/v.jpg") == .disk)
    gate.open()
    await #expect(throws: ImageLoadError.self) { try await refresh.value }
  }

  @Test func `a prefetch renews an image that a single load would still serve`() async throws {
    let album = try Album(freshness: .http)
    let headers: HeaderFields = ["Cache-Control": "max-age=60, stale-while-revalidate=300"]
    album.origin.set("/v.jpg", Album.versioned(SampleImages.jpeg(1), etag: "\"1\"", headers: headers))
    var kept = album.request("/v.jpg")
    kept.decoding.policy = .never
    _ = try await album.manager.response(for: kept)
    album.clock.advance(by: .seconds(70))
    #expect(try await album.manager.response(for: kept).result.outcome == .revalidated)
  }

  @Test(arguments: [true, false]) func `memory and transformed images respect Vary as records do`(_ hasMemory: Bool) async throws
  {
    let album = try Album {
      if !hasMemory {
        $0.memory = nil
        $0.transformer = ClosureTransformer(key: "same") { $0 }
        $0.hooks.cacheSerializer = { _, _, data in data ?? SampleImages.png(3) }
      }
    }
    album.origin.set("/v.jpg", .body(SampleImages.jpeg(1), type: "image/jpeg", headers: ["Vary": "Accept-Language"]))
    _ = try await album.manager.response(for: speaking("de", album, "/v.jpg"))
    #expect(try await album.manager.response(for: speaking("de", album, "/v.jpg")).source == (hasMemory ? .memory : .disk))
    #expect(try await album.manager.response(for: speaking("fr", album, "/v.jpg")).source == .network)
  }

  @Test func `images in memory respect Vary after a 304`() async throws {
    album.origin.set("/v.jpg", Album.versioned(SampleImages.jpeg(1), etag: "\"1\"", headers: ["Vary": "Accept-Language"]))
    _ = try await album.manager.response(for: speaking("de", album, "/v.jpg"))
    album.memory.removeAll()
    var refresh = speaking("de", album, "/v.jpg")
    refresh.cachePolicy.mode = .refresh
    #expect(try await album.manager.response(for: refresh).result.outcome == .revalidated)
    #expect(try await album.manager.response(for: speaking("fr", album, "/v.jpg")).source == .network)
  }

  @Test func `an image in memory is judged by the caller's rules, whether or not it is on disk`() async throws {
    let album = try Album(freshness: .http)
    album.origin.set("/v.jpg", .body(SampleImages.jpeg(1), type: "image/jpeg", headers: ["Cache-Control": "max-age=60"]))
    #expect(try await album.source("/v.jpg", mode: .memoryOnly) == .network)
    #expect(try await album.source("/v.jpg", mode: .memoryOnly) == .memory)
    album.clock.advance(by: .seconds(61))
    #expect(try await album.source("/v.jpg", mode: .memoryOnly) == .network)

    let byAge = try Album()
    _ = try await byAge.source("/a.jpg")
    byAge.clock.advance(by: .seconds(3600))
    var request = byAge.request("/a.jpg", mode: .only)
    request.cachePolicy.cache = try ImageCache(
      ImageCache.Configuration(directory: byAge.folder.path, maxAge: .seconds(60), time: byAge.clock.source)
    )
    await #expect(throws: ImageLoadError.notCached) { try await byAge.manager.response(for: request) }
    #expect(try await byAge.source("/a.jpg", mode: .only) == .memory)
  }

  @Test func `a new body on disk evicts the old pixels from memory, whichever load fetched it`() async throws {
    album.origin.set("/v.jpg", Album.versioned(SampleImages.jpeg(1), etag: "\"1\""))
    _ = try await album.source("/v.jpg")
    album.origin.set("/v.jpg", Album.versioned(Fixtures.bytes("images/good/photo.jpg"), etag: "\"2\""))
    var refresh = album.request("/v.jpg", mode: .refresh)
    refresh.decoding.policy = .never
    #expect(try await album.manager.response(for: refresh).result.outcome == .downloaded)
    let response = try await album.manager.response(for: album.request("/v.jpg"))
    #expect(response.source == .disk && response.image?.header.size.width != 32)
    try await album.manager.store(SampleImages.jpeg(9), for: album.url("/v.jpg"), in: .disk)
    #expect(try await album.manager.response(for: album.request("/v.jpg")).image?.header.size.width == 32)
  }

  @Test func `decoding an image counts as access`() async throws {
    let folder = TemporaryDirectory()
    let clock = ManualClock()
    let cache = try ImageCache(
      ImageCache.Configuration(directory: folder.path, maxAge: .seconds(86_400), expireBy: .access, time: clock.source)
    )
    let origin = try Origin(["/a.jpg": .body(SampleImages.jpeg(1), type: "image/jpeg")])
    let manager = try ImageManager(ImageManager.Configuration(cache: cache))
    for _ in 0..<4 {
      _ = try await manager.image(for: origin.url("/a.jpg"))
      let now = clock.source.wall()
      try await poll("the access to be written") { try cache.entries(after: nil, limit: 1).first?.head.accessedAt == now }
      clock.advance(by: .seconds(36_000))
    }
    #expect(origin.requests.count == 1)
    await manager.shutDown()
  }

  @Test func `a load from the network or memory only searches no read-only cache`() async throws {
    let source = try Album()
    _ = try await source.source("/a.jpg")
    let flat = TemporaryDirectory()
    _ = try source.cache.export(to: flat.path, layout: .sdwebimage(withExtension: false))
    let stores = [try ReadOnlyCache(opening: flat.path, namespace: "default")]
    let manager = try ImageManager(ImageManager.Configuration(readOnly: stores))
    var request = ImageRequest(url: source.url("/a.jpg"))
    #expect(try await manager.response(for: request).source == .disk)
    request.cachePolicy.layers.reads = .memory
    #expect(try await manager.response(for: request).source == .network)
    request.cachePolicy = ImageRequest.CachePolicy(mode: .loaderOnly)
    #expect(try await manager.response(for: request).source == .network)
    await manager.shutDown()
  }

  @Test func `a successful retry removes the URL from the blacklist, stored or not`() async throws {
    album.origin.set("/x.jpg", .sequence([.status(404), .body(SampleImages.jpeg(1), type: "image/jpeg")]))
    await #expect(throws: ImageLoadError.self) { try await album.source("/x.jpg") }
    var request = album.request("/x.jpg", mode: .memoryOnly)
    request.cachePolicy.retriesFailed = true
    #expect(try await album.manager.response(for: request).source == .network)
    #expect(try album.cache.totals().blacklistEntries == 0)
  }

  @Test func `a refresh of a cached but blacklisted URL serves the cached image`() async throws {
    album.origin.set("/v.jpg", .sequence([Album.versioned(SampleImages.jpeg(1), etag: "\"1\""), .status(404)]))
    _ = try await album.source("/v.jpg")
    await #expect(throws: ImageLoadError.self) { try await album.source("/v.jpg", mode: .refresh) }
    #expect(try await album.source("/v.jpg", mode: .refresh) == .disk)
    #expect(album.origin.requests.count == 2)
    #expect(try await album.manager.removeFailedURL(album.url("/v.jpg")))
    await #expect(throws: ImageLoadError.self) { try await album.source("/v.jpg", mode: .refresh) }
  }

  @Test func `an image removed during its revalidation is fetched again`() async throws {
    album.origin.set("/v.jpg", Album.versioned(SampleImages.jpeg(1), etag: "\"1\""))
    _ = try await album.source("/v.jpg")
    let gate = album.origin.hold("/v.jpg")
    var request = album.request("/v.jpg", mode: .refresh)
    request.decoding.policy = .never
    let task = album.manager.load(request)
    try await gate.waitForWaiting(1)
    try await album.manager.remove(album.url("/v.jpg"))
    gate.open()
    #expect(try await task.value.result.outcome == .downloaded)
    #expect(try album.cache.totals().entries == 1)
  }

  @Test func `a serialized transform is stored in the requested layers, and the original is read from its layer`() async throws {
    let album = try Album { $0.hooks.cacheSerializer = { _, _, data in data ?? SampleImages.png(3) } }
    var request = album.request("/a.jpg")
    request.decoding.transformer = ClosureTransformer(key: "one") { $0 }
    request.cachePolicy.layers = CacheLayerUse(writes: .memory, writesOriginal: .memory)
    _ = try await album.manager.response(for: request)
    #expect(try album.cache.totals().entries == 0 && album.memory.count == 2)
    request.decoding.transformer = ClosureTransformer(key: "two") { $0 }
    #expect(try await album.manager.response(for: request).image != nil)
    #expect(album.origin.requests.count == 1)
  }

  @Test func `a damaged transformed image is rebuilt from the original`() async throws {
    let large = SampleImages.png(3) + [UInt8](repeating: 0, count: 300_000)
    let album = try Album {
      $0.memory = nil
      $0.transformer = ClosureTransformer(key: "same") { $0 }
      $0.hooks.cacheSerializer = { _, _, data in data ?? large }
    }
    _ = try await album.source("/a.jpg")
    try damageBlob(of: album.cache)
    let response = try await album.manager.response(for: album.request("/a.jpg"))
    #expect(response.source == .disk && response.image?.header.format == .jpeg)
    #expect(album.origin.requests.count == 1)
  }

  private struct Store: ImageLoader {
    func canLoad(_ url: String) -> Bool { url.hasPrefix("s3:") }
    func load(_ request: LoaderRequest) async throws -> LoaderResponse { LoaderResponse(body: SampleImages.jpeg(1)) }
  }

  @Test func `no secret of a loader's URL or of a key filter is written to disk`() async throws {
    let album = try Album {
      $0.downloader.loaders = [Store()]
      $0.hooks.cacheKeyFilter = { $0 }
    }
    let url = "s3://key:SECRET@bucket/a.jpg"
    _ = try await album.manager.response(for: ImageRequest(url: url))
    let entry = try #require(try album.cache.entries(after: nil, limit: 1).first)
    for text in [entry.identity, entry.shownURL] { #expect(!String(decoding: text, as: UTF8.self).contains("SECRET")) }
    #expect(try await album.manager.response(for: ImageRequest(url: url)).source == .memory)
    let other = ImageRequest(url: "s3://key:OTHER@bucket/a.jpg")
    #expect(try await album.manager.response(for: other).source == .network)
  }
}
