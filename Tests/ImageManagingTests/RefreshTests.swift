import Base
import ImageCaching
import ImageCoding
import ImageDownloading
@testable import ImageManaging
import TestOrigin
import TestSupport
import Testing

/// Conditional requests and HTTP freshness, with the manager and a server that supports both.
@Suite struct RefreshTests {
  private static func jpeg(_ number: Int, _ headers: HeaderFields) -> Behaviour {
    .body(SampleImages.jpeg(number), type: "image/jpeg", headers: headers)
  }

  private static func versioned(_ number: Int = 1, _ cacheControl: String? = nil) -> Behaviour {
    Album.versioned(
      SampleImages.jpeg(number),
      etag: "\"\(number)\"",
      headers: HeaderFields(cacheControl.map { [("Cache-Control", $0)] } ?? [])
    )
  }

  private static let dated = Behaviour.computed { request in
    let date = "Wed, 21 Oct 2015 07:28:00 GMT"
    return request.headers["If-Modified-Since"] == date ? .status(304) : jpeg(1, ["Last-Modified": date])
  }

  /// Loads of one image: each with the seconds since the one before, its mode, and its outcome.
  struct Scene: Sendable, CustomTestStringConvertible {
    typealias Load = (after: Int, mode: CacheMode, outcome: LoadOutcome)

    let testDescription: String
    let freshness: FreshnessRule
    let minFresh: Duration
    let response: Behaviour
    let loads: [Load]

    init(_ name: String, _ rule: FreshnessRule, minFresh: Duration = .zero, _ response: Behaviour, loads: () -> [Load]) {
      (testDescription, freshness, self.minFresh, self.response, self.loads) = (name, rule, minFresh, response, loads())
    }
  }

  private static let week = 7 * 86_400
  static let scenes = [
    Scene("a 304 keeps the cached image, and from then on its age counts from that", .age, versioned()) {
      [(0, .use, .downloaded), (100, .refresh, .revalidated), (week - 50, .use, .hitDisk), (51, .use, .revalidated)]
    },
    Scene("a new body replaces the cached image", .age, .sequence([versioned(1), versioned(2)])) {
      [(0, .use, .downloaded), (0, .refresh, .downloaded), (0, .use, .hitDisk)]
    },
    Scene("without a validator a refresh requests the whole body", .age, jpeg(1, [:])) {
      [(0, .use, .downloaded), (0, .refresh, .downloaded)]
    },
    Scene("with Last-Modified it requests changes", .age, dated) {
      [(0, .use, .downloaded), (0, .refresh, .revalidated)]
    },
    Scene("a failed refresh keeps the cached image", .age, .sequence([versioned(), .status(500)])) {
      [(0, .use, .downloaded), (0, .refresh, .failed), (0, .use, .hitDisk)]
    },
    Scene("an expired image of a blacklisted URL isn't served", .age, .sequence([versioned(), .status(404)])) {
      [(0, .use, .downloaded), (8 * 86_400, .use, .failed), (0, .use, .blacklisted)]
    },
    Scene("the server's max-age overrides the job's", .http, versioned(1, "max-age=60")) {
      [(0, .use, .downloaded), (59, .use, .hitDisk), (1, .use, .revalidated), (0, .use, .hitDisk)]
    },
    Scene("no-cache is revalidated each time", .http, versioned(1, "no-cache")) {
      [(0, .use, .downloaded), (0, .use, .revalidated), (0, .use, .revalidated)]
    },
    Scene("no-store isn't kept", .http, versioned(1, "no-store, max-age=600")) {
      [(0, .use, .checked), (0, .use, .checked)]
    },
    Scene("the age rule ignores both", .age, versioned(1, "no-store, no-cache")) {
      [(0, .use, .downloaded), (0, .use, .hitDisk)]
    },
    Scene("an immutable image isn't requested while fresh, not even by a refresh", .http, versioned(1, "max-age=60, immutable")) {
      [(0, .use, .downloaded), (0, .refresh, .hitDisk), (61, .refresh, .revalidated)]
    },
    Scene("an image that expires within min-fresh is requested now", .http, minFresh: .seconds(30), versioned(1, "max-age=60")) {
      [(0, .use, .downloaded), (29, .use, .hitDisk), (2, .use, .revalidated)]
    },
    Scene("Vary: * never matches", .http, jpeg(1, ["Vary": "*", "Cache-Control": "max-age=60"])) {
      [(0, .use, .downloaded), (0, .use, .downloaded)]
    },
    Scene("Vary: * always matches under the age rule", .age, jpeg(1, ["Vary": "*"])) {
      [(0, .use, .downloaded), (0, .use, .hitDisk)]
    },
    Scene("in cache-only mode a stale image is neither a hit nor requested", .http, jpeg(1, ["Cache-Control": "max-age=60"])) {
      [(0, .use, .downloaded), (61, .only, .skipped)]
    },
  ]

  @Test(arguments: scenes) func `each load is a hit, a revalidation or a download`(scene: Scene) async throws {
    let loader = try Loader(freshness: scene.freshness, minFresh: scene.minFresh)
    let url = loader.origin.url("/a")
    loader.origin.set("/a", scene.response)
    var checksum: Checksum?
    for (place, load) in scene.loads.enumerated() {
      loader.clock.advance(by: .seconds(load.after))
      let result = try await loader.load(url, loader.context(mode: load.mode))
      #expect(result.outcome == load.outcome, "load \(place + 1)")
      if load.outcome == .downloaded { checksum = result.checksum }
      if load.outcome == .hitDisk { #expect(result.checksum == checksum && result.freshUntil != nil) }
      if load.outcome == .revalidated { #expect(result.receivedBytes == 0 && result.bytes == SampleImages.jpeg(1).count) }
    }
    #expect(loader.origin.requests.count == scene.loads.count { ![.hitDisk, .skipped, .blacklisted].contains($0.outcome) })
  }

  @Test func `damage is found before a 304 counts, and the body is fetched whole`() async throws {
    let loader = try Loader()
    let origin = loader.origin
    let large = SampleImages.jpeg(2, padding: 300_000)
    origin.set("/a", Album.versioned(large, etag: "\"1\""))
    _ = try await loader.load(origin.url("/a"))
    try loader.damageBlob()
    let context = loader.context(LoadOptions(mode: .refresh, verifiesHits: true))
    #expect(try await loader.load(origin.url("/a"), context).outcome == .downloaded)
    #expect(context.warnings.contains { $0.contains("damaged") })
    #expect(origin.requests.map { $0.headers["If-None-Match"] } == [nil, "\"1\"", nil])
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

  @Test func `a stale-while-revalidate image is served to everyone while it is renewed in the background`() async throws {
    let album = try Album(freshness: .http)
    let headers: HeaderFields = ["Cache-Control": "max-age=60, stale-while-revalidate=30"]
    album.origin.set("/v.jpg", Album.versioned(SampleImages.jpeg(1), etag: "\"1\"", headers: headers))
    _ = try await album.source("/v.jpg")
    album.clock.advance(by: .seconds(70))
    let gate = album.origin.hold("/v.jpg")
    // Memory applies the lifetime; the disk still has a usable image.
    #expect(try await album.source("/v.jpg") == .disk)
    try await gate.waitForWaiting(1)
    #expect(try await album.source("/v.jpg") == .disk)
    // A refresh shares the revalidation in progress, and the image is fresh afterwards.
    let sure = album.manager.load(album.request("/v.jpg", mode: .refresh))
    gate.open()
    _ = try await sure.value
    album.clock.advance(by: .seconds(59))
    #expect(try await album.source("/v.jpg") == .memory)
    #expect(album.origin.requests.allSatisfy { $0.path == "/v.jpg" } && album.origin.requests.count <= 3)
  }
}

/// The stored request headers that a response depends on.
@Suite struct VaryTests {
  private func album(varyOn names: String, freshness: FreshnessRule = .age) throws -> Album {
    let album = try Album(freshness: freshness) { $0.memory = nil }
    album.origin.setFallback(.body(SampleImages.jpeg(1), type: "image/jpeg", headers: ["Vary": names]))
    return album
  }

  private func sending(_ headers: [(name: String, value: String?)] = []) -> DownloadOptions.Changes {
    DownloadOptions.Changes {
      $0.headers = headers.compactMap { header in header.value.map { HeaderField(header.name, $0) } }
      $0.removedHeaders = headers.filter { $0.value == nil }.map(\.name)
    }
  }

  private func source(_ album: Album, _ path: String, _ options: DownloadOptions.Changes) async throws -> ImageResponse.Source? {
    var request = album.request(path)
    request.options = options
    return try await album.manager.response(for: request).source
  }

  @Test func `no value of a request header is written to disk, and equal values still match`() async throws {
    let album = try album(varyOn: "Authorization, Cookie, Accept")
    let options = sending([("Authorization", "Bearer TOPSECRET"), ("Cookie", "id=TOPSECRET")])
    #expect(try await source(album, "/1.jpg", options) == .network)
    #expect(try await source(album, "/1.jpg", options) == .disk)
    #expect(try await source(album, "/1.jpg", sending([("Authorization", "Bearer OTHER")])) == .network)
    for record in try album.cache.entries(after: nil, limit: 10) {
      let text = String(decoding: record.vary, as: UTF8.self)
      #expect(text.contains("authorization:") && text.contains("accept:"))
      for secret in ["TOPSECRET", "OTHER", "Bearer", "image/"] { #expect(!text.contains(secret)) }
    }
  }

  @Test func `an image for one user's credentials isn't a hit for another's`() async throws {
    let album = try album(varyOn: "Authorization")
    let fixed = { (user: String) in
      DownloadOptions.Changes {
        $0.credentials = .fixed(Credential(user: user, password: "x"))
        $0.retries = 0
      }
    }
    let perHost = { (user: String) in
      DownloadOptions.Changes {
        $0.credentials = .perHost { _, _, _ in Credential(user: user, password: "x") }
        $0.retries = 0
      }
    }
    #expect(try await source(album, "/1.jpg", fixed("alice")) == .network)
    #expect(try await source(album, "/1.jpg", fixed("bob")) == .network)
    #expect(try await source(album, "/1.jpg", fixed("bob")) == .disk)
    #expect(try await source(album, "/2.jpg", perHost("alice")) == .network)
    #expect(try await source(album, "/2.jpg", perHost("bob")) == .network)
    #expect(try await source(album, "/2.jpg", perHost("bob")) == .disk)
    #expect(try await source(album, "/2.jpg", sending()) == .network)
  }

  @Test func `an image that varies on cookies isn't a hit if a cookie jar is used`() async throws {
    let album = try album(varyOn: "Cookie")
    let jar = DownloadOptions.Changes {
      $0.handlesCookies = true
      $0.retries = 0
    }
    #expect(try await source(album, "/1.jpg", jar) == .network)
    #expect(try await source(album, "/1.jpg", jar) == .network)
    #expect(try await source(album, "/1.jpg", sending()) == .network)
    #expect(try await source(album, "/1.jpg", sending()) == .disk)
    #expect(try await source(album, "/1.jpg", jar) == .network)
  }

  @Test func `consecutive responses keep their own request's values`() async throws {
    let album = try album(varyOn: "Accept-Language")
    for language in ["de", "fr", "de"] {
      for path in ["/1-\(language).jpg", "/2-\(language).jpg"] {
        _ = try await source(album, path, sending([("Accept-Language", language)]))
      }
    }
    album.origin.set("/x.jpg", .body(SampleImages.jpeg(1), type: "image/jpeg", headers: ["Vary": "Accept"]))
    _ = try await source(album, "/x.jpg", sending([("Accept-Language", "de")]))
    #expect(album.origin.requests.count == 5)
    for language in ["de", "fr"] {
      let other = sending([("Accept-Language", language == "de" ? "fr" : "de")])
      #expect(try await source(album, "/1-\(language).jpg", other) == .network)
    }
    #expect(try await source(album, "/x.jpg", sending([("Accept-Language", "fr")])) == .disk)
  }

  @Test func `a 304 without no-cache doesn't end it`() async throws {
    let album = try Album(freshness: .http)
    album.origin.set(
      "/v.jpg",
      .computed { request in
        if request.headers["If-None-Match"] == "\"1\"" { return .status(304, headers: ["ETag": "\"1\""]) }
        let headers: HeaderFields = ["ETag": "\"1\"", "Cache-Control": "no-cache"]
        return .body(SampleImages.jpeg(1), type: "image/jpeg", headers: headers)
      }
    )
    _ = try await album.source("/v.jpg")
    for _ in 0..<2 {
      #expect(try await album.manager.response(for: album.request("/v.jpg")).result.outcome == .revalidated)
      album.clock.advance(by: .seconds(3600))
    }
  }
}
