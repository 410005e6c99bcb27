import Foundation
import ImageCaching
import ImageCoding
import ImageDownloading
@testable import ImageManaging
import Base
import TestOrigin
import TestSupport
import Testing

/// Transformed images that are damaged, impossible, or larger than others may be.
@Suite struct TransformFaultTests {
  private let loader: Loader
  private let origin: Origin
  private let url: String

  init() throws {
    loader = try Loader()
    origin = try Origin(["/a.jpg": .body(SampleImages.jpeg(1), type: "image/jpeg")])
    url = origin.url("/a.jpg")
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

  @Test(
    arguments: [(ImageFormat.webp, 16_384), (.jpeg, 65_501)]
  )
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
