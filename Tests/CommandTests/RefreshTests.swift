import TestOrigin
import TestSupport
import Testing

/// `cache.mode: refresh`: requests everything, conditionally if it is cached.
@Suite struct RefreshTests {
  @Test func `refresh sends the ETag, and a 304 keeps the cached image`() async throws {
    let origin = try makeImageOrigin()
    origin.setFallback { versioned($0, SampleImages.jpeg(1), etag: "\"v1\"") }
    let job = JobFolder(urls: imageURLs(origin, 0..<20))
    #expect(try await job.runJob().totals["downloaded"] == 20)
    #expect(origin.requests.allSatisfy { $0.headers["If-None-Match"] == nil })
    let refreshed = try await job.runJob("--cache-mode", "refresh")
    #expect(refreshed.status == 0 && refreshed.totals["revalidated"] == 20 && refreshed.sumOfTotals == 20)
    #expect(origin.requests.count == 40)
    #expect(origin.requests.dropFirst(20).allSatisfy { $0.headers["If-None-Match"] == "\"v1\"" })
    #expect(refreshed.section("bytes")["downloaded"] as? Int == 0)
    #expect(refreshed.rows("revalidated").count == 20)
    expectGolden(refreshed.result.outputText.timeless.lines(with: "test  "))
    #expect(try await job.runJob().totals["hit_disk"] == 20)
    #expect(try await job.expectTrueTotals().count == 20)
  }

  @Test func `without an ETag Last-Modified is used, and without either the image is fetched again`() async throws {
    let origin = try makeImageOrigin()
    let moment = "Sat, 21 Nov 2026 09:00:00 GMT"
    origin.set(
      "/dated.jpg",
      .computed { request in
        request.headers["If-Modified-Since"] == moment
          ? .status(304) : .body(SampleImages.jpeg(1), type: "image/jpeg", headers: ["Last-Modified": moment])
      }
    )
    let job = JobFolder(urls: [origin.url("/dated.jpg"), origin.url("/images/2.jpg")])
    #expect(try await job.runJob().totals["downloaded"] == 2)
    let refreshed = try await job.runJob("--cache-mode", "refresh")
    #expect(refreshed.totals["revalidated"] == 1 && refreshed.totals["downloaded"] == 1)
    #expect(refreshed.rows("revalidated").map(\.url) == [origin.url("/dated.jpg")])
  }

  @Test func `a changed image replaces the cached one`() async throws {
    let origin = try makeImageOrigin()
    let url = origin.url("/changing.jpg")
    origin.set("/changing.jpg", .computed { versioned($0, SampleImages.jpeg(1), etag: "\"v1\"") })
    let job = JobFolder(urls: [url])
    #expect(try await job.runJob().status == 0)
    origin.set("/changing.jpg", .computed { versioned($0, SampleImages.jpeg(2), etag: "\"v2\"") })
    #expect(try await job.runJob("--cache-mode", "refresh").totals["downloaded"] == 1)
    #expect(try await job.prewarm("cache", "get", url).output == SampleImages.jpeg(2))
    #expect(try await job.runJob("--cache-mode", "refresh").totals["revalidated"] == 1)
    #expect(try await job.expectTrueTotals().count == 1)
    #expect(origin.requests.map { $0.headers["If-None-Match"] } == [nil, "\"v1\"", "\"v2\""])
  }

  @Test func `a failed refresh keeps the cached image, which is served again`() async throws {
    let origin = try makeImageOrigin()
    let url = origin.url("/gone.jpg")
    origin.set("/gone.jpg", .body(SampleImages.jpeg(1), type: "image/jpeg", headers: ["ETag": "\"v1\""]))
    let job = JobFolder(urls: [url])
    #expect(try await job.runJob().status == 0)
    origin.set("/gone.jpg", .status(404))
    let refreshed = try await job.runJob("--cache-mode", "refresh")
    #expect(refreshed.status == 2 && refreshed.failuresByKind == ["http-status": 1])
    #expect(try await job.prewarm("cache", "get", url).output == SampleImages.jpeg(1))
    #expect(try await job.runJob().totals["hit_disk"] == 1)
  }

  @Test func `a refresh reports a blacklisted URL as bad though an older image is cached, until it requests it again`()
    async throws
  {
    let origin = try makeImageOrigin()
    origin.set("/gone.jpg", .body(SampleImages.jpeg(1), type: "image/jpeg", headers: ["ETag": "\"v1\""]))
    let job = JobFolder(urls: [origin.url("/gone.jpg")])
    #expect(try await job.runJob().status == 0)
    origin.set("/gone.jpg", .status(404))
    #expect(try await job.runJob("--cache-mode", "refresh").totals["failed"] == 1)
    let again = try await job.runJob("--cache-mode", "refresh")
    #expect(again.status == 2 && again.totals["blacklisted"] == 1 && origin.requests.count == 2)
    let dry = try await job.prewarm("run", "job.yaml", "--dry-run", "--cache-mode", "refresh")
    #expect(dry.outputText.isEmpty)
    origin.set("/gone.jpg", .body(SampleImages.jpeg(2), type: "image/jpeg", headers: ["ETag": "\"v2\""]))
    #expect(try await job.runJob("--cache-mode", "refresh", "--retry-blacklisted").totals["downloaded"] == 1)
  }

  @Test func `a dry run of a refresh prints cached images too`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<3))
    #expect(try await job.runJob().status == 0)
    let dry = try await job.prewarm("run", "job.yaml", "--dry-run", "--cache-mode", "refresh")
    #expect(dry.status == 0 && dry.outputText == imageURLs(origin, 0..<3).map { "\($0)\n" }.joined())
    #expect(origin.requests.count == 3)
  }

  @Test func `a dry run of a refresh prints what the refresh requests, under HTTP freshness too`() async throws {
    let origin = try makeImageOrigin()
    for (path, headers) in [
      ("/images/0.jpg", ["Cache-Control": "max-age=31536000, immutable"]),
      ("/images/1.jpg", ["Cache-Control": "max-age=3600"]),
      ("/images/2.jpg", ["Cache-Control": "no-cache"]),
    ] as [(String, HeaderFields)] {
      origin.set(path, .computed { versioned($0, SampleImages.jpeg(1), etag: "\"v1\"", headers: headers) })
    }
    for (freshness, asked) in [("http", [1, 2]), ("age", [0, 1, 2])] {
      let job = JobFolder(urls: imageURLs(origin, 0..<3), keys: "cache: {freshness: \(freshness)}")
      #expect(try await job.runJob().status == 0)
      let before = origin.requests.count
      let dry = try await job.prewarm("run", "job.yaml", "--dry-run", "--cache-mode", "refresh")
      #expect(dry.status == 0 && origin.requests.count == before)
      let refreshed = try await job.runJob("--cache-mode", "refresh")
      #expect(refreshed.totals["revalidated"] == asked.count && origin.requests.count == before + asked.count)
      #expect(dry.outputText == asked.map { "\(origin.url("/images/\($0).jpg"))\n" }.joined())
    }
  }
}

/// An image with an ETag, or 304 if the request names that.
func versioned(_ request: RecordedRequest, _ body: [UInt8], etag: String, headers: HeaderFields = [:]) -> Behaviour {
  let headers = HeaderFields([("ETag", etag)] + headers.fields)
  return request.headers["If-None-Match"] == etag
    ? .status(304, headers: headers) : .body(body, type: "image/jpeg", headers: headers)
}
