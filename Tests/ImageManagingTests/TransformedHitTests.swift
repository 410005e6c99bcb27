import Base
import Foundation
import ImageCaching
import ImageCoding
import ImageDownloading
import TestOrigin
import TestSupport
import Testing

@testable import ImageManaging

/// When a cached transformed image is a hit for a job, and when the job needs the original or the network.
@Suite struct TransformedHitTests {
  private let loader = Loader.plain()
  private var origin: Origin { loader.origin }
  private let url: String

  init() {
    loader.origin.set("/image", Album.versioned(SampleImages.jpeg(1), etag: "\"1\""))
    url = loader.origin.url("/image")
  }

  private func options(_ mode: CacheMode, keepsOriginal: Bool, _ verification: VerificationRules) -> LoadOptions {
    var options = LoadOptions(mode: mode, transformer: ResizingTransformer(width: 8), verification: verification)
    options.encoding = TransformEncoding(format: .png, options: EncodingOptions(firstFrameOnly: true))
    options.layers.writesOriginal = keepsOriginal ? .disk : []
    return options
  }

  private func transforming(
    mode: CacheMode = .use,
    keepsOriginal: Bool = false,
    _ verification: VerificationRules = VerificationRules()
  ) -> LoadContext {
    loader.context(options(mode, keepsOriginal: keepsOriginal, verification))
  }

  private func transformedHead() throws -> EntryHead {
    let entries = try loader.cache.entries(after: nil, limit: 9)
    return try #require(entries.first { $0.isTransformed }).head
  }

  @Test func `a transform of an older original is rebuilt from the new one`() async throws {
    _ = try await loader.load(url, transforming(keepsOriginal: true))
    let old = try transformedHead()
    origin.set("/image", Album.versioned(Fixtures.bytes("images/good/photo.jpg"), etag: "\"2\""))
    loader.clock.advance(by: .seconds(1))
    #expect(try await loader.load(url, loader.context(mode: .refresh)).outcome == .downloaded)
    #expect(try await loader.load(url, transforming(mode: .only)).outcome == .skipped)
    let made = try await loader.load(url, transforming(keepsOriginal: true))
    #expect(made.outcome == .hitDisk && made.width == 640 && made.storedBytes != nil)
    #expect(try transformedHead().checksum != old.checksum)
    let hit = try await loader.load(url, transforming(keepsOriginal: true))
    #expect(hit.outcome == .hitDisk && hit.width == 8 && hit.storedBytes == nil && origin.requests.count == 2)
  }

  @Test func `the original of a hit was verified as deeply as the job requires`() async throws {
    // Only one frame of an animation is decoded, as a PNG has only one.
    origin.set("/image", .body(Fixtures.bytes("images/good/animation.gif"), type: "image/gif"))
    #expect(try await loader.load(url, transforming()).outcome == .downloaded)
    #expect(try transformedHead().proof == .header)
    #expect(try await loader.load(url, transforming()).outcome == .hitDisk)
    let full = VerificationRules(depth: .full)
    #expect(try await loader.load(url, transforming(full)).outcome == .downloaded)
    #expect(try transformedHead().proof == .full)
    #expect(try await loader.load(url, transforming(full)).outcome == .hitDisk && origin.requests.count == 2)
  }

  @Test func `a cached original is verified once, as deeply as the job requires`() async throws {
    origin.set("/image", .body(Fixtures.bytes("images/good/animation.gif"), type: "image/gif"))
    #expect(try await loader.load(url, transforming(keepsOriginal: true)).outcome == .downloaded)
    let full = VerificationRules(depth: .full)
    let proven = try await loader.load(url, transforming(full))
    #expect(proven.outcome == .hitDisk && proven.storedBytes != nil)
    let hit = try await loader.load(url, transforming(full))
    #expect(hit.outcome == .hitDisk && hit.storedBytes == nil && origin.requests.count == 1)
  }

  @Test func `a transform of an original with a decoder warning isn't a hit for a strict job`() async throws {
    origin.set("/image", .body(Array(SampleImages.jpeg(1).dropLast(2)), type: "image/jpeg"))
    #expect(try await loader.load(url, transforming()).outcome == .downloaded)
    #expect(try transformedHead().hasWarnings)
    #expect(try await loader.load(url, transforming(VerificationRules(isStrict: true))).failure?.kind == .format)
    #expect(try await loader.load(url, transforming()).outcome == .hitDisk && origin.requests.count == 2)
  }

  @Test func `in only mode a cached original isn't a hit for its transform`() async throws {
    let other = try Loader()
    _ = try await other.load(url)
    var readOnly = options(.only, keepsOriginal: false, VerificationRules())
    readOnly.readOnly = [ReadOnlyCache(other.cache)]
    #expect(try await loader.load(url, loader.context(readOnly)).outcome == .skipped)
    _ = try await loader.load(url)
    #expect(try await loader.load(url, transforming(mode: .only)).outcome == .skipped)
    // If requests were allowed, it would be made.
    let dry = try await loader.load(url, transforming(mode: .dryRun))
    #expect(dry.outcome == .hitDisk && dry.width == 32)
    _ = try await loader.load(url, transforming())
    let only = try await loader.load(url, transforming(mode: .only))
    #expect(only.outcome == .hitDisk && only.width == 8 && origin.requests.count == 2)
  }
}

/// Transformed images that are damaged, impossible, or larger than others may be.
@Suite struct TransformFaultTests {
  private let loader = Loader.plain()
  private var origin: Origin { loader.origin }
  private let url: String

  init() {
    loader.origin.set("/a.jpg", .body(SampleImages.jpeg(1), type: "image/jpeg"))
    url = loader.origin.url("/a.jpg")
  }

  /// Options that store a large image as the transformed image.
  private func options(mode: CacheMode = .use, readOnly: [ReadOnlyCache] = []) -> LoadOptions {
    let large = SampleImages.jpeg(3, padding: 300_000)
    var options = LoadOptions(
      mode: mode,
      readOnly: readOnly,
      verifiesHits: true,
      delivery: .image,
      transformer: ClosureTransformer(key: "same") { $0 }
    )
    options.hooks.cacheSerializer = { _, _, data in data ?? large }
    options.layers.writesOriginal = []
    return options
  }

  @Test func `a damaged transformed image in a read-only cache is rebuilt from the network`() async throws {
    _ = try await loader.load(url, loader.context(options()))
    try loader.damageBlob()
    let other = try Loader()
    let context = other.context(options(readOnly: [ReadOnlyCache(loader.cache)]))
    #expect(try await other.load(url, context).outcome == .downloaded)
    expectGolden(context.warnings.joined(separator: "\n"))
    #expect(try await other.load(url, context).outcome == .hitDisk)
    #expect(origin.requests.count == 2)
  }

  @Test func `a damaged transformed image in a cache opened for reading isn't a hit`() async throws {
    _ = try await loader.load(url, loader.context(options()))
    try loader.damageBlob()
    var configuration = loader.cache.configuration
    configuration.access = .readOnly
    let cache = try ImageCache(configuration)
    let context = LoadContext(
      cache: cache,
      download: DownloadOptions(),
      options: options(mode: .only),
      startedAt: loader.clock.source.wall()
    )
    #expect(try await loader.load(url, context).outcome == .skipped)
    expectGolden(context.warnings.joined(separator: "\n"))
  }

  @Test func `a serialized image may have more pixels than a downloaded one`() async throws {
    let mark: [UInt8] = [0xFF, 0xC0]
    var large = SampleImages.baseJPEG
    let start = try #require((0..<large.count - 9).first { Array(large[$0..<$0 + 2]) == mark })
    // Both sides in its frame header (ITU-T T.81, B.2.2).
    large.replaceSubrange(start + 5..<start + 9, with: [0xEA, 0x60, 0xEA, 0x60])
    let body = large
    var options = LoadOptions(verification: VerificationRules(maximumPixels: .max))
    options.hooks.cacheSerializer = { _, _, _ in body }
    let result = try await loader.load(url, loader.context(options))
    #expect(result.outcome == .downloaded && result.storedBytes == UInt64(body.count))
  }

  private func encoding(_ format: ImageFormat, _ transformer: any ImageTransformer) -> LoadContext {
    loader.context(LoadOptions(transformer: transformer, encoding: TransformEncoding(format: format)))
  }

  @Test(arguments: [(ImageFormat.webp, 16_384), (.jpeg, 65_501)])
  func `a result too large for its format fails as dimensions, and nothing is blacklisted`(format: ImageFormat, width: Int)
    async throws
  {
    let transformer = ResizingTransformer(width: width, height: 1, fit: .fill)
    let failure = try await loader.load(url, encoding(format, transformer)).failure
    #expect(failure?.kind == .dimensions)
    expectGolden(failure?.message, for: format.name)
    let totals = try loader.cache.totals()
    #expect(totals.entries == 0 && totals.blacklistEntries == 0)
  }

  @Test(arguments: [0, 1]) func `an impossible transform fails as dimensions`(number: Int) async throws {
    let part = PixelRectangle(x: 100, y: 0, width: 1, height: 1)
    let transformer: any ImageTransformer =
      number == 0 ? CroppingTransformer(part) : ResizingTransformer(width: .max, fit: .cover)
    let failure = try await loader.load(url, encoding(.png, transformer)).failure
    #expect(failure?.kind == .dimensions && failure?.message.contains("transform") == true)
    #expect(try loader.cache.totals().blacklistEntries == 0)
  }

  @Test func `memory reports the same of a transformed image as the disk, and judges it by the original`() async throws {
    let memory = ImageMemory(pressure: nil)
    var options = LoadOptions(memory: memory, transformer: ResizingTransformer(width: 8))
    options.encoding = TransformEncoding(format: .png)
    options.layers.writesOriginal = []
    options.verification = VerificationRules(formats: [.jpeg], width: .init(minimum: 20))
    let context = loader.context(options)
    let first = try await loader.load(url, context)
    let fromMemory = try await loader.load(url, context)
    memory.removeAll()
    let fromDisk = try await loader.load(url, context)
    let again = try await loader.load(url, context)
    #expect([first, fromMemory, fromDisk, again].map(\.outcome) == [.downloaded, .hitMemory, .hitDisk, .hitMemory])
    #expect(fromDisk.width == 8 && fromDisk.format == .png && fromDisk.bytes == first.storedBytes)
    for hit in [fromMemory, again] {
      #expect(hit.width == 8 && hit.height == 6 && hit.format == .png && hit.bytes == fromDisk.bytes)
      #expect(hit.checksum == fromDisk.checksum && hit.freshUntil == fromDisk.freshUntil)
    }
    // Others judge it by the original too.
    options.verification = VerificationRules(width: .init(maximum: 20))
    memory.removeAll()
    origin.set("/b.jpg", .body(SampleImages.jpeg(2), type: "image/jpeg"))
    _ = try await loader.load(origin.url("/b.jpg"), context)
    #expect(try await loader.load(origin.url("/b.jpg"), loader.context(options)).outcome != .hitMemory)
  }

  @Test func `a caller that needs pixels gets a failure for a format that isn't decoded`() {
    let rules = VerificationRules(depth: .none)
    let needed = BodyVerifier(coders: .standard, rules: rules, decodes: true).undecoded(.jpegXL)
    #expect(needed.kind == .format)
    expectGolden(needed.message)
    let plain = BodyVerifier(coders: .standard, rules: rules).undecoded(.jpegXL)
    #expect(plain.reason == .undecoded(.jpegXL))
  }
}
