import Foundation
import TestOrigin
import TestSupport
import Testing

/// `cache.freshness`, `cache.min-fresh`, and a response's `Vary`.
@Suite struct FreshnessTests {
  @Test(
    arguments: [
      (["Cache-Control": "max-age=3600"], "hit_disk"),
      (["Cache-Control": "public, s-maxage=0, max-age=3600"], "hit_disk"),
      (["Cache-Control": "max-age=31536000, immutable"], "hit_disk"),
      (["Expires": "Thu, 01 Jan 2099 00:00:00 GMT"], "hit_disk"),
      ([:], "hit_disk"),
      (["Cache-Control": "max-age=0"], "revalidated"),
      (["Cache-Control": "no-cache"], "revalidated"),
      (["Cache-Control": "max-age=3600", "Age": "3600"], "revalidated"),
      (["Expires": "0"], "revalidated"),
      (["Cache-Control": "no-store"], "checked"),
    ] as [(HeaderFields, String)]
  )
  func `under HTTP freshness a cached image is fresh, revalidated or not kept as the server says`(
    headers: HeaderFields,
    second: String
  ) async throws {
    let origin = try Origin()
    origin.setFallback { versioned($0, SampleImages.jpeg(1), etag: "\"v1\"", headers: headers) }
    let job = JobFolder(urls: imageURLs(origin, 0..<3), keys: "cache: {freshness: http}")
    let first = try await job.runJob()
    #expect(first.status == 0 && first.totals[second == "checked" ? "checked" : "downloaded"] == 3)
    #expect(try await job.statistics().entries == (second == "checked" ? 0 : 3))
    let again = try await job.runJob()
    #expect(again.status == 0 && again.totals[second] == 3, "\(again.totals)")
    #expect(origin.requests.count == (second == "hit_disk" ? 3 : 6))
  }

  @Test func `under the age rule the server's lifetime is ignored`() async throws {
    let origin = try Origin()
    origin.setFallback { versioned($0, SampleImages.jpeg(1), etag: "\"v1\"", headers: ["Cache-Control": "no-store, max-age=0"]) }
    let job = JobFolder(urls: imageURLs(origin, 0..<3))
    #expect(try await job.runJob().totals["downloaded"] == 3)
    #expect(try await job.runJob().totals["hit_disk"] == 3)
    #expect(try await job.runJob("--freshness", "http").totals["hit_disk"] == 0)
  }

  @Test func `the report says until when all entries are fresh`() async throws {
    let origin = try makeImageOrigin()
    for (path, seconds) in [("/short.jpg", 3600), ("/long.jpg", 90_000)] {
      let headers: HeaderFields = ["Cache-Control": "max-age=\(seconds)"]
      origin.set(path, .body(SampleImages.jpeg(seconds), type: "image/jpeg", headers: headers))
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
    let never = try await job.runJob("--freshness", "age", "--set", "cache.max-age=none")
    #expect(never.totals["hit_disk"] == 1 && never.section("cache")["fresh_until"] is NSNull)
  }

  @Test func `an image that would expire within min-fresh is fetched again`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<3), keys: "cache: {max-age: 10h}")
    #expect(try await job.runJob().totals["downloaded"] == 3)
    #expect(try await job.runJob("--min-fresh", "9h").totals["hit_disk"] == 3)
    // A millisecond short of ten hours.
    let almost = try await job.runJob("--min-fresh", "35999999ms")
    #expect(almost.totals["downloaded"] == 3, "\(almost.totals)")
    let only = try await job.runJob("--min-fresh", "35999999ms", "--cache-mode", "only")
    #expect(only.totals["skipped"] == 3, "\(only.totals)")
    #expect(origin.requests.count == 6)
    #expect(try await job.expectTrueTotals().count == 3)
  }

  @Test func `other values of the Vary headers are a miss`() async throws {
    let origin = try Origin()
    origin.setFallback { request in
      let number = request.headers["X-Language"] == "de" ? 1 : 2
      return .body(SampleImages.jpeg(number), type: "image/jpeg", headers: ["Vary": "Accept-Encoding, X-Language"])
    }
    let url = origin.url("/a.jpg")
    let job = JobFolder(urls: [url])
    func run(_ language: String) async throws -> Run {
      try await job.runJob("--set", "request.headers.X-Language=\(language)")
    }
    #expect(try await run("de").totals["downloaded"] == 1)
    #expect(try await run("de").totals["hit_disk"] == 1)
    #expect(try await run("fr").totals["downloaded"] == 1)
    #expect(try await job.prewarm("cache", "get", url).output == SampleImages.jpeg(2))
    #expect(try await run("fr").totals["hit_disk"] == 1)
    #expect(origin.requests.count == 2)
  }

  @Test func `an image with Vary: * is requested each time, except under the age rule`() async throws {
    let origin = try Origin()
    origin.setFallback { _ in .body(SampleImages.jpeg(1), type: "image/jpeg", headers: ["Vary": "*"]) }
    let job = JobFolder(urls: [origin.url("/a.jpg")])
    for _ in 1...2 { #expect(try await job.runJob("--freshness", "http").totals["downloaded"] == 1) }
    #expect(origin.requests.count == 2)
    #expect(try await job.runJob().totals["hit_disk"] == 1)
  }

  /// Seconds since 1970 of a time in the report.
  private func moment(_ text: (any Sendable)?) throws -> Double {
    let formatter = ISO8601DateFormatter()
    let text = try #require(text as? String)
    formatter.formatOptions = text.contains(".") ? [.withInternetDateTime, .withFractionalSeconds] : .withInternetDateTime
    return try #require(formatter.date(from: text)).timeIntervalSince1970
  }
}
