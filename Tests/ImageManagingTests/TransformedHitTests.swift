import ImageCaching
import ImageCoding
@testable import ImageManaging
import Base
import TestOrigin
import TestSupport
import Testing

/// When a cached transformed image is a hit for a job, and when the job needs the original or the network.
@Suite struct TransformedHitTests {
  private let loader: Loader
  private let origin: Origin
  private let url: String

  init() throws {
    loader = try Loader()
    origin = try Origin()
    origin.set("/image", Album.versioned(SampleImages.jpeg(1), etag: "\"1\""))
    url = origin.url("/image")
  }

  private func options(_ mode: CacheMode, keepsOriginal: Bool, _ verification: VerificationRules) -> LoadOptions {
    var options = LoadOptions(mode: mode, transformer: ResizingTransformer(width: 8), verification: verification)
    options.encoding = TransformEncoding(format: .png)
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

  @Test func `an entry's stored bytes are the transformed image and the original, if kept`() async throws {
    let first = try await loader.load(url, transforming(keepsOriginal: true))
    #expect(try first.storedBytes.map(Int.init) == loader.cache.totals().bodyBytes)
    #expect(try first.storedBytes == first.bytes + transformedHead().bodySize)
  }
}
