import ImageCaching
import ImageDownloading
import ImageManaging
import Base
import TestOrigin
import TestSupport
import Testing

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
        $0.credentials = .perHost(name: user) { _, _, _ in Credential(user: user, password: "x") }
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
