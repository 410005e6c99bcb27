import TestOrigin
import TestSupport
import Testing

@Suite struct FailureKindTests {
  /// Failures with their kinds, and whether they are remembered.
  private static let cases: [(path: String, behaviour: Behaviour, kind: String, isBlacklisted: Bool)] = [
    ("/404.jpg", .status(404), "http-status", true),
    ("/page.jpg", .body(Array("<!doctype html><title>Sorry</title>".utf8), type: "image/jpeg"), "not-an-image", true),
    ("/empty.jpg", .body([], type: "image/jpeg"), "empty", true),
    ("/cut.jpg", .cut(afterBytes: 100, declared: 500, of: SampleImages.jpeg(1), type: "image/jpeg"), "truncated", false),
    ("/loop.jpg", .redirect(to: "/loop.jpg"), "redirects", false),
    ("/large.jpg", .body(SampleImages.jpeg(2, padding: 60_000), type: "image/jpeg"), "too-large", false),
    ("/reset.jpg", .reset, "reset", false),
    ("/png.jpg", .body(SampleImages.png(1), type: "image/jpeg"), "content-type", false),
    ("/503.jpg", .status(503), "http-status", false),
    ("/403.jpg", .status(403), "http-status", false),
  ]

  @Test func `each failure has its kind, and only permanent ones are remembered and not requested again`() async throws {
    let origin = try makeImageOrigin()
    for row in Self.cases { origin.set(row.path, row.behaviour) }
    let refusedPort = RefusedPort()
    let refused = refusedPort.url("/a.jpg")
    let job = JobFolder(
      urls: Self.cases.map { origin.url($0.path) } + [refused],
      keys: """
        request: {retries: 1, backoff: {initial: 1ms, maximum: 2ms}, max-bytes: 50KB}
        """
    )
    let first = try await job.runJob()
    #expect(first.status == 2)
    let rows = Dictionary(first.rows.map { ($0.url, $0) }, uniquingKeysWith: { first, _ in first })
    for row in Self.cases { #expect(rows[origin.url(row.path)]?.kind == row.kind, "\(row.path)") }
    #expect(rows[refused]?.kind == "connect")
    #expect(rows[refused]?.attempts == 2)
    let requested = Dictionary(uniqueKeysWithValues: Self.cases.map { ($0.path, origin.count(of: $0.path)) })
    let second = try await job.runJob()
    #expect(second.status == 2)
    for row in Self.cases {
      let isRequestedAgain = origin.count(of: row.path) > requested[row.path]!
      #expect(isRequestedAgain == !row.isBlacklisted, "\(row.path)")
    }
    #expect(second.totals["blacklisted"] == 3)
    withExtendedLifetime(refusedPort) {}
  }

  /// In its own job, since on a busy machine every response may take longer than this job's timeout.
  @Test func `a server that doesn't respond is stalled and requested again`() async throws {
    let origin = try Origin(["/stall.jpg": .stall])
    let job = JobFolder(urls: [origin.url("/stall.jpg")], keys: "request: {retries: 0, stall-timeout: 1s}")
    for _ in 1...2 {
      let run = try await job.runJob()
      #expect(run.status == 2 && run.failuresByKind == ["stalled": 1] && run.totals["blacklisted"] == 0, "\(run.totals)")
    }
    #expect(origin.requests.count == 2)
  }

  @Test func `a transient failure that a retry fixes isn't a failure`() async throws {
    let origin = try makeImageOrigin()
    let good = Behaviour.body(SampleImages.jpeg(5), type: "image/jpeg")
    origin.set("/flaky.jpg", .sequence([.status(503), .status(500), good]))
    let job = JobFolder(urls: [origin.url("/flaky.jpg")], keys: "request: {backoff: {initial: 1ms, maximum: 1ms}}")
    let run = try await job.runJob()
    #expect(run.status == 0 && run.rows[0].attempts == 3)
    #expect(run.section("attempts")["retried"] as? Int == 2)
  }

  @Test func `a large body is streamed into the cache and a hit afterwards`() async throws {
    let origin = try makeImageOrigin()
    let large = SampleImages.jpeg(3, padding: 3_000_000)
    origin.set("/large.jpg", .body(large, type: "image/jpeg"))
    origin.set("/chunked.jpg", .chunked([Array(large[..<1_000_000]), Array(large[1_000_000...])], type: "image/jpeg"))
    let job = JobFolder(urls: [origin.url("/large.jpg"), origin.url("/chunked.jpg")])
    for depth in ["header", "full"] {
      let run = try await job.runJob("--decode", depth)
      #expect(run.status == 0)
      #expect(run.section("cache")["body_bytes"] as? Int == 2 * large.count)
    }
    #expect(origin.requests.count == 2)
    let got = try await job.prewarm("cache", "get", origin.url("/large.jpg"))
    #expect(got.output == large)
  }
}
