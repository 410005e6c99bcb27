import Foundation
import TestOrigin
import TestSupport
import Testing

/// Which cached images a run requests again: `cache.mode: refresh`, `cache.freshness` and `cache.min-fresh`.
@Suite struct FreshnessTests {
  private let origin = makeImageOrigin()

  @Test func `refresh sends the ETag, and a 304 keeps the cached image`() async throws {
    origin.setFallback { versioned($0, SampleImages.jpeg(1), etag: "\"v1\"") }
    let job = try await JobFolder.warmed(urls: imageURLs(origin, 0..<20))
    let refreshed = try await job.runJob("--cache-mode refresh")
    #expect(refreshed.status == 0 && refreshed.totals["revalidated"] == 20 && refreshed.rows("revalidated").count == 20)
    #expect(origin.requests.map { $0.headers["If-None-Match"] ?? "" } == (0..<40).map { $0 < 20 ? "" : "\"v1\"" })
    #expect(refreshed.section("bytes")["downloaded"] as? Int == 0)
    expectGolden(refreshed.result.outputText.timeless.lines(with: "test  "))
    #expect(try await job.runJob().totals["hit_disk"] == 20)
  }

  @Test func `a refresh reports a blacklisted URL as bad though an older image is cached, until it requests it again`()
    async throws
  {
    origin.set("/gone.jpg", .jpeg(1, headers: ["ETag": "\"v1\""]))
    let job = try await JobFolder.warmed(urls: [origin.url("/gone.jpg")])
    origin.set("/gone.jpg", .status(404))
    #expect(try await job.runJob("--cache-mode refresh").totals["failed"] == 1)
    let again = try await job.runJob("--cache-mode refresh")
    #expect(again.status == 2 && again.totals["blacklisted"] == 1 && origin.requests.count == 2)
    let dry = try await job.prewarm("run job.yaml --dry-run --cache-mode refresh")
    #expect(dry.outputText.isEmpty)
    origin.set("/gone.jpg", .jpeg(2, headers: ["ETag": "\"v2\""]))
    #expect(try await job.runJob("--cache-mode refresh --retry-blacklisted").totals["downloaded"] == 1)
  }

  @Test func `a dry run of a refresh prints what the refresh requests, under HTTP freshness too`() async throws {
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
      let dry = try await job.prewarm("run job.yaml --dry-run --cache-mode refresh")
      #expect(dry.status == 0 && origin.requests.count == before)
      let refreshed = try await job.runJob("--cache-mode refresh")
      #expect(refreshed.totals["revalidated"] == asked.count && origin.requests.count == before + asked.count)
      #expect(dry.outputText == asked.map { "\(origin.url("/images/\($0).jpg"))\n" }.joined())
    }
  }

  // MARK: `cache.freshness`, `cache.min-fresh`, and a response's `Vary`.

  @Test func `the report says until when all entries are fresh`() async throws {
    for (path, seconds) in [("/short.jpg", 3600), ("/long.jpg", 90_000)] {
      let headers: HeaderFields = ["Cache-Control": "max-age=\(seconds)"]
      origin.set(path, .jpeg(seconds, headers: headers))
    }
    let job = JobFolder(urls: [origin.url("/long.jpg"), origin.url("/short.jpg")], keys: "cache: {freshness: http}")
    for outcome in ["downloaded", "hit_disk"] {
      let run = try await job.runJob("--verbose")
      #expect(run.totals[outcome] == 2)
      let end = try #require(run.section("cache")["fresh_until"] as? String)
      #expect(try moment(end) <= moment(run.report["finished_at"]) + 3600)
      #expect(try moment(end) > moment(run.report["started_at"]) + 3000)
      expectGolden(run.result.outputText.lines(with: "\(end.prefix(10))").replacing(#/[\d-]+ [\d:]+ UTC/#, with: "TIME"))
    }
    // URLs that this run didn't request have no entry.
    job.write(urls: [origin.url("/long.jpg")])
    let later = try await job.runJob()
    #expect(try moment(later.section("cache")["fresh_until"]) > moment(later.report["started_at"]) + 80_000)
    let never = try await job.runJob("--freshness age --set cache.max-age=none")
    #expect(never.totals["hit_disk"] == 1 && never.section("cache")["fresh_until"] is NSNull)
  }

  /// Seconds since 1970 of a time in the report.
  private func moment(_ text: (any Sendable)?) throws -> Double {
    let formatter = ISO8601DateFormatter()
    let text = try #require(text as? String)
    formatter.formatOptions = text.contains(".") ? [.withInternetDateTime, .withFractionalSeconds] : .withInternetDateTime
    return try #require(formatter.date(from: text)).timeIntervalSince1970
  }
}

/// An image with an ETag, or 304 if the request names that.
func versioned(_ request: RecordedRequest, _ body: [UInt8], etag: String, headers: HeaderFields = [:]) -> Behaviour {
  let headers = HeaderFields([("ETag", etag)] + headers.fields)
  return request.headers["If-None-Match"] == etag
    ? .status(304, headers: headers) : .body(body, type: "image/jpeg", headers: headers)
}
