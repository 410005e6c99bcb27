import TestOrigin
import TestSupport

/// Long enough to connect on a busy machine, short enough for a test.
private let impatient = "request: {retries: 0, stall-timeout: 1s}"

private let image = SampleImages.jpeg(9, padding: 30_000)

private func head(_ lines: String...) -> [UInt8] { Array((lines + ["", ""]).joined(separator: "\r\n").utf8) }

extension FaultRow {
  /// Missing and wrong responses.
  static let server: [FaultRow] = [
    .server("404", "http-status", "404 Not Found", .status(404)),
    .server("410", "http-status", "410 Gone", .status(410)),
    .server("401", "http-status", "401 Unauthorized", .status(401)),
    .server("403", "http-status", "403 Forbidden", .status(403)),
    .server("429 without Retry-After", "http-status", "429", .status(429)),
    .server("500", "http-status", "500", .status(500)),
    .server("503 without Retry-After", "http-status", "503", .status(503)),
    .server("a status without a name, 599", "http-status", "599", .raw("HTTP/1.1 599 \r\nContent-Length: 0\r\n\r\n")),
    .server("204, a response without a body", "http-status", "204", .status(204)),
    .server("an unrequested 206", "http-status", "206", .part(0..<100, of: image, type: "image/jpeg")),
    .server("an unrequested 304", "http-status", "304", .status(304)),
    .server("closes before the response", "reset", "closed the connection before the response headers", .close),
    .server("resets before the response", "reset", "closed the connection before the response headers", .reset),
    .server(
      "resets midway",
      "reset",
      "closed the connection after 1000 bytes",
      .reset(afterBytes: 1000, declared: 30_000, of: image, type: "image/jpeg")
    ),
    .server(
      "truncates the body",
      "truncated",
      "the body ended after 1000 of",
      .cut(afterBytes: 1000, declared: image.count, of: image, type: "image/jpeg")
    ),
    .server(
      "declares more than it sends",
      "truncated",
      "the body ended after",
      .wrongLength(declared: image.count + 1, actual: image, type: "image/jpeg")
    ),
    .server("never responds", "stalled", "no data for 1 s", keys: impatient, .stall),
    .server(
      "stops in the middle of the header",
      "stalled",
      "no data for 1 s",
      keys: impatient,
      .raw("HTTP/1.1 200 OK\r\nContent-Ty", closes: false)
    ),
    .server(
      "stops in the middle of the body",
      "stalled",
      "no data for 1 s",
      keys: impatient,
      .stall(afterBytes: 1000, declared: image.count, of: image, type: "image/jpeg")
    ),
    .server("redirects to itself", "redirects", "redirect loop", .redirect(to: "/fault.jpg")),
    .server(
      "redirects too often",
      "redirects",
      "more than 3 redirects",
      keys: "request: {retries: 0, redirects: 3}",
      .endlessRedirects
    ),
    .server("redirects without a Location", "http-status", "302", .status(302)),
    .server("redirects to a file", "redirects", "neither http nor https", .redirect(to: "file:///etc/passwd")),
    .server(
      "redirects to an unknown scheme",
      "redirects",
      "neither http nor https",
      .redirect(to: "gopher://127.0.0.1/1")
    ),
    .server("redirects to an invalid URL", "redirects", "the URL has no host", .redirect(to: "http://")),
    .server("an invalid status line", "reset", "sent an invalid HTTP response", .raw("HELLO 200 OK\r\n\r\n")),
    .server(
      "a header of 1 MB",
      "reset",
      "the header is too long",
      .raw(head("HTTP/1.1 200 OK", "X-Long: " + String(repeating: "a", count: 1_000_000)))
    ),
    .server("a header of 20,000 lines, and no body", "empty", "the body is empty", .raw(manyHeaders)),
    .server(
      "a header line without a colon",
      "reset",
      "sent an invalid HTTP response: Header without colon",
      .raw(head("HTTP/1.1 200 OK", "no colon here", "Content-Length: 0"))
    ),
    .server(
      "two lengths that differ",
      "reset",
      "the Content-Length headers differ",
      .raw(head("HTTP/1.1 200 OK", "Content-Length: 5", "Content-Length: 6") + image)
    ),
    .server(
      "a negative length",
      "reset",
      "sent an invalid HTTP response: Invalid Content-Length",
      .raw(head("HTTP/1.1 200 OK", "Content-Length: -5") + image)
    ),
    .server(
      "truncates a chunk",
      "truncated",
      "the body ended after 3 bytes",
      .raw(head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + Array("400\r\nabc".utf8))
    ),
    .server(
      "a chunk's length is invalid",
      "reset",
      "closed the connection",
      .raw(head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + Array("zz\r\nabc\r\n0\r\n\r\n".utf8))
    ),
    .server(
      "a chunk's length is wrong",
      "reset",
      "closed the connection",
      .raw(head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + Array("ffffffffffffffffff\r\nabc\r\n0\r\n\r\n".utf8))
    ),
    .server(
      "declares gzip for an uncompressed body",
      "content-type",
      "incorrect header check",
      .body(image, type: "image/jpeg", headers: ["Content-Encoding": "gzip"])
    ),
    .server(
      "an unknown coding",
      "content-type",
      "snappy",
      .body([UInt8](repeating: 200, count: 5000), type: "image/jpeg", headers: ["Content-Encoding": "snappy"])
    ),
  ]

  private static let manyHeaders =
    head("HTTP/1.1 200 OK").dropLast(2) + (0..<20_000).flatMap { Array("X-\($0): a\r\n".utf8) } + Array("\r\n".utf8)
}

extension Behaviour {
  /// Each response redirects to another one.
  fileprivate static var endlessRedirects: Behaviour {
    .computed { request in .redirect(to: "/fault.jpg?\((Int(request.target.split(separator: "?").last ?? "") ?? 0) + 1)") }
  }
}
