import Synchronization
import TestOrigin
import TestSupport
import Testing

extension FaultRow {
  /// Hosts that request pauses, or are down.
  static let throttling: [FaultRow] = [
    FaultRow(
      part: "server",
      fault: "429 with Retry-After for half of the requests",
      keys: "prefetch: {per-host: 1}",
      outcome: "downloaded",
      exit: 0,
      says: ""
    ) { scene in
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
    } check: { scene, result in
      let run = try scene.job.finishedRun(result)
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
      part: "server",
      fault: "429 with Retry-After, always and for 200 URLs",
      keys: "request: {retries: 0, retry-after-max: 2s}",
      outcome: "failed",
      kind: "http-status",
      exit: 2,
      says: "longer than request.retry-after-max (2 s)"
    ) { scene in
      for number in 0..<200 { scene.add(.status(429, headers: ["Retry-After": "1"]), at: "/\(number).jpg") }
    } check: { scene, result in
      let run = try scene.job.finishedRun(result)
      #expect(run.totals["failed"] == 200, "\(run.totals)")
      // Two for the stored images; eight at a time for two pauses at most, which are requests sent before a pause was
      // known.
      #expect(scene.origin.requests.count < 60, "\(scene.origin.requests.count) requests")
    },
    FaultRow(part: "server", fault: "503 until a date", outcome: "downloaded", exit: 0, says: "") { scene in
      let headers: HeaderFields = ["Date": "Sun, 06 Nov 1994 08:49:37 GMT", "Retry-After": "Sun, 06 Nov 1994 08:49:38 GMT"]
      scene.add(.sequence([.status(503, headers: headers), .good]))
    } check: { scene, result in
      let run = try scene.job.finishedRun(result)
      #expect(run.waitedSeconds >= 1 && scene.origin.count(of: "/fault.jpg") == 2, "\(run.section("attempts"))")
    },
    .server(
      "503 until a date in the far future",
      "http-status",
      "request.retry-after-max (120 s)",
      .status(503, headers: ["Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"])
    ),
    .server("503 with an invalid Retry-After", "http-status", "503", .status(503, headers: ["Retry-After": "soon, -1"])),
    FaultRow(
      part: "network",
      fault: "a host that is down, with 60 URLs",
      keys: "request: {retries: 0}\nprefetch: {deadline: 2s}",
      outcome: "failed",
      kind: "host-down",
      exit: 2,
      says: "connection refused"
    ) { scene in
      let port = RefusedPort()
      scene.kept.append(port)
      scene.urls += (0..<60).map { port.url("/\($0).jpg") }
    } check: { scene, result in
      let run = try scene.job.finishedRun(result)
      let kinds = run.failuresByKind
      #expect((kinds["connect"] ?? 0) + (kinds["host-down"] ?? 0) == 60, "\(run.totals) \(kinds)")
    },
  ]
}

extension Behaviour {
  /// An image.
  static let good = Behaviour.body(SampleImages.jpeg(9, padding: 3000), type: "image/jpeg")
}

extension Run {
  /// The number of attempts of a kind.
  func attempts(_ name: String) -> Int? { section("attempts")[name] as? Int }

  /// The total time that entries waited.
  var waitedSeconds: Double { section("attempts")["waited_seconds"] as? Double ?? 0 }
}
