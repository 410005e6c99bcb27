import Foundation
import TestOrigin
import TestSupport

private let image = SampleImages.jpeg(9, padding: 30_000)

extension FaultRow {
  /// Bodies that aren't images, or not the wanted ones.
  static let bodies: [FaultRow] = [
    .server(
      "an HTML page for an image",
      "not-an-image",
      "HTML",
      .body(Array("<!doctype html><title>Sorry</title>".utf8), type: "image/jpeg")
    ),
    .server(
      "JSON for an image",
      "not-an-image",
      "the body is JSON",
      .body(Array(#"{"error": "none"}"#.utf8), type: "application/json")
    ),
    .server(
      "text for an image",
      "not-an-image",
      "the body is text",
      .body(Array("not here, sorry, look elsewhere\n".utf8), type: "image/png")
    ),
    .server("an empty body", "empty", "the body is empty", .body([], type: "image/jpeg")),
    .server(
      "another type than declared",
      "content-type",
      "the bytes are image/png",
      .body(SampleImages.png(1), type: "image/jpeg")
    ),
    .server("an image declared as text", "content-type", "the content type is text/plain", .body(image, type: "text/plain")),
    .server(
      "a body above the limit",
      "too-large",
      "max-bytes",
      keys: "request: {max-bytes: 20KB}",
      .body(image, type: "image/jpeg")
    ),
    .server(
      "a body of unknown length above the limit",
      "too-large",
      "exceeds max-bytes",
      keys: "request: {max-bytes: 20KB}",
      .chunked([Array(image[..<15_000]), Array(image[15_000...])], type: "image/jpeg")
    ),
    .server("zeros", "not-an-image", "no known image format", .body([UInt8](repeating: 0, count: 5000))),
    .server(
      "a truncated PNG",
      "undecodable",
      "is truncated",
      keys: full,
      .body(Array(SampleImages.basePNG.dropLast(40)), type: "image/png")
    ),
    .server("a JPEG with a valid start only", "undecodable", "is truncated", keys: full, .body(brokenJPEG, type: "image/jpeg")),
    .server("a header of 60,000 × 60,000 pixels", "dimensions", "verify.max-pixels", .body(bomb, type: "image/png")),
    .server(
      "a format without pixels, to be resized",
      "format",
      "which transform can't resize",
      keys: "transform: {resize: {width: 100}}",
      .body(drawing, type: "image/svg+xml")
    ),
    .server(
      "a format that isn't allowed",
      "format",
      "verify.formats allows png",
      keys: "verify: {formats: [png]}",
      .body(image, type: "image/jpeg")
    ),
    .server(
      "too few pixels",
      "dimensions",
      "verify.width",
      keys: "verify: {width: {min: 100}}",
      .body(image, type: "image/jpeg")
    ),
    .server("too few bytes", "size", "verify.bytes.min", keys: "verify: {bytes: {min: 100KB}}", .body(image, type: "image/jpeg")),
    .server(
      "a decompression bomb",
      "too-large",
      "exceeds max-bytes",
      keys: "request: {max-bytes: 1MB}",
      .computed { _ in gzipBomb }
    ),
  ]

  private static let full = "verify: {decode: full}"
  private static let brokenJPEG = Array(SampleImages.baseJPEG.prefix(120)) + [UInt8](repeating: 0x55, count: 300)
  private static let drawing = Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8)
  private static let bomb = SampleImages.lyingPNG(width: 60_000, height: 60_000)

  /// 20 MB of zeros after a JPEG's start, compressed with gzip.
  private static let gzipBomb: Behaviour = {
    let folder = TemporaryDirectory()
    folder.write(SampleImages.baseJPEG + [UInt8](repeating: 0, count: 20_000_000), to: "bomb")
    _ = try? Command("/bin/gzip", ["-9", folder.file("bomb")]).wait()
    return .body(folder.read("bomb.gz") ?? [], type: "image/jpeg", headers: ["Content-Encoding": "gzip"])
  }()
}
