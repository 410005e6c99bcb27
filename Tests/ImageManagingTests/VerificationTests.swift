import Base
import ImageCaching
import ImageDownloading
import TestOrigin
import TestSupport
import Testing

@testable import ImageManaging

/// Which images are accepted, with real bodies from a real server.
@Suite struct VerificationTests {
  private let loader = Loader.plain()
  private var origin: Origin { loader.origin }

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
    for (path, before) in [("/1", "\n"), ("/2", "\u{FEFF}"), ("/3", "<br />\n<b>Warning</b>: a in <b>b</b><br />\n")] {
      origin.set(path, .body(Array(before.utf8) + Fixtures.bytes("images/good/rgb.png"), type: "image/png"))
      let failure = try await loader.load(origin.url(path), loader.context(verification: VerificationRules(depth: depth))).failure
      #expect(failure?.kind == .notAnImage)
      expectGolden(failure?.message)
    }
  }

  @Test(arguments: [ProofDepth.header, .full])
  func `a JPEG that browsers don't show has a warning, by its header and by all of it`(depth: ProofDepth) async throws {
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

@Suite struct BlacklistRulesTests {
  private let rules = BlacklistRules()

  @Test(arguments: FailureKind.allCases)
  func `failures caused by the job, the network or prewarm itself are never remembered`(kind: FailureKind) {
    let lasting: Set<FailureKind> = [.notAnImage, .empty, .undecodable]
    #expect(rules.remembers(ImageFailure(kind, message: "")) == lasting.contains(kind))
  }

  @Test(arguments: 100...599) func `only permanent statuses are remembered`(status: Int) {
    let lasting: Set = [400, 404, 405, 406, 410, 411, 412, 413, 414, 415, 417, 422, 451]
    #expect(rules.remembers(ImageFailure(.httpStatus, status: status, message: "")) == lasting.contains(status))
  }

  @Test func `a configured status is remembered, transient or not`() {
    let rules = BlacklistRules(statuses: [400...599])
    #expect(rules.remembers(ImageFailure(.httpStatus, status: 503, isTransient: true, message: "")))
    #expect(!rules.remembers(ImageFailure(.httpStatus, status: 304, message: "")))
  }

  @Test func `a disabled blacklist remembers nothing`() {
    let rules = BlacklistRules(isEnabled: false)
    #expect(!rules.remembers(ImageFailure(.httpStatus, status: 404, message: "")))
    #expect(!rules.remembers(ImageFailure(.empty, message: "")))
  }
}

/// The rule about the status of caches on the way.
@Suite struct RemoteCacheRuleTests {
  private let loader = Loader.plain()
  private var origin: Origin { loader.origin }

  private func context(mode: CacheMode = .use, requiresHit: Bool) -> LoadContext {
    var rules = VerificationRules()
    rules.requiresRemoteHit = requiresHit
    return loader.context(LoadOptions(mode: mode, verification: rules)) {
      $0.purpose.checksRemoteCache = true
    }
  }

  /// Makes the origin respond to `path` with these headers the first time, and then with others.
  private func set(_ path: String, _ first: HeaderFields, _ second: HeaderFields) {
    let image = SampleImages.jpeg(1)
    origin.set(
      path,
      .sequence([.body(image, type: "image/jpeg", headers: first), .body(image, type: "image/jpeg", headers: second)])
    )
  }

  @Test(
    arguments: [
      (HeaderFields([("X-Cache", "MISS from edge")]), RemoteCacheStatus.miss, "X-Cache: MISS from edge"),
      (HeaderFields(), .unknown, "no cache header"),
    ]
  )
  func `if a hit is required anything else fails, and is neither stored nor remembered`(
    headers: HeaderFields,
    status: RemoteCacheStatus,
    text: String
  ) async throws {
    set("/a.jpg", [:], headers)
    let result = try await loader.load(origin.url("/a.jpg"), context(requiresHit: true))
    #expect(result.outcome == .failed && result.remoteCache == status)
    #expect(result.failure?.kind == .remoteCache && result.failure?.isTransient == false)
    #expect(result.failure?.message.contains(text) == true, "\(result.failure?.message ?? "")")
    #expect(result.isBlacklisted == false)
    #expect(try loader.cache.totals().entries == 0)
    #expect(try await loader.load(origin.url("/a.jpg"), context(requiresHit: false)).outcome == .downloaded)
  }

  @Test func `a failed second request is a warning, and a failure only if a hit is required`() async throws {
    for path in ["/a.jpg", "/b.jpg"] {
      origin.set(path, .sequence([.body(SampleImages.jpeg(1), type: "image/jpeg"), .status(500)]))
    }
    let result = try await loader.load(origin.url("/a.jpg"), context(requiresHit: false))
    #expect(result.outcome == .downloaded && result.remoteCache == .unknown)
    #expect(result.warnings.count == 1)
    expectGolden(result.warnings.first)
    let failed = try await loader.load(origin.url("/b.jpg"), context(requiresHit: true))
    #expect(failed.failure?.kind == .remoteCache && failed.failure?.message.contains("500") == true)
  }

  @Test func `a body that isn't an image fails as such, whatever the remote cache status`() async throws {
    origin.set("/a.jpg", .body(Array("GIF, not".utf8), type: "image/jpeg", headers: ["X-Cache": "MISS"]))
    let result = try await loader.load(origin.url("/a.jpg"), context(requiresHit: true))
    #expect(result.failure?.kind == .notAnImage)
  }

  @Test func `a revalidated image is checked too, and stays if the rule is broken`() async throws {
    let image = SampleImages.jpeg(1)
    origin.set(
      "/a.jpg",
      .computed { request in
        let headers: HeaderFields = ["ETag": "\"1\"", "X-Cache": "MISS"]
        return request.headers["If-None-Match"] == nil
          ? .body(image, type: "image/jpeg", headers: headers) : .status(304, headers: headers)
      }
    )
    let url = origin.url("/a.jpg")
    #expect(try await loader.load(url, context(requiresHit: false)).remoteCache == .miss)
    let result = try await loader.load(url, context(mode: .refresh, requiresHit: false))
    #expect(result.outcome == .revalidated && result.remoteCache == .miss)
    let failed = try await loader.load(url, context(mode: .refresh, requiresHit: true))
    #expect(failed.failure?.kind == .remoteCache && failed.remoteCache == .miss)
    #expect(try await loader.load(url, context(requiresHit: true)).outcome == .hitDisk)
  }
}
