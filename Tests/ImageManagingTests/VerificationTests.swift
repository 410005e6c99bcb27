import ImageManaging
import Base
import TestOrigin
import TestSupport
import Testing

/// Which images are accepted, with real bodies from a real server.
@Suite struct VerificationTests {
  private struct Case: Sendable, CustomTestStringConvertible {
    let what: String
    let rules: VerificationRules
    let fixture: String
    let type: String?
    /// Nil if it is accepted.
    let kind: FailureKind?
    var testDescription: String { what }

    init(_ what: String, _ rules: VerificationRules, _ fixture: String, _ type: String?, _ kind: FailureKind?) {
      self.what = what
      self.rules = rules
      self.fixture = fixture
      self.type = type
      self.kind = kind
    }
  }

  private static let header = VerificationRules()
  private static let full = VerificationRules(depth: .full)
  private static let none = VerificationRules(depth: .none)

  private static let cases = [
    Case("a good JPEG", header, "good/photo.jpg", "image/jpeg", nil),
    Case("an alias of its type", header, "good/photo.jpg", "image/jpg", nil),
    Case("a generic type", header, "good/photo.jpg", "application/octet-stream", nil),
    Case("a type that says nothing", header, "good/photo.jpg", "unknown/unknown", nil),
    Case("no type", header, "good/photo.jpg", nil, nil),
    Case("another image's type", header, "good/photo.jpg", "image/png", .contentType),
    Case("a page's type", header, "good/photo.jpg", "text/html", .contentType),
    Case("another type, ignored", VerificationRules(contentType: .ignore), "good/photo.jpg", "text/html", nil),
    Case("an alias, exactly", VerificationRules(contentType: .exact), "good/photo.jpg", "image/jpg", .contentType),
    Case("no type, exactly", VerificationRules(contentType: .exact), "good/photo.jpg", nil, .contentType),
    Case("parameters of a type", VerificationRules(contentType: .exact), "good/photo.jpg", "Image/JPEG; q=1", nil),
    Case("HTML", header, "broken/page.jpg", "image/jpeg", .notAnImage),
    Case("HTML, not decoded", none, "broken/page.jpg", "image/jpeg", .notAnImage),
    Case("text", header, "broken/text.png", "image/png", .notAnImage),
    Case("nothing", header, "broken/empty.jpg", "image/jpeg", .empty),
    Case("a format that isn't allowed", VerificationRules(formats: [.png, .webp]), "good/photo.jpg", nil, .format),
    Case("a bitmap without pixels", header, "bitmap", "image/bmp", .undecodable),
    Case("a bitmap", full, "bmp/runs.bmp", "image/x-ms-bmp", nil),
    Case("an icon as servers send it", full, "ico/mixed.ico", "image/x-icon", nil),
    Case("the same, exactly", VerificationRules(contentType: .exact), "ico/mixed.ico", "image/x-icon", nil),
    Case("a TIFF", full, "tiff/pages.tif", "image/tiff", nil),
    Case("an SVG", full, "svg/illustrator.svg", "image/svg+xml", nil),
    Case("an SVG whose root comes late", header, "svg/commented.svg", "text/xml", nil),
    Case("a JPEG XL", full, "jxl/photo.jxl", "image/jxl", nil),
    Case("the same, not decoded", none, "bitmap", "image/bmp", nil),
    Case("a GIF that moves", header, "good/animation.gif", "image/gif", nil),
    Case("what moves, forbidden", VerificationRules(animated: .forbid), "good/animation.gif", "image/gif", .animated),
    Case("a still image, with animations forbidden", VerificationRules(animated: .forbid), "good/photo.jpg", nil, nil),
    Case("what stands, to move", VerificationRules(animated: .require), "good/photo.jpg", nil, .animated),
    Case("what moves, to move", VerificationRules(animated: .require), "good/animated.webp", "image/webp", nil),
    Case("an image with a decoder warning", full, "without end", nil, nil),
    Case("the same, strictly", VerificationRules(depth: .full, isStrict: true), "without end", nil, .format),
    Case("the same, strictly, by its header", VerificationRules(isStrict: true), "without end", nil, nil),
    Case("bytes of no known format, not decoded", none, "binary", "application/gzip", nil),
    Case("the same, exactly", VerificationRules(depth: .none, contentType: .exact), "binary", "image/jpeg", nil),
    Case("a cut JPEG, by its header", header, "broken/cut.jpg", "image/jpeg", nil),
    Case("a cut JPEG", full, "broken/cut.jpg", "image/jpeg", .undecodable),
    Case("a cut PNG, by its header", header, "broken/cut.png", "image/png", .undecodable),
    Case("a wrong checksum", full, "broken/bad-crc.png", "image/png", .undecodable),
    Case("a cut WebP", header, "broken/cut.webp", "image/webp", .undecodable),
    Case("3,600 megapixels in a kilobyte", header, "broken/huge.png", "image/png", .dimensions),
    Case("too narrow", VerificationRules(width: .init(minimum: 1000)), "good/photo.jpg", nil, .dimensions),
    Case("too high", VerificationRules(height: .init(maximum: 100)), "good/photo.jpg", nil, .dimensions),
    Case("too many pixels", VerificationRules(maximumPixels: 1000), "good/photo.jpg", nil, .dimensions),
    Case("too few bytes", VerificationRules(bytes: .init(minimum: 1 << 20)), "good/photo.jpg", nil, .size),
    Case("too many bytes", VerificationRules(bytes: .init(maximum: 100)), "good/photo.jpg", nil, .size),
    Case("every pixel of a PNG", full, "good/interlaced.png", "image/png", nil),
    Case("every pixel of a WebP", full, "good/alpha.webp", "image/webp", nil),
  ]

  @Test(arguments: cases)
  private func `each verdict is the same for a body and for its stored record`(row: Case) async throws {
    let loader = try Loader()
    let origin = try Origin()
    let body =
      switch row.fixture {
      case "binary": (0..<200).map { UInt8($0) }
      // The file header with its length, then a BITMAPINFOHEADER.
      case "bitmap": Array("BM".utf8) + [58, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40] + [UInt8](repeating: 0, count: 43)
      case "without end": Array(SampleImages.jpeg(1).dropLast(2))
      default: Fixtures.bytes("images/\(row.fixture)")
      }
    origin.set("/image", .body(body, type: row.type))
    let result = try await loader.load(origin.url("/image"), loader.context(verification: row.rules))
    #expect(result.failure?.kind == row.kind, "\(result.failure?.message ?? "good")")
    #expect(result.outcome == (row.kind == nil ? .downloaded : .failed))
    guard row.kind == nil else { return }
    let again = try await loader.load(origin.url("/image"), loader.context(verification: row.rules))
    #expect(again.outcome == .hitDisk && origin.requests.count == 1)
  }

  @Test func `an SVGZ that is served as SVG is shown by browsers only with its Content-Encoding`() async throws {
    let loader = try Loader()
    let origin = try Origin()
    let file = Fixtures.bytes("images/svg/compressed.svgz")
    origin.set("/image", .body(file, type: "image/svg+xml"))
    origin.set("/coded", .body(file, type: "image/svg+xml", headers: ["Content-Encoding": "gzip"]))
    origin.set("/icon", .body(Fixtures.bytes("images/ico/mixed.ico"), type: "image/x-icon"))
    let result = try await loader.load(origin.url("/image"))
    #expect(result.outcome == .downloaded && result.warnings.count == 1)
    expectGolden(result.warnings.first)
    #expect(try await loader.load(origin.url("/coded")).warnings.isEmpty)
    #expect(try await loader.load(origin.url("/icon")).warnings.isEmpty)
  }

  @Test(arguments: [ProofDepth.header, .full])
  func `an image after other bytes is named as such, and by its format`(depth: ProofDepth) async throws {
    let loader = try Loader()
    let origin = try Origin()
    for (path, before) in [("/1", "\n"), ("/2", "\u{FEFF}"), ("/3", "<br />\n<b>Warning</b>: a in <b>b</b><br />\n")] {
      origin.set(path, .body(Array(before.utf8) + Fixtures.bytes("images/good/rgb.png"), type: "image/png"))
      let failure = try await loader.load(origin.url(path), loader.context(verification: VerificationRules(depth: depth))).failure
      #expect(failure?.kind == .notAnImage)
      expectGolden(failure?.message)
    }
  }

  @Test(arguments: [ProofDepth.header, .full])
  func `a JPEG that browsers don't show has a warning, by its header and by all of it`(depth: ProofDepth) async throws {
    let loader = try Loader()
    let origin = try Origin()
    origin.set("/image", .body(Fixtures.bytes("images/good/arithmetic.jpg"), type: "image/jpeg"))
    let result = try await loader.load(origin.url("/image"), loader.context(verification: VerificationRules(depth: depth)))
    #expect(result.warnings == ["the JPEG is arithmetic-coded (SOF9), so browsers don't show it"])
  }

  @Test func `an unknown coding and bytes after a coded body cause a warning, and must prove an image`() async throws {
    let loader = try Loader()
    let image = SampleImages.jpeg(1)
    let file = Fixtures.bytes("images/svg/compressed.svgz")
    let origin = try Origin([
      "/unknown": .body(image, type: "image/jpeg", headers: ["Content-Encoding": "aws-chunked"]),
      "/excess": .body(file + [0], type: "image/svg+xml", headers: ["Content-Encoding": "gzip"]),
      "/garbage": .body([UInt8](repeating: 200, count: 9000), type: "image/jpeg", headers: ["Content-Encoding": "compress"]),
    ])
    for path in ["/unknown", "/excess"] {
      let result = try await loader.load(origin.url(path))
      #expect(result.outcome == .downloaded && result.warnings.count == 1)
      expectGolden(result.warnings.first)
    }
    let none = loader.context(verification: VerificationRules(depth: .none))
    for context in [loader.context(), none] {
      let failure = try #require(try await loader.load(origin.url("/garbage"), context).failure)
      #expect(failure.kind == .contentType)
      expectGolden(failure.message)
    }
  }

  @Test func `a record remembers decoder warnings for strict jobs`() async throws {
    let loader = try Loader()
    let origin = try Origin()
    origin.set("/image", .body(Array(SampleImages.jpeg(1).dropLast(2)), type: "image/jpeg"))
    let full = loader.context(verification: VerificationRules(depth: .full))
    let strict = loader.context(verification: VerificationRules(depth: .full, isStrict: true))
    let first = try await loader.load(origin.url("/image"), full)
    #expect(first.outcome == .downloaded && first.warnings.isEmpty == false)
    #expect(try await loader.load(origin.url("/image"), strict).failure?.kind == .format)
    #expect(try await loader.load(origin.url("/image"), full).outcome == .hitDisk)
    // Only its header was checked before: the strict job reads the body and requests it again.
    origin.set("/other", .body(Array(SampleImages.jpeg(2).dropLast(2)), type: "image/jpeg"))
    #expect(try await loader.load(origin.url("/other")).outcome == .downloaded)
    #expect(try await loader.load(origin.url("/other"), strict).failure?.kind == .format)
    #expect(origin.count(of: "/other") == 2)
  }

  @Test func `a record that breaks another job's rules is requested again, and stays if the new image breaks them too`()
    async throws
  {
    let loader = try Loader()
    let origin = try Origin()
    origin.set("/image", .body(Fixtures.bytes("images/good/photo.jpg"), type: "image/jpeg"))
    _ = try await loader.load(origin.url("/image"))
    let strict = loader.context(verification: VerificationRules(formats: [.webp]))
    #expect(try await loader.load(origin.url("/image"), strict).failure?.kind == .format)
    #expect(origin.requests.count == 2)
    #expect(try await loader.load(origin.url("/image")).outcome == .hitDisk)
    origin.set("/image", .body(Fixtures.bytes("images/good/lossy.webp"), type: "image/webp"))
    #expect(try await loader.load(origin.url("/image"), strict).outcome == .downloaded)
    #expect(try await loader.load(origin.url("/image"), strict).outcome == .hitDisk)
  }
}
