import Base
import TestOrigin
import TestSupport
import Testing

@testable import ImageDownloading

/// Fetching hosts' `robots.txt`, over real sockets.
struct RobotsTests {
  private let respectful = DownloadOptions.forTests(respectsRobots: true, userAgent: "prewarm/1.0 (+https://example.com)")

  private func rules(_ text: String) -> Behaviour { .body(Array(text.utf8), type: "text/plain") }

  @Test func `robots.txt is fetched once before anything else, and disallowed URLs aren't requested`() async throws {
    let file = rules("User-agent: *\nDisallow: /\n\nUser-agent: Prewarm\nDisallow: /private/\n")
    let origin = try Origin(["/robots.txt": file], fallback: .body([1]))
    let fetcher = try Fetcher()
    let paths = (0..<20).map { $0 % 2 == 0 ? "/private/\($0)" : "/public/\($0)" }
    let ends = try await fetcher.fetchAll(paths.map { origin.url($0) }, options: respectful)
    #expect(origin.requests.first?.path == "/robots.txt")
    #expect(origin.requests.count == 11 && !origin.requests.contains { $0.path.hasPrefix("/private") })
    #expect(origin.requests.allSatisfy { $0.headers["User-Agent"] == "prewarm/1.0 (+https://example.com)" })
    for end in ends where end.id % 2 == 1 {
      #expect(end.failure?.kind == .robots && end.failure?.isTransient == false && end.summary.attempts == 0)
      expectGolden(end.failure?.message)
    }
    #expect(ends.count { $0.image != nil } == 10)
    // It is kept, and doesn't affect downloads that ignore it.
    #expect(try await fetcher.fetch(origin.url("/private/9"), options: respectful).failure?.kind == .robots)
    #expect(try await fetcher.fetch(origin.url("/private/9"), options: .forTests()).image != nil)
    #expect(origin.count(of: "/robots.txt") == 1)
  }

  @Test func `downloads waiting for robots.txt hold no slot and can be cancelled`() async throws {
    let origin = try Origin(["/robots.txt": rules("")], fallback: .body([1]), addresses: [.ipv4, .ipv4])
    let gate = origin.hold("/robots.txt")
    let fetcher = try Fetcher(concurrency: 2)
    fetcher.submit((0..<10).map { origin.url("/\($0)") }, options: respectful)
    try await gate.waitForWaiting(1)
    #expect(try await fetcher.fetch(origin.url("/x", host: 1), id: 99).image != nil)
    try await fetcher.settle()
    #expect(fetcher.downloader.statistics.waiting == 10 && fetcher.downloader.statistics.running == 1)
    fetcher.client.cancel([1, 2])
    _ = try await fetcher.recorder.waitForEnd(of: 2)
    gate.open()
    #expect(try await fetcher.recorder.waitForEnds(13).count(where: \.isCancelled) == 2)
    #expect(origin.requests.count == 10)
  }

  @Test func `a robots.txt without waiters isn't fetched to its end, and the next download fetches it again`() async throws {
    let origin = try Origin(["/robots.txt": rules("")], fallback: .body([1]))
    let gate = origin.hold("/robots.txt")
    let fetcher = try Fetcher()
    fetcher.submit([origin.url("/a")], options: respectful)
    try await gate.waitForWaiting(1)
    fetcher.client.cancel([1])
    try await fetcher.recorder.waitForEnd(of: 1)
    try await origin.waitForInFlight(0)
    gate.open()
    #expect(try await fetcher.fetch(origin.url("/a"), options: respectful).image != nil)
    #expect(origin.count(of: "/robots.txt") == 2)
  }

  @Test(
    arguments: [
      (Behaviour.status(404), nil), (.status(401), nil), (.status(410), nil), (.status(500), .robots), (.status(503), .robots),
      (.reset, .reset), (.redirect(to: "/robots.txt"), nil), (.status(204), nil),
      (.body([0xFF, 0xFE, 0], type: "image/png"), nil),
    ] as [(Behaviour, FailureKind?)]
  )
  func `an unavailable robots.txt allows everything, an unreachable one nothing (RFC 9309, 2.3.1)`(
    behaviour: Behaviour,
    kind: FailureKind?
  ) async throws {
    let origin = try Origin(["/robots.txt": behaviour], fallback: .body([1]))
    let end = try await Fetcher().fetch(origin.url("/a"), options: respectful)
    #expect((end.image != nil) == (kind == nil) && end.failure?.kind == kind)
    guard let failure = end.failure else { return }
    // Network failures don't depend on robots rules.
    #expect(failure.isTransient == (kind == .reset) && end.summary.attempts == 0)
    #expect(failure.message.contains("RFC 9309, 2.3.1.4"))
    #expect(origin.requests.allSatisfy { $0.path == "/robots.txt" })
  }

  @Test func `up to five redirects of robots.txt are followed, and image redirects check their host's own`() async throws {
    let origin = try Origin(fallback: .body([1]), addresses: [.ipv4, .ipv4])
    let (own, other) = (origin.ports[0], origin.ports[1])
    origin.setFallback { request in
      switch (request.path, request.port) {
      case ("/robots.txt", own): .redirect(to: "/1")
      case ("/1", _), ("/2", _), ("/3", _), ("/4", _): .redirect(to: "/\(Int(request.path.dropFirst())! + 1)")
      case ("/5", _): .body(Array("User-agent: *\nDisallow: /no".utf8))
      case ("/robots.txt", other): .body(Array("User-agent: *\nDisallow: /far/no".utf8))
      case ("/hop/no", _): .redirect(to: "http://127.0.0.1:\(other)/far/no")
      case ("/hop/yes", _): .redirect(to: "http://127.0.0.1:\(other)/far/yes")
      default: .body([1])
      }
    }
    let fetcher = try Fetcher(concurrency: 1)
    let options = DownloadOptions.forTests(headers: [("X-Secret", "s")], respectsRobots: true)
    fetcher.submit(["/no", "/yes", "/hop/no", "/hop/yes"].map { origin.url($0) }, options: options)
    let ends = try await fetcher.recorder.waitForEnds(4).sorted { $0.id < $1.id }
    #expect(ends.map { $0.failure?.kind } == [.robots, nil, .robots, nil])
    #expect(ends.map(\.summary.attempts) == [0, 1, 1, 1])
    let asked = origin.requests
    #expect(asked.count { $0.path == "/robots.txt" } == 2)
    #expect(!asked.contains { $0.path == "/far/no" })
    // The job's own headers go to its own origin only.
    #expect(asked.allSatisfy { ($0.headers["X-Secret"] != nil) == ($0.port == own) })
  }

  @Test func `another origin's robots.txt request carries no secrets of the job`() async throws {
    let origin = try Origin(addresses: [.ipv4, .ipv4])
    let (own, far) = (origin.ports[0], origin.url("/far", host: 1))
    // Cookies belong to hosts, which both have in common, not to ports.
    origin.setFallback { request in
      let cookie = "id=\(request.port == own ? "own" : "other"); Path=/"
      return request.path == "/a" ? .redirect(to: far) : .body([1], headers: ["Set-Cookie": cookie])
    }
    let fetcher = try Fetcher(concurrency: 1, headers: [HeaderField("X-Default", "1")])
    let options = DownloadOptions.forTests(
      headers: [("X-Own", "1")],
      credentials: .fixed(Credential(user: "alice", password: "hunter2")),
      handlesCookies: true,
      respectsRobots: true
    )
    #expect(try await fetcher.fetch(origin.url("/a"), options: options).image != nil)
    #expect(try await fetcher.fetch(origin.url("/b"), options: options).image != nil)
    let asked = origin.requests
    #expect(asked.map(\.path) == ["/robots.txt", "/a", "/robots.txt", "/far", "/b"])
    let headers = ["X-Default", "X-Own", "Authorization"]
    for request in asked {
      #expect(headers.filter { request.headers[$0] != nil } == (request.port == own ? headers : []))
    }
    #expect(asked.map { $0.headers["Cookie"] } == [nil, "id=own", nil, nil, "id=own"])
  }

  @Test func `with connect-to, the rules are those that the target serves for the URL's own host`() async throws {
    let origin = try Origin(addresses: [.ipv4, .ipv4])
    let first = origin.ports[0]
    origin.setFallback { request in
      guard request.path == "/robots.txt" else { return .body([1]) }
      let refused = request.headers["Host"] == "a.test" && request.port == first ? "/no" : "/other"
      return .body(Array("User-agent: *\nDisallow: \(refused)\n".utf8))
    }
    let fetcher = try Fetcher(concurrency: 1)
    var kinds: [FailureKind?] = []
    for (url, edge) in [("a.test/no", 0), ("a.test/yes", 0), ("b.test/no", 0), ("a.test/no", 1), ("a.test/other", 1)] {
      let connection = DownloadOptions.Connection.with(connectTo: [.init(targetHost: "127.0.0.1", targetPort: origin.ports[edge])]
      )
      let options = DownloadOptions.forTests(headers: [("X-Own", "1")], connection: connection, respectsRobots: true)
      kinds.append(try await fetcher.fetch("http://\(url)", options: options).failure?.kind)
    }
    #expect(kinds == [.robots, nil, nil, nil, .robots])
    let files = origin.requests.filter { $0.path == "/robots.txt" }
    #expect(files.map { $0.headers["Host"] } == ["a.test", "b.test", "a.test"])
    #expect(files.map(\.port) == [first, first, origin.ports[1]])
    #expect(origin.requests.allSatisfy { $0.headers["X-Own"] != nil })
  }

  @Test func `the first 500 KiB of a large file count, and an endless one is cut off`() async throws {
    let head = "User-agent: *\nDisallow: /no\n"
    let body = Array(head.utf8) + [UInt8](repeating: UInt8(ascii: "\n"), count: 600 << 10)
    let origin = try Origin(["/robots.txt": .stall(afterBytes: body.count, declared: 1 << 30, of: body)], fallback: .body([1]))
    let fetcher = try Fetcher()
    #expect(try await fetcher.fetch(origin.url("/no"), options: respectful).failure?.kind == .robots)
    #expect(try await fetcher.fetch(origin.url("/yes"), options: respectful).image != nil)
    try await origin.waitForInFlight(0)
    #expect(origin.count(of: "/robots.txt") == 1)
  }

  @Test func `robots.txt isn't requested from a host that is down, and the failure says so`() async throws {
    let run = try ManualRun(concurrency: 1, circuitBreaker: CircuitBreaker(failures: 1, batchTries: 1))
    let origin = try Origin(fallback: .reset)
    run.fetcher.submit([origin.url("/a"), origin.url("/b")], options: .forTests())
    try await run.settle()
    try await run.advance(by: .seconds(30))
    let end = try await run.fetcher.fetch(origin.url("/c"), id: 9, options: respectful)
    #expect(end.failure?.kind == .hostDown)
    #expect(origin.requests.count == 2)
  }

  @Test func `rules that redirect to a host that is down are unreachable, once for all waiters`() async throws {
    let run = try ManualRun(concurrency: 1, circuitBreaker: CircuitBreaker(failures: 1, batchTries: 1))
    let origin = try Origin(addresses: [.ipv4, .ipv4])
    let (good, target) = (origin.ports[0], origin.url("/rules", host: 1))
    origin.setFallback { $0.port == good ? .redirect(to: target) : .reset }
    run.fetcher.submit([origin.url("/a", host: 1), origin.url("/b", host: 1)])
    try await run.settle()
    try await run.advance(by: .seconds(30))
    run.fetcher.client.submit((10..<14).map { Download($0, origin.url("/\($0)"), options: respectful) })
    try await run.settle()
    #expect(run.ends.count == 6)
    #expect(run.ends.dropFirst(2).allSatisfy { $0.failure?.kind == .hostDown && $0.summary.attempts == 0 })
    #expect(origin.requests.count { $0.port == good } == 1)
  }
}

/// How long robots rules are kept, and who waits for them.
struct RobotsRegistryTests {
  private static let site = URLOrigin(Array("http://a.example/".utf8))!
  private let key = RobotsRegistry.Key(origin: site, server: site, token: "prewarm")
  private let now = MonotonicInstant(nanoseconds: 1_000)

  @Test func `rules are kept for a day, and a failed fetch for five minutes`() throws {
    var registry = RobotsRegistry()
    let failure = ImageFailure(.reset, isTransient: true, message: "no")
    for (policy, last) in [(RobotsRegistry.Policy.rules(RobotsRules()), 86_400), (.unreachable(failure), 300)] as [(_, Int)] {
      let first = registry.wait(1, for: key)
      let number = try #require(first)
      #expect(registry.conclude(number, policy, now: now) == [1])
      #expect(registry.policy(key, now: now.advanced(by: .seconds(last - 1))) != nil)
      #expect(registry.policy(key, now: now.advanced(by: .seconds(last))) == nil)
      #expect(registry.policy(RobotsRegistry.Key(origin: key.origin, server: key.server, token: "other"), now: now) == nil)
    }
  }

  @Test func `one download serves all waiters and is dropped once the last has left`() throws {
    var registry = RobotsRegistry()
    let first = registry.wait(3, for: key)
    let number = try #require(first)
    #expect(registry.wait(1, for: key) == nil && registry.wait(2, for: key) == nil && registry.leave(1, key) == nil)
    #expect(registry.conclude(number, nil, now: now) == [2, 3] && registry.policy(key, now: now) == nil)
    let second = registry.wait(4, for: key)
    let next = try #require(second)
    #expect(next != number)
    #expect(registry.leave(4, key) == next)
  }

  @Test func `a user agent set as a header counts`() {
    var registry = RobotsRegistry()
    #expect(registry.token(for: PreparedOptions(.forTests(headers: [("user-agent", "Own/1")])), defaults: []) == "own")
    #expect(registry.token(for: PreparedOptions(.forTests()), defaults: [HeaderField("User-Agent", "default/2")]) == "default")
    #expect(registry.token(for: PreparedOptions(.forTests(headers: [("User-Agent", nil)])), defaults: []) == "")
  }
}
