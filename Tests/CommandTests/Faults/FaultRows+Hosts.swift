import Synchronization
import TestOrigin
import TestSupport
import Testing

extension FaultRow {
  /// One bad host among good ones.
  static let otherHosts: [FaultRow] =
    ["fifo", "lifo"].map { order in
      FaultRow(
        "server",
        "one of ten hosts stalls, in \(order.uppercased())",
        .downloaded,
        keys: "prefetch: {order: \(order), concurrency: 2, per-host: 1}"
      ) { scene in
        let gate = Gate()
        let origin = try Origin(addresses: [Origin.Address](repeating: .ipv4, count: 10))
        let bad = origin.ports[0]
        origin.setFallback { $0.port == bad ? .held(gate, then: .good) : .good }
        scene.others.append(origin)
        scene.gates.append(gate)
        // The stalling host comes first from either end, and occupies one of two transfers.
        scene.urls += (0...60).map { origin.url("/\($0).jpg", host: $0 % 10) }
        scene.options += JobFolder.patience
      } run: { scene in
        let command = try scene.start()
        try await scene.others[0].waitForRequests(55)
        scene.gates[0].open()
        return try await command.wait()
      } check: { scene, run in
        let origin = scene.others[0]
        let isBad = origin.requests.prefix(55).map { $0.port == origin.ports[0] }
        #expect(isBad.count { $0 } == 1, "the stalling host got \(isBad.count { $0 }) requests meanwhile")
        let asked = origin.requests.filter { $0.port != origin.ports[0] }.map(\.path)
        let others = (0...60).filter { $0 % 10 != 0 }.map { "/\($0).jpg" }
        #expect(asked == (order == "fifo" ? others : others.reversed()), "\(asked)")
        #expect(run.totals["downloaded"] == 61, "\(run.totals)")
      }
    } + [
      FaultRow("network", "one of two edges is down", .failed("connect", "Connection refused")) { scene in
        let port = scene.keep(RefusedPort())
        scene.add(.good)
        let edges = "{east: '127.0.0.1:\(scene.origin.port)', west: '127.0.0.1:\(port.port)'}"
        scene.set("request.edges=\(edges)")
      } check: { scene, run in
        // Two edges for each of three URLs.
        let totals = run.totals
        #expect(totals["downloaded"] == 3 && totals["failed"] == 3, "\(totals)")
      },
      FaultRow(
        "server",
        "a CDN miss if a hit is required",
        .failed("remote-cache", "X-Cache: MISS"),
        keys: "verify: {remote-cache: hit}"
      ) { scene in
        scene.add(.jpeg(9, headers: ["X-Cache": "MISS"]))
      } check: { scene, _ in
        #expect(scene.origin.count(of: "/fault.jpg") == 2, "\(scene.origin.count(of: "/fault.jpg")) requests")
      },
      .server("a CDN without a cache status if a hit is required", "remote-cache", "", keys: "verify: {remote-cache: hit}") {
        .good
      },
    ]

  /// nginx with rate limits by `limit_req`.
  static let limitedByNginx: [FaultRow] = [
    limited("nginx limits requests without Retry-After", keys: "request: {retries: 100, \(hasty)}", rate: "rate=20r/s"),
    limited(
      "nginx limits requests with Retry-After",
      keys: "request: {retries: 0}",
      rate: "rate=20r/s",
      "burst=3 nodelay",
      retryAfter: "1"
    ),
    limited(
      "nginx limits requests, and the rate stays below its limit",
      keys: "request: {retries: 0}\nprefetch: {per-host-rate: 20/s}",
      rate: "rate=40r/s",
      "burst=10 nodelay",
      images: 30,
      isLimited: false
    ),
  ]

  private static let hasty = "backoff: {initial: 50ms, maximum: 200ms}"

  private static func limited(
    _ fault: String,
    keys: String,
    rate: String,
    _ burst: String = "",
    retryAfter: String? = nil,
    images: Int = 6,
    isLimited: Bool = true
  ) -> FaultRow {
    FaultRow("server", fault, .downloaded, keys: keys) { scene in
      let folder = TemporaryDirectory()
      for number in 0..<images { folder.write(SampleImages.jpeg(number), to: "\(number).jpg") }
      let nginx = try await Nginx(
        serving: folder.path,
        directives: """
          limit_req zone=all \(burst);
          limit_req_status 429;
          error_page 429 /busy;
          location = /busy { internal; \(retryAfter.map { "add_header Retry-After \($0) always;" } ?? "") return 429; }
          """,
        httpDirectives: "limit_req_zone $server_port zone=all:1m \(rate);"
      )
      scene.kept += [folder, nginx]
      scene.urls += (0..<images).map { nginx.url("/\($0).jpg") }
    } check: { _, run in
      let refused = (run.attempts("total") ?? 0) - images
      #expect(run.totals["downloaded"] == images, "\(run.totals)")
      #expect(isLimited ? refused > 0 : refused == 0, "\(refused) responses of 429")
      #expect(!isLimited || run.waitedSeconds > 0, "\(run.section("attempts"))")
    }
  }
}

extension FaultRow {
  /// Hosts that request pauses, or are down.
  static let throttling: [FaultRow] = [
    FaultRow("server", "429 with Retry-After for half of the requests", .downloaded, keys: "prefetch: {per-host: 1}") { scene in
      let turns = Mutex<[Int: Int]>([:])
      let origin = try Origin(addresses: [.ipv4, .ipv4, .ipv4])
      origin.setFallback { request in
        let turn = turns.withLock { turns in
          turns[request.port, default: 0] += 1
          return turns[request.port] ?? 0
        }
        return turn.isMultiple(of: 2) ? .good : .status(429, headers: ["Retry-After": "1"])
      }
      scene.others.append(origin)
      scene.urls += (0..<6).map { origin.url("/\($0).jpg", host: $0 % 3) }
    } check: { scene, run in
      let requests = scene.others[0].requests
      #expect(run.totals["downloaded"] == 6 && requests.count == 12, "\(run.totals), \(requests.count) requests")
      #expect(run.waitedSeconds >= 6, "waited \(run.waitedSeconds) s")
      #expect(run.attempts("total") == 12 && run.attempts("retried") == 6, "\(run.section("attempts"))")
      for port in scene.others[0].ports {
        let times = requests.filter { $0.port == port }.map(\.arrival)
        // One at a time: every other request got 429.
        for (refused, next) in zip(times, times.dropFirst()).enumerated().filter({ $0.offset % 2 == 0 }).map(\.element) {
          #expect(refused.duration(to: next) >= .seconds(1), "requested again after \(refused.duration(to: next))")
        }
      }
    },
    FaultRow(
      "server",
      "429 with Retry-After, always and for 200 URLs",
      .failed("http-status", "longer than request.retry-after-max (2 s)"),
      keys: "request: {retries: 0, retry-after-max: 2s}"
    ) { scene in
      for number in 0..<200 { scene.add(.status(429, headers: ["Retry-After": "1"]), at: "/\(number).jpg") }
    } check: { scene, run in
      #expect(run.totals["failed"] == 200, "\(run.totals)")
      // Two for the stored images; eight at a time for two pauses at most, which are requests sent before a pause was
      // known.
      #expect(scene.origin.requests.count < 60, "\(scene.origin.requests.count) requests")
    },
    FaultRow("server", "503 until a date", .downloaded) { scene in
      let headers: HeaderFields = ["Date": "Sun, 06 Nov 1994 08:49:37 GMT", "Retry-After": "Sun, 06 Nov 1994 08:49:38 GMT"]
      scene.add(.sequence([.status(503, headers: headers), .good]))
    } check: { scene, run in
      #expect(run.waitedSeconds >= 1 && scene.origin.count(of: "/fault.jpg") == 2, "\(run.section("attempts"))")
    },
    .server("503 until a date in the far future", "http-status", "request.retry-after-max (120 s)") {
      .status(503, headers: ["Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"])
    },
    .server("503 with an invalid Retry-After", "http-status", "503", .status(503, headers: ["Retry-After": "soon, -1"])),
    FaultRow(
      "network",
      "a host that is down, with 60 URLs",
      .failed("host-down", "connection refused"),
      keys: "request: {retries: 0}\nprefetch: {deadline: 2s}"
    ) { scene in
      let port = scene.keep(RefusedPort())
      scene.urls += (0..<60).map { port.url("/\($0).jpg") }
    } check: { scene, run in
      let kinds = run.failuresByKind
      #expect((kinds["connect"] ?? 0) + (kinds["host-down"] ?? 0) == 60, "\(run.totals) \(kinds)")
    },
  ]
}

extension Behaviour {
  /// An image.
  static let good = Behaviour.jpeg(9, padding: 3000)
}

extension Run {
  /// The number of attempts of a kind.
  func attempts(_ name: String) -> Int? { section("attempts")[name] as? Int }

  /// The total time that entries waited.
  var waitedSeconds: Double { section("attempts")["waited_seconds"] as? Double ?? 0 }
}
