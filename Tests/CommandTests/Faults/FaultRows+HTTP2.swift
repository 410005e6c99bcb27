import TestOrigin
import TestSupport
import Testing

extension FaultRow {
  /// Servers that reset streams and close connections of HTTP/2 (RFC 9113).
  static let http2: [FaultRow] = [
    .http2("refuses the first stream", outcome: "downloaded", connections: [1, 2]) { request in
      request.sequence == 1 ? [.reset(request.stream, code: HTTP2Origin.refusedStream)] : answer(request)
    },
    .http2("refuses every stream", kind: "reset", "closed the connection") {
      [.reset($0.stream, code: HTTP2Origin.refusedStream)]
    },
    .http2("goes away before the first response", outcome: "downloaded", connections: [1, 2], attempts: 2) { request in
      request.sequence == 1 ? [.goAway(last: 0)] : answer(request)
    },
    .http2("goes away between two responses", outcome: "downloaded", connections: [1, 1, 2], attempts: 3, urls: 2) { request in
      request.sequence == 2 ? [.goAway(last: 1)] : answer(request)
    },
    .http2("goes away after the response's start", outcome: "downloaded", connections: [1]) { request in
      [
        .head(request.stream, length: image.count), .data(request.stream, Array(image.prefix(100))),
        .goAway(last: request.stream),
      ]
        + [.data(request.stream, Array(image.dropFirst(100)), ends: true)]
    },
    .http2("resets a stream midway", kind: "reset", "closed the connection") { request in
      [.head(request.stream, length: image.count), .data(request.stream, [1, 2])]
        + [.reset(request.stream, code: HTTP2Origin.internalError)]
    },
    .http2("closes midway", kind: "truncated", "the body ended after 2 of") { request in
      [.head(request.stream, length: image.count), .data(request.stream, [0xFF, 0xD8]), .close]
    },
    .http2("ends half an image without a length", kind: "truncated", "before the end of the image") { request in
      [.head(request.stream), .data(request.stream, Array(image.prefix(1500)), ends: true)]
    },
    .http2("sends less than declared", kind: "reset", "closed the connection") { request in
      [.head(request.stream, length: image.count), .data(request.stream, Array(image.dropLast()), ends: true)]
    },
    FaultRow(
      part: "server",
      fault: "HTTP/2 to a server of HTTP/1.1 only",
      keys: "request: {retries: 0, http: 2}",
      outcome: "failed",
      kind: "connect",
      exit: 2,
      says: "may not support HTTP/2",
      arrange: { $0.add(.good) }
    ),
  ]

  private static let image = SampleImages.jpeg(9, padding: 3000)

  private static let hasty = "backoff: {initial: 1ms, maximum: 2ms}"

  private static func answer(_ request: HTTP2Origin.Request) -> [HTTP2Origin.Frame] {
    HTTP2Origin.Frame.answer(request.stream, image)
  }

  private static func http2(
    _ fault: String,
    outcome: String = "failed",
    kind: String? = nil,
    _ says: String = "",
    connections: [Int]? = nil,
    attempts: Int = 1,
    urls: Int = 1,
    _ respond: @escaping @Sendable (HTTP2Origin.Request) -> [HTTP2Origin.Frame]
  ) -> FaultRow {
    FaultRow(
      part: "server",
      fault: "HTTP/2: \(fault)",
      keys: "request: {retries: \(outcome == "failed" ? 0 : 1), \(hasty), http: 2}\nprefetch: {concurrency: 1}",
      outcome: outcome,
      kind: kind,
      exit: outcome == "failed" ? 2 : 0,
      says: says
    ) { scene in
      let certificates = try await Certificates.shared.value
      let origin = HTTP2Origin(certificates, respond)
      scene.kept.append(origin)
      scene.options += ["--set", "request.tls.ca-file=\(certificates.authority)"]
      scene.urls += (1...urls).map { origin.url("/\($0).jpg") }
    } check: { scene, result in
      // A refused stream is repeated as the same attempt, without counting; one cancelled by a GOAWAY as a retry.
      guard let connections else { return }
      let asked = scene.kept.compactMap { $0 as? HTTP2Origin }.first?.requests.map(\.connection)
      #expect(asked == connections)
      let run = try scene.job.finishedRun(result)
      #expect(run.attempts("total") == attempts)
    }
  }
}
