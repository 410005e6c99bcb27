import Foundation
import TestOrigin
import TestSupport
import Testing

/// Long enough to connect on a busy machine, short enough for a test.
private let impatient = "request: {retries: 0, stall-timeout: 1s}"
private let small = "request: {max-bytes: 20KB}"
private let full = "verify: {decode: full}"

private let image = SampleImages.jpeg(9, padding: 30_000)
private let photo = Behaviour.body(image, type: "image/jpeg")

/// A response of 200 with these fields and bytes.
private func ok(_ fields: String..., body: [UInt8] = []) -> Behaviour {
  .raw(Array((["HTTP/1.1 200 OK"] + fields + ["", ""]).joined(separator: "\r\n").utf8) + body)
}

/// The image, whose transfer ends after 1000 bytes.
private func broken(by way: BreakOff) -> Behaviour { photo.brokenOff(afterBytes: 1000, by: way) }

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
    .server("resets midway", "reset", "closed the connection after 1000 bytes", broken(by: .reset)),
    .server("truncates the body", "truncated", "the body ended after 1000 of", broken(by: .close)),
    .server("declares more than it sends", "truncated", "the body ended after") {
      .cut(afterBytes: image.count, declared: image.count + 1, of: image, type: "image/jpeg")
    },
    .server("never responds", "stalled", "no data for 1 s", keys: impatient, .stall),
    .server("stops in the middle of the header", "stalled", "no data for 1 s", keys: impatient) {
      .raw("HTTP/1.1 200 OK\r\nContent-Ty", closes: false)
    },
    .server("stops in the middle of the body", "stalled", "no data for 1 s", keys: impatient, broken(by: .stall)),
    .server("redirects to itself", "redirects", "redirect loop", .redirect(to: "/fault.jpg")),
    .server("redirects too often", "redirects", "more than 3 redirects", keys: "request: {retries: 0, redirects: 3}") {
      .computed { .redirect(to: "/fault.jpg?\((Int($0.target.split(separator: "?").last ?? "") ?? 0) + 1)") }
    },
    .server("redirects without a Location", "http-status", "302", .status(302)),
    .server("redirects to a file", "redirects", "neither http nor https", .redirect(to: "file:///etc/passwd")),
    .server("redirects to an unknown scheme", "redirects", "neither http nor https", .redirect(to: "gopher://127.0.0.1/1")),
    .server("redirects to an invalid URL", "redirects", "the URL has no host", .redirect(to: "http://")),
    .server("an invalid status line", "reset", "sent an invalid HTTP response", .raw("HELLO 200 OK\r\n\r\n")),
    .server("a header of 1 MB", "reset", "the header is too long", ok("X-Long: " + String(repeating: "a", count: 1_000_000))),
    .server("a header of 20,000 lines, and no body", "empty", "the body is empty") {
      ok((0..<20_000).map { "X-\($0): a" }.joined(separator: "\r\n"))
    },
    .server("a header line without a colon", "reset", "Header without colon", ok("no colon here", "Content-Length: 0")),
    .server("two lengths that differ", "reset", "the Content-Length headers differ") {
      ok("Content-Length: 5", "Content-Length: 6", body: image)
    },
    .server("a negative length", "reset", "Invalid Content-Length", ok("Content-Length: -5", body: image)),
    .chunked("truncates a chunk", "truncated", "the body ended after 3 bytes", "400\r\nabc"),
    .chunked("a chunk's length is invalid", "reset", "closed the connection", "zz\r\nabc\r\n0\r\n\r\n"),
    .chunked("a chunk's length is wrong", "reset", "closed the connection", "ffffffffffffffffff\r\nabc\r\n0\r\n\r\n"),
    .server("declares gzip for an uncompressed body", "content-type", "incorrect header check") {
      .body(image, type: "image/jpeg", headers: ["Content-Encoding": "gzip"])
    },
    .server("an unknown coding", "content-type", "snappy") {
      .body([UInt8](repeating: 200, count: 5000), type: "image/jpeg", headers: ["Content-Encoding": "snappy"])
    },
  ]

  private static func chunked(_ fault: String, _ kind: String, _ says: String, _ body: String) -> FaultRow {
    .server(fault, kind, says, ok("Transfer-Encoding: chunked", body: Array(body.utf8)))
  }
}

extension FaultRow {
  /// Bodies that aren't images, or not the wanted ones.
  static let bodies: [FaultRow] = [
    .server(
      "an HTML page for an image",
      "not-an-image",
      "HTML",
      .text("<!doctype html><title>Sorry</title>", type: "image/jpeg")
    ),
    .server("JSON for an image", "not-an-image", "the body is JSON", .text(#"{"error": "none"}"#, type: "application/json")),
    .server("text for an image", "not-an-image", "the body is text", .text("not here, look elsewhere\n", type: "image/png")),
    .server("an empty body", "empty", "the body is empty", .body([], type: "image/jpeg")),
    .server("another type than declared", "content-type", "the bytes are image/png") {
      .body(SampleImages.png(1), type: "image/jpeg")
    },
    .server("an image declared as text", "content-type", "the content type is text/plain", .body(image, type: "text/plain")),
    .server("a body above the limit", "too-large", "max-bytes", keys: small, photo),
    .server("a body of unknown length above the limit", "too-large", "exceeds max-bytes", keys: small) {
      .chunked([Array(image[..<15_000]), Array(image[15_000...])], type: "image/jpeg")
    },
    .server("zeros", "not-an-image", "no known image format", .body([UInt8](repeating: 0, count: 5000))),
    .server("a truncated PNG", "undecodable", "is truncated", keys: full) {
      .body(Array(SampleImages.basePNG.dropLast(40)), type: "image/png")
    },
    .server("a JPEG with a valid start only", "undecodable", "is truncated", keys: full) {
      .body(Array(SampleImages.baseJPEG.prefix(120)) + [UInt8](repeating: 0x55, count: 300), type: "image/jpeg")
    },
    .server("a header of 60,000 × 60,000 pixels", "dimensions", "verify.max-pixels") {
      .body(SampleImages.lyingPNG(width: 60_000, height: 60_000), type: "image/png")
    },
    .server(
      "a format without pixels, to be resized",
      "format",
      "which transform can't resize",
      keys: "transform: {resize: {width: 100}}",
      .text("<svg xmlns='http://www.w3.org/2000/svg'/>", type: "image/svg+xml")
    ),
    .server("a format that isn't allowed", "format", "verify.formats allows png", keys: "verify: {formats: [png]}", photo),
    .server("too few pixels", "dimensions", "verify.width", keys: "verify: {width: {min: 100}}", photo),
    .server("too few bytes", "size", "verify.bytes.min", keys: "verify: {bytes: {min: 100KB}}", photo),
    .server("a decompression bomb", "too-large", "exceeds max-bytes", keys: "request: {max-bytes: 1MB}") {
      .computed { _ in gzipBomb }
    },
  ]

  /// 20 MB of zeros after a JPEG's start, compressed with gzip.
  private static let gzipBomb: Behaviour = {
    let folder = TemporaryDirectory()
    folder.write(SampleImages.baseJPEG + [UInt8](repeating: 0, count: 20_000_000), to: "bomb")
    _ = try? Command("/bin/gzip", ["-9", folder.file("bomb")]).wait()
    return .body(folder.read("bomb.gz") ?? [], type: "image/jpeg", headers: ["Content-Encoding": "gzip"])
  }()
}

extension FaultRow {
  /// Bodies that are interrupted, and resumed by a retry, or not.
  static let interrupted: [FaultRow] = [
    resumed("truncates a body once", [half, whole], ranges: [nil, "bytes=95904-"]),
    resumed("resets a body again and again", [100_000, 60_000, 1].map { whole.brokenOff(afterBytes: $0, by: .reset) } + [whole]),
    resumed("truncates a body, then has another image", [half, changed], ranges: [nil, "bytes=95904-"], isCountedOnce: false),
    resumed(
      "truncates a body, and ignores ranges",
      [plain.brokenOff(afterBytes: 100_000), plain],
      ranges: [nil, nil],
      isCountedOnce: false
    ),
    // The whole is requested at once, in the same attempt.
    resumed("truncates a body, then sends a wrong range", [half, otherRange, whole], isCountedOnce: false, attempts: 2),
    .server("truncates a body each time", "truncated", "the body ended after 1000 of", keys: keys) {
      plain.brokenOff(afterBytes: 1000)
    },
  ]

  private static let keys = "request: {retries: 5, backoff: {initial: 1ms, maximum: 2ms}}"
  private static let large = SampleImages.jpeg(9, padding: 300_000)
  private static let plain = Behaviour.body(large, type: "image/jpeg")
  private static let half = whole.brokenOff(afterBytes: 100_000)
  private static let changed = Behaviour.ranged(large, type: "image/jpeg", headers: validators("\"2\""))
  private static let otherRange = Behaviour.part(5..<1000, of: large, headers: validators("\"1\""))
  private static let whole = Behaviour.ranged(large, type: "image/jpeg", headers: validators("\"1\""))

  private static func validators(_ tag: String) -> HeaderFields { ["ETag": tag, "Accept-Ranges": "bytes"] }

  /// - Parameter ranges: the range of each request; nil if it depends on the network.
  private static func resumed(
    _ fault: String,
    _ behaviours: [Behaviour],
    ranges: [String?]? = nil,
    isCountedOnce: Bool = true,
    attempts: Int? = nil
  ) -> FaultRow {
    FaultRow("server", fault, .downloaded, keys: keys) { scene in
      scene.add(.sequence(behaviours))
    } check: { scene, run in
      let requests = scene.origin.requests.filter { $0.path == "/fault.jpg" }
      #expect(run.attempts("total") == attempts ?? behaviours.count)
      #expect(requests.count == behaviours.count)
      if let ranges { #expect(requests.map { $0.headers["Range"] } == ranges) }
      for request in requests { #expect((request.headers["Range"] == nil) == (request.headers["If-Range"] == nil)) }
      let downloaded = run.section("bytes")["downloaded"] as? Int ?? 0
      // A range starts with the last bytes of the previous part.
      #expect(downloaded >= large.count && (downloaded < large.count + 50_000) == isCountedOnce)
    }
  }
}
