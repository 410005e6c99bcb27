import ImageDownloading
import Base
import TestOrigin
import Testing

/// Conditional requests, and the metadata of responses.
struct ConditionalTests {
  private let validators = Validators(etag: "\"v1\"", lastModified: "Sat, 21 Nov 2026 10:00:00 GMT")

  @Test func `validators make a request conditional, and a 304 completes it as not modified`() async throws {
    let headers: HeaderFields = ["ETag": "\"v1\"", "Cache-Control": "max-age=60", "Vary": "Accept", "Date": "then"]
    let origin = try Origin(["/a": .status(304, headers: headers)])
    let end = try await Fetcher().fetch(origin.url("/a"), validators: validators)
    let image = try #require(end.image)
    #expect(end.isNotModified)
    #expect(image.status == 304)
    #expect(image.body.isEmpty && image.bodyBytes == 0)
    #expect(image.validators == Validators(etag: "\"v1\""))
    #expect(image.freshness.lifetime.map { $0 > .seconds(30) && $0 <= .seconds(60) } == true)
    #expect(image.vary == "Accept")
    #expect(origin.requests[0].headers.all("If-None-Match") == ["\"v1\""])
    #expect(origin.requests[0].headers.all("If-Modified-Since") == ["Sat, 21 Nov 2026 10:00:00 GMT"])
  }

  private static let renewals: [(headers: HeaderFields, freshness: Freshness?)] = [
    ([:], nil),
    (["ETag": "\"v1\"", "Date": "Sat, 21 Nov 2026 10:00:00 GMT", "Age": "5"], nil),
    (["Cache-Control": "max-age=0, no-cache"], Freshness(lifetime: .zero, mustRevalidate: true)),
    (["Cache-Control": "public"], Freshness()),
    (["Expires": "0"], Freshness(lifetime: .zero, isImmutable: true, staleWhileRevalidate: .seconds(7))),
  ]

  @Test(arguments: renewals) func `a 304 without freshness keeps the stored freshness`(
    headers: HeaderFields,
    expected: Freshness?
  ) async throws {
    let stored = Freshness(lifetime: .seconds(3600), isImmutable: true, staleWhileRevalidate: .seconds(7))
    let origin = try Origin(["/a": .status(304, headers: headers)])
    let image = try #require(try await Fetcher().fetch(origin.url("/a"), validators: validators).image)
    #expect(image.freshness(renewing: stored) == expected ?? stored)
  }

  @Test func `a loader's freshness replaces the stored one, if it has any`() {
    let stored = Freshness(mustRevalidate: true)
    let silent = DownloadResponse(status: 304, body: [], bodyBytes: 0)
    #expect(silent.freshness(renewing: stored) == stored)
    let said = DownloadResponse(status: 304, freshness: Freshness(lifetime: .seconds(5)), body: [], bodyBytes: 0)
    #expect(said.freshness(renewing: stored) == Freshness(lifetime: .seconds(5)))
  }

  @Test func `a changed image is downloaded whole`() async throws {
    let origin = try Origin(["/a": .body([1, 2], headers: ["ETag": "\"v2\""])])
    let end = try await Fetcher().fetch(origin.url("/a"), validators: validators)
    #expect(!end.isNotModified)
    #expect(end.image?.body == [1, 2])
    #expect(end.image?.validators.etag == "\"v2\"")
  }

  @Test(arguments: [Validators(etag: "W/\"1\""), Validators(lastModified: "then"), Validators()])
  func `each known validator is sent`(validators: Validators) async throws {
    let origin = try Origin(["/a": .body([1])])
    _ = try await Fetcher().fetch(origin.url("/a"), validators: validators)
    #expect(origin.requests[0].headers["If-None-Match"] == validators.etag)
    #expect(origin.requests[0].headers["If-Modified-Since"] == validators.lastModified)
  }

  @Test(arguments: [nil, Validators(), Validators(etag: "a\r\nX: y")])
  func `an unrequested 304 is a rejected status`(validators: Validators?) async throws {
    let origin = try Origin(["/a": .status(304)])
    let end = try await Fetcher().fetch(origin.url("/a"), validators: validators)
    #expect(end.failure?.kind == .httpStatus)
    #expect(end.failure?.status == 304)
  }

  @Test func `conditions are sent only to the download's own origin, on every hop there`() async throws {
    let origin = try Origin(addresses: [.ipv4, .ipv4])
    origin.set("/a", .redirect(to: "/b"))
    origin.set("/b", .redirect(to: origin.url("/c", host: 1)))
    origin.set("/c", .redirect(to: origin.url("/d", host: 0)))
    origin.set("/d", .status(304))
    let end = try await Fetcher().fetch(origin.url("/a"), validators: validators)
    #expect(end.isNotModified)
    #expect(origin.requests.map { $0.headers["If-None-Match"] } == ["\"v1\"", "\"v1\"", nil, "\"v1\""])

    origin.set("/c", .status(304))
    #expect(try await Fetcher().fetch(origin.url("/a"), validators: validators).failure?.status == 304)
  }

  @Test func `the next request on the same handle is unconditional and keeps its headers`() async throws {
    let origin = try Origin(fallback: .body([1]))
    let fetcher = try Fetcher(concurrency: 1)
    let options = DownloadOptions.forTests(headers: [("X-A", "1")])
    for (id, validators) in [(1, nil), (2, validators), (3, nil), (4, validators)] as [(UInt64, Validators?)] {
      _ = try await fetcher.fetch(origin.url("/\(id)"), id: id, options: options, validators: validators)
    }
    #expect(origin.requests.map { $0.headers["If-None-Match"] } == [nil, "\"v1\"", nil, "\"v1\""])
    #expect(origin.requests.allSatisfy { $0.headers["X-A"] == "1" && $0.headers.all("Accept").count == 1 })
  }

  @Test func `freshness, Vary and validators are the response's, with all Cache-Control headers joined`() async throws {
    let headers: HeaderFields = [
      "Cache-Control": "public, immutable", "Cache-Control": "max-age=3600", "Vary": "Accept", "Vary": "X-A", "Age": "600",
    ]
    let origin = try Origin(["/a": .redirect(to: "/b", status: 301), "/b": .body([1], headers: headers), "/c": .body([1])])
    let image = try #require(try await Fetcher().fetch(origin.url("/a")).image)
    #expect(image.freshness.isImmutable)
    #expect(image.freshness.lifetime.map { $0 > .seconds(2900) && $0 <= .seconds(3000) } == true)
    #expect(image.vary == "Accept, X-A")
    let plain = try #require(try await Fetcher().fetch(origin.url("/c")).image)
    #expect(plain.freshness == Freshness())
    #expect(plain.vary == nil && plain.validators.isEmpty)
  }
}
