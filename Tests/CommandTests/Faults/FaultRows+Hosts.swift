import TestOrigin
import TestSupport
import Testing

extension FaultRow {
  /// One bad host among good ones.
  static let otherHosts: [FaultRow] =
    ["fifo", "lifo"].map { order in
      FaultRow(
        part: "server",
        fault: "one of ten hosts stalls, in \(order.uppercased())",
        keys: "prefetch: {order: \(order), concurrency: 2, per-host: 1}",
        outcome: "downloaded",
        exit: 0,
        says: ""
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
      } check: { scene, result in
        let origin = scene.others[0]
        let isBad = origin.requests.prefix(55).map { $0.port == origin.ports[0] }
        #expect(isBad.count { $0 } == 1, "the stalling host got \(isBad.count { $0 }) requests meanwhile")
        let asked = origin.requests.filter { $0.port != origin.ports[0] }.map(\.path)
        let others = (0...60).filter { $0 % 10 != 0 }.map { "/\($0).jpg" }
        #expect(asked == (order == "fifo" ? others : others.reversed()), "\(asked)")
        let run = try scene.job.finishedRun(result)
        #expect(run.totals["downloaded"] == 61, "\(run.totals)")
      }
    } + [
      FaultRow(
        part: "network",
        fault: "one of two edges is down",
        outcome: "failed",
        kind: "connect",
        exit: 2,
        says: "Connection refused"
      ) { scene in
        let port = RefusedPort()
        scene.kept.append(port)
        scene.add(.good)
        let edges = "{east: '127.0.0.1:\(scene.origin.port)', west: '127.0.0.1:\(port.port)'}"
        scene.options += ["--set", "request.edges=\(edges)"]
      } check: { scene, result in
        // Two edges for each of three URLs.
        let totals = try scene.job.finishedRun(result).totals
        #expect(totals["downloaded"] == 3 && totals["failed"] == 3, "\(totals)")
      },
      FaultRow(
        part: "server",
        fault: "a CDN miss if a hit is required",
        keys: "verify: {remote-cache: hit}",
        outcome: "failed",
        kind: "remote-cache",
        exit: 2,
        says: "X-Cache: MISS"
      ) { scene in
        scene.add(.body(SampleImages.jpeg(9), type: "image/jpeg", headers: ["X-Cache": "MISS"]))
      } check: { scene, _ in
        #expect(scene.origin.count(of: "/fault.jpg") == 2, "\(scene.origin.count(of: "/fault.jpg")) requests")
      },
      .server(
        "a CDN without a cache status if a hit is required",
        "remote-cache",
        "",
        keys: "verify: {remote-cache: hit}",
        .good
      ),
    ]

  /// nginx with rate limits by `limit_req`.
  static let limitedByNginx: [FaultRow] = [
    limited(
      "nginx limits requests without Retry-After",
      keys: "request: {retries: 100, \(hasty)}",
      rate: "rate=20r/s"
    ),
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
    FaultRow(part: "server", fault: fault, keys: keys, outcome: "downloaded", exit: 0, says: "") { scene in
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
    } check: { scene, result in
      let run = try scene.job.finishedRun(result)
      let refused = (run.attempts("total") ?? 0) - images
      #expect(run.totals["downloaded"] == images, "\(run.totals)")
      #expect(isLimited ? refused > 0 : refused == 0, "\(refused) responses of 429")
      #expect(!isLimited || run.waitedSeconds > 0, "\(run.section("attempts"))")
    }
  }
}
