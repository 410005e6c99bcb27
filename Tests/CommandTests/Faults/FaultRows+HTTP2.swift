import TestOrigin
import TestSupport
import Testing

extension FaultRow {
  /// Servers that break off streams and connections of HTTP/2 (RFC 9113).
  static let http2: [FaultRow] = [
    .http2("refuses the first stream", outcome: "downloaded", requests: 2) { request in
      request.sequence == 1 ? [.reset(request.stream, code: HTTP2Origin.refusedStream)] : answer(request)
    },
    .http2("refuses every stream", kind: "reset", "broke the connection off") {
      [.reset($0.stream, code: HTTP2Origin.refusedStream)]
    },
    .http2("goes away before the answer", outcome: "downloaded", requests: 2) { request in
      request.sequence == 1 ? [.goAway(last: 0), .close] : answer(request)
    },
    .http2("goes away after the answer's start", outcome: "downloaded", requests: 1) { request in
      [.head(request.stream, length: image.count), .data(request.stream, Array(image.prefix(100))), .goAway(last: request.stream)]
        + [.data(request.stream, Array(image.dropFirst(100)), ends: true)]
    },
    .http2("resets a stream midway", kind: "reset", "broke the connection off") { request in
      [.head(request.stream, length: image.count), .data(request.stream, [1, 2])]
        + [.reset(request.stream, code: HTTP2Origin.internalError)]
    },
    .http2("closes midway", kind: nil, "") { request in
      [.head(request.stream, length: image.count), .data(request.stream, [0xFF, 0xD8]), .close]
    },
    .http2("sends less than it said", kind: nil, "") { request in
      [.head(request.stream, length: image.count), .data(request.stream, Array(image.dropLast()), ends: true)]
    },
    FaultRow(
      part: "server",
      fault: "HTTP/2 to one that speaks HTTP/1.1 alone",
      keys: "request: {retries: 0, http: 2}",
      outcome: "failed",
      kind: "connect",
      exit: 2,
      says: "does not speak HTTP/2",
      arrange: { $0.add(.good) }
    ),
  ]

  private static let image = SampleImages.jpeg(9, padding: 3000)

  private static func answer(_ request: HTTP2Origin.Request) -> [HTTP2Origin.Frame] {
    HTTP2Origin.Frame.answer(request.stream, image)
  }

  private static func http2(
    _ fault: String,
    outcome: String = "failed",
    kind: String? = nil,
    _ says: String = "",
    requests: Int? = nil,
    _ respond: @escaping @Sendable (HTTP2Origin.Request) -> [HTTP2Origin.Frame]
  ) -> FaultRow {
    FaultRow(
      part: "server",
      fault: "HTTP/2: \(fault)",
      keys: "request: {retries: 0, http: 2}",
      outcome: outcome,
      kind: kind,
      exit: outcome == "failed" ? 2 : 0,
      says: says
    ) { scene in
      let origin = HTTP2Origin(nil, respond)
      scene.kept.append(origin)
      scene.urls.append(origin.url("/fault.jpg"))
    } check: { scene, result in
      guard let requests else { return }
      let asked = scene.kept.compactMap { $0 as? HTTP2Origin }.first?.requests.map(\.connection)
      // Asked again on another connection, as the same attempt.
      #expect(asked == Array(1...requests))
      let run = try scene.job.finishedRun(result)
      #expect(run.attempts("total") == 1)
    }
  }
}
