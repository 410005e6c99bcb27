import Base
import ImageCaching
import ImageCoding
import ImageDownloading
@testable import ImageManaging
import TestOrigin
import TestSupport
import Testing

/// Images that are judged without their whole bodies: stopped early, probed, or requested by HEAD.
@Suite struct ProbingTests {
  private let loader = Loader.plain()
  private var origin: Origin { loader.origin }

  /// A JPEG with 100 KB of comments before its frame header, and 2 MB after its end.
  private static let long = SampleImages.jpeg(1) + [UInt8](repeating: 0, count: 2 << 20)
  private static let lateHeader = SampleImages.jpeg(1, padding: 100_000) + [UInt8](repeating: 0, count: 2 << 20)
  private static let page = Array("<!DOCTYPE html><title>Gone</title>".utf8) + [UInt8](repeating: 0x20, count: 2 << 20)

  private struct Refused: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let body: [UInt8]
    var rules = VerificationRules()
    let kind: FailureKind
  }

  @Test(
    arguments: [
      Refused(testDescription: "a page", body: page, kind: .notAnImage),
      Refused(testDescription: "another format", body: long, rules: VerificationRules(formats: [.png]), kind: .format),
      Refused(testDescription: "too small", body: long, rules: .init(width: .init(minimum: 100)), kind: .dimensions),
      Refused(testDescription: "too many pixels", body: long, rules: .init(maximumPixels: 100), kind: .dimensions),
      Refused(testDescription: "a late header", body: lateHeader, rules: .init(width: .init(minimum: 100)), kind: .dimensions),
      Refused(testDescription: "too long", body: long, rules: .init(bytes: .init(maximum: 1 << 20)), kind: .size),
    ]
  )
  private func `a body that cannot become a good image is stopped at its first bytes`(row: Refused) async throws {
    let gate = Gate()
    // The second half is never sent.
    origin.set("/image", .paused(row.body, after: row.body.count / 2, gate))
    let result = try await loader.load(origin.url("/image"), loader.context(verification: row.rules))
    #expect(result.failure?.kind == row.kind, "\(result.failure?.message ?? "good")")
    #expect(result.receivedBytes < row.body.count / 2 + 1)
    gate.open()
  }

  @Test func `a load under other rules that shared a rejected transfer makes its own request`() async throws {
    let gate = Gate()
    origin.set("/image", .sequence([.held(gate, then: .body(Self.long)), .body(Self.long)]))
    let strict = loader.context(verification: VerificationRules(maximumPixels: 100))
    let (first, second) = (Loader.Waiter(), Loader.Waiter())
    try loader.ask([origin.url("/image")], strict, as: first)
    try await gate.waitForWaiting(1)
    try loader.ask([origin.url("/image")], loader.context(), as: second)
    gate.open()
    #expect(try await first.completions(1)[0].1.result.failure?.kind == .dimensions)
    #expect(try await second.completions(1)[0].1.result.outcome == .downloaded)
  }

  private func context(
    _ method: DownloadOptions.Method,
    _ rules: VerificationRules = .init(),
    mode: CacheMode = .use
  ) -> LoadContext { loader.context(LoadOptions(mode: mode, verification: rules)) { $0.method = method } }

  @Test(arguments: [true, false])
  func `a probe judges format, size and length by the first bytes and stores nothing`(hasLateHeader: Bool) async throws {
    let body = hasLateHeader ? Self.lateHeader : Self.long
    origin.set("/image", .ranged(body, type: "image/jpeg"))
    let result = try await loader.load(origin.url("/image"), context(.probe))
    #expect(result.outcome == .checked && result.format == .jpeg && result.width == 32 && result.height == 24)
    #expect(result.bytes == body.count && result.receivedBytes <= 256 << 10)
    #expect(try loader.cache.totals().entries == 0)

    let short = context(.probe, VerificationRules(bytes: .init(maximum: 1 << 20)))
    #expect(try await loader.load(origin.url("/image"), short).failure?.kind == .size)
    origin.set("/page", .ranged(Self.page, type: "image/jpeg"))
    #expect(try await loader.load(origin.url("/page"), context(.probe)).failure?.kind == .notAnImage)
    origin.set("/nothing", .ranged([], type: "image/jpeg"))
    #expect(try await loader.load(origin.url("/nothing"), context(.probe)).failure?.kind == .empty)
    origin.set("/small", .ranged(SampleImages.jpeg(2), type: "image/jpeg"))
    #expect(try await loader.load(origin.url("/small"), context(.probe)).outcome == .checked)
    #expect(try loader.cache.totals().entries == 0)
  }

  /// A JPEG with more comments before its frame header than a probe fetches.
  private static let veryLateHeader = SampleImages.jpeg(1, padding: 1_300_000) + [UInt8](repeating: 0, count: 1 << 20)

  @Test(
    arguments: [
      (VerificationRules(), nil), (.init(width: .init(minimum: 100)), .dimensions), (.init(maximumPixels: 100), .dimensions),
    ]
      as [(VerificationRules, FailureKind?)]
  )
  func `a very late header is judged`(rules: VerificationRules, kind: FailureKind?) async throws {
    origin.set("/image", .ranged(Self.veryLateHeader, type: "image/jpeg"))
    let bypass = context(.get, rules, mode: .bypass)
    let result = try await loader.load(origin.url("/image"), bypass)
    #expect(result.failure?.kind == kind && (kind != nil || result.width == 32))
    let probed = try await loader.load(origin.url("/image"), context(.probe, rules))
    #expect(probed.failure?.kind == kind && (kind != nil || probed.width == 32))
  }

  /// A TIFF with pixels before its directory, as most programs write it.
  private static let lateDirectory = LateDirectory.tiff(pixelBytes: 18 << 20)

  @Test func `a TIFF's directory at its end is probed there`() async throws {
    origin.set("/image", .ranged(Self.lateDirectory, type: "image/tiff", headers: ["ETag": "\"1\""]))
    let result = try await loader.load(origin.url("/image"), context(.probe))
    #expect(result.outcome == .checked && result.format == .tiff && result.width == 6144 && result.height == 3072)
    #expect(result.receivedBytes < 70_000 && origin.requests.count == 2)
    let small = context(.probe, VerificationRules(width: .init(maximum: 100)))
    #expect(try await loader.load(origin.url("/image"), small).failure?.kind == .dimensions)
  }

  @Test func `a TIFF's directory at its end is read from an image that isn't stored`() async throws {
    origin.set("/image", .body(Self.lateDirectory, type: "image/tiff"))
    let bypass = context(.get, mode: .bypass)
    let result = try await loader.load(origin.url("/image"), bypass)
    #expect(result.failure == nil && result.width == 6144 && result.height == 3072)
    // Its strip ends beyond the file.
    origin.set("/cut", .body(LateDirectory.tiff(pixelBytes: (18 << 20) - 1000), type: "image/tiff"))
    origin.set("/missing", .body(Array(Self.lateDirectory.dropLast(200)), type: "image/tiff"))
    let cut = try #require(try await loader.load(origin.url("/cut"), bypass).failure)
    let missing = try #require(try await loader.load(origin.url("/missing"), bypass).failure)
    #expect(cut.kind == .undecodable && missing.kind == .undecodable)
    expectGolden([cut.message, missing.message].joined(separator: "\n"))
  }

  @Test(arguments: [DownloadOptions.Method.probe, .get])
  func `a file shorter than its header states is truncated`(method: DownloadOptions.Method) async throws {
    // A bitmap of 2000 x 1500 pixels without its last row.
    var bitmap = Array("BM".utf8) + [UInt8](repeating: 0, count: 52 + 6000 * 1499)
    for (offset, value) in [(10, 54), (14, 40), (18, 2000), (22, 1500), (26, 1 | 24 << 16)] {
      for index in 0..<4 { bitmap[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index)) }
    }
    origin.set("/image", .ranged(bitmap, type: "image/bmp"))
    let context = context(method, mode: .bypass)
    let failure = try #require(try await loader.load(origin.url("/image"), context).failure)
    #expect(failure.kind == .undecodable)
    expectGolden(failure.message)
    origin.set("/whole", .ranged(bitmap + [UInt8](repeating: 0, count: 6000), type: "image/bmp"))
    #expect(try await loader.load(origin.url("/whole"), context).failure == nil)
  }

  private struct Declared: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let type: String?
    var length = 500
    var rules = VerificationRules(depth: .none)
    let kind: FailureKind?
    var warnings = 0
  }

  @Test(
    arguments: [
      Declared(testDescription: "an image", type: "image/png", kind: nil),
      Declared(testDescription: "no type", type: nil, kind: nil, warnings: 1),
      Declared(testDescription: "a page", type: "text/html", kind: .contentType),
      Declared(testDescription: "nothing", type: "image/png", length: 0, kind: .empty),
      Declared(
        testDescription: "too long",
        type: "image/png",
        rules: VerificationRules(depth: .none, bytes: .init(maximum: 400)),
        kind: .size
      ),
      Declared(
        testDescription: "another format",
        type: "image/png",
        rules: VerificationRules(depth: .none, formats: [.jpeg]),
        kind: .format
      ),
    ]
  )
  private func `HEAD is judged by the declared type and length`(row: Declared) async throws {
    origin.set("/image", .body([UInt8](repeating: 0, count: row.length), type: row.type))
    let result = try await loader.load(origin.url("/image"), context(.head, row.rules))
    #expect(result.failure?.kind == row.kind, "\(result.failure?.message ?? "good")")
    #expect(result.outcome == (row.kind == nil ? .checked : .failed))
    #expect(result.warnings.count == row.warnings)
    // A GET decides whether there is nothing.
    #expect(origin.requests.map(\.method) == (row.kind == .empty ? ["HEAD", "GET"] : ["HEAD"]))
  }
}

/// A grey TIFF of 6144 x 3072 pixels in one strip, which starts at byte 8; its directory follows.
enum LateDirectory {
  static func tiff(pixelBytes: Int) -> [UInt8] {
    func little(_ value: Int, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
    let fields = [
      (256, 6144), (257, 3072), (258, 8), (259, 1), (262, 1), (273, 8), (277, 1), (278, 3072), (279, 6144 * 3072),
    ]
    // The strip's end doesn't depend on the directory's position: it begins within the strip if pixels are missing.
    var file = Array("II*\0".utf8) + little(8 + pixelBytes, 4) + [UInt8](repeating: 0x80, count: pixelBytes)
    file += little(fields.count, 2)
    for (tag, value) in fields { file += little(tag, 2) + little(4, 2) + little(1, 4) + little(value, 4) }
    return file + little(0, 4)
  }
}
