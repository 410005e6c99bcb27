import ImageCaching
import ImageCoding
import ImageDownloading
@testable import ImageManaging
import Base
import Synchronization
import TestOrigin
import TestSupport
import Testing

/// Transformed images, encoded and stored on disk.
@Suite struct TransformedOnDiskTests {
  /// Encodes black PNGs of the right size, and counts encoded and decoded images.
  private final class Writer: JPEGReading {
    private let written = Atomic(0)
    private let read = Mutex((count: 0, options: DecodingOptions()))

    var encodes: Int { written.load(ordering: .sequentiallyConsistent) }
    /// The options of the last decoding.
    var options: DecodingOptions { read.withLock { $0.options } }
    var decodes: Int { read.withLock { $0.count } }

    func canEncode(_ format: ImageFormat) -> Bool { format == .png }
    func encode(_ image: DecodedImage, as format: ImageFormat, options: EncodingOptions) throws(ImageError) -> [UInt8] {
      written.add(1, ordering: .sequentiallyConsistent)
      return SampleImages.makePNG(width: image.pixels.size.width, height: image.pixels.size.height)
    }
    func decode(
      _ bytes: UnsafeRawBufferPointer,
      options: DecodingOptions,
      limits: DecodingLimits
    ) throws(ImageError) -> DecodedImage {
      read.withLock { $0 = ($0.count + 1, options) }
      return try JPEGCoder().decode(bytes, options: options, limits: limits)
    }
  }

  private let loader = Loader.plain()
  private var origin: Origin { loader.origin }
  private let writer = Writer()
  private let url: String
  private let transformed: String

  init() {
    loader.origin.set("/a.jpg", Album.versioned(SampleImages.jpeg(1), etag: "\"1\""))
    url = loader.origin.url("/a.jpg")
    transformed = url + "#transform=resize(8x-,inside)-encode(png,85)"
  }

  /// A context that makes a PNG of 8 × 6 pixels from an image of 32 × 24.
  private func context(
    mode: CacheMode = .use,
    keepsOriginal: Bool = false,
    _ change: (inout LoadOptions) -> Void = { _ in }
  ) -> LoadContext {
    var coders = ImageCoderRegistry.standard
    coders.add(writer)
    var options = LoadOptions(mode: mode, transformer: ResizingTransformer(width: 8), coders: coders)
    options.encoding = TransformEncoding(format: .png)
    options.layers.writesOriginal = keepsOriginal ? .disk : []
    change(&options)
    return loader.context(options)
  }

  private let smallBytes = UInt64(SampleImages.makePNG(width: 8, height: 6).count)

  private func identities() throws -> Set<String> {
    Set(try loader.cache.entries(after: nil, limit: 9).map { String(decoding: $0.identity, as: UTF8.self) })
  }

  @Test func `a transform replaces the original on disk, and is a hit without network or decoding`() async throws {
    let first = try await loader.load(url, context())
    #expect(first.outcome == .downloaded && first.format == .jpeg && first.width == 32 && first.freshUntil != nil)
    #expect(first.bytes == SampleImages.jpeg(1).count && first.storedBytes == smallBytes)
    #expect(try identities() == [transformed])
    #expect(try loader.cache.totals().bodyBytes == smallBytes)
    let (encodes, decodes) = (writer.encodes, writer.decodes)
    #expect(encodes == 1 && decodes == 1)
    let second = try await loader.load(url, context())
    #expect(second.outcome == .hitDisk && second.format == .png && second.width == 8 && second.height == 6)
    #expect(second.bytes == smallBytes && second.storedBytes == nil && second.freshUntil == first.freshUntil)
    #expect(origin.requests.count == 1 && writer.encodes == encodes && writer.decodes == decodes)
  }

  @Test func `no more is decoded than the transform needs`() async throws {
    _ = try await loader.load(url, context())
    #expect(writer.options.thumbnail == ImageSize(width: 8, height: .max) && writer.options.firstFrameOnly)
    let cover = context { $0.transformer = ResizingTransformer(width: 8, height: 8, fit: .cover) }
    _ = try await loader.load(url, cover)
    #expect(writer.options.thumbnail == nil)
    let own = context { $0.transformer = ClosureTransformer(key: "own") { $0 } }
    _ = try await loader.load(url, own)
    #expect(writer.options.thumbnail == nil)
  }

  @Test func `the original is kept in addition to the transform on request`() async throws {
    let first = try await loader.load(url, context(keepsOriginal: true))
    #expect(first.outcome == .downloaded && first.storedBytes == first.bytes + smallBytes)
    #expect(try identities() == [url, transformed])
    #expect(try await loader.load(url).outcome == .hitDisk)
    #expect(try await loader.load(url, context(keepsOriginal: true)).width == 8)
    #expect(origin.requests.count == 1)
  }

  @Test func `a transform of a cached original needs no network and lives no longer than that`() async throws {
    let original = try await loader.load(url)
    loader.clock.advance(by: .seconds(3600))
    let made = try await loader.load(url, context())
    #expect(made.outcome == .hitDisk && made.storedBytes == smallBytes && made.bytes == original.bytes)
    #expect(made.freshUntil == original.freshUntil)
    #expect(try identities() == [url, transformed])
    let hit = try await loader.load(url, context())
    #expect(hit.outcome == .hitDisk && hit.width == 8 && hit.freshUntil == original.freshUntil)
    #expect(writer.encodes == 1 && origin.requests.count == 1)
  }

  @Test func `another size, format or quality is another image`() async throws {
    _ = try await loader.load(url, context(keepsOriginal: true))
    let quality = context { $0.encoding?.options.quality = 84 }
    #expect(try await loader.load(url, quality).storedBytes == smallBytes)
    let size = context { $0.transformer = ResizingTransformer(width: 16) }
    #expect(try await loader.load(url, size).storedBytes ?? 0 > smallBytes)
    let plain = context { $0.transformer = nil }
    #expect(try await loader.load(url, plain).storedBytes ?? 0 > smallBytes)
    #expect(try identities().contains(url + "#transform=encode(png,85)"))
    #expect(try loader.cache.totals().entries == 5 && writer.encodes == 4 && origin.requests.count == 1)
  }

  @Test func `the rules apply to the original`() async throws {
    let rules = VerificationRules(formats: [.jpeg], width: .init(minimum: 20))
    for outcome in [LoadOutcome.downloaded, .hitDisk] {
      #expect(try await loader.load(url, context { $0.verification = rules }).outcome == outcome)
    }
    let strict = VerificationRules(width: .init(minimum: 33))
    origin.set("/b.jpg", .body(SampleImages.jpeg(4), type: "image/jpeg"))
    let refused = try await loader.load(origin.url("/b.jpg"), context { $0.verification = strict })
    #expect(refused.failure?.kind == .dimensions)
  }

  @Test func `a 304 keeps original and transform, and a new body replaces both`() async throws {
    _ = try await loader.load(url, context(keepsOriginal: true))
    loader.clock.advance(by: .seconds(3600))
    let kept = try await loader.load(url, context(mode: .refresh, keepsOriginal: true))
    #expect(kept.outcome == .revalidated && kept.storedBytes == nil && writer.encodes == 1)
    // Both are as fresh as the response.
    loader.clock.advance(by: .seconds(7 * 86_400 - 60))
    #expect(try await loader.load(url, context()).width == 8)
    #expect(origin.requests.count == 2)
    origin.set("/a.jpg", Album.versioned(SampleImages.jpeg(2), etag: "\"2\""))
    let new = try await loader.load(url, context(mode: .refresh, keepsOriginal: true))
    #expect(new.outcome == .downloaded && new.storedBytes == new.bytes + smallBytes && writer.encodes == 2)
    #expect(try identities() == [url, transformed])
  }

  @Test func `a 304 for an original leaves images made of it as they are, and a new body doesn't`() async throws {
    _ = try await loader.load(url)
    _ = try await loader.load(url, context())
    for etag in ["\"1\"", "\"2\""] {
      loader.clock.advance(by: .seconds(3600))
      origin.set("/a.jpg", Album.versioned(SampleImages.jpeg(etag == "\"1\"" ? 1 : 2), etag: etag))
      let isNew = etag == "\"2\""
      #expect(
        try await loader.load(url, loader.context(LoadOptions(mode: .refresh))).outcome == (isNew ? .downloaded : .revalidated)
      )
      let small = try await loader.load(url, context())
      #expect(small.outcome == .hitDisk && writer.encodes == (isNew ? 2 : 1))
      // A later revalidation renews both.
      #expect(try await loader.load(url, context(mode: .refresh, keepsOriginal: true)).outcome == .revalidated)
      #expect(writer.encodes == (isNew ? 2 : 1))
    }
  }

  @Test func `an image made of a download is current if another job stores the same bytes later`() async throws {
    _ = try await loader.load(url, context())
    loader.clock.advance(by: .seconds(3600))
    #expect(try await loader.load(url).outcome == .downloaded)
    #expect(try await loader.load(url, context()).width == 8 && writer.encodes == 1)
  }

  @Test func `a cached SVG fails without a request, in a dry run too, and isn't blacklisted`() async throws {
    origin.set(
      "/a.svg",
      .body(Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8), type: "image/svg+xml", headers: ["ETag": "\"1\""])
    )
    let drawing = origin.url("/a.svg")
    #expect(try await loader.load(drawing).outcome == .downloaded)
    for mode in [CacheMode.use, .dryRun] {
      let result = try await loader.load(drawing, context(mode: mode))
      #expect(result.outcome == .failed && result.failure?.reason == .untransformable(.svg))
    }
    #expect(origin.requests.count == 1)
    // A 304 confirms it.
    let confirmed = try await loader.load(drawing, context(mode: .refresh))
    #expect(confirmed.failure?.reason == .untransformable(.svg) && confirmed.attempts == 1 && origin.requests.count == 2)
    // One that isn't cached is requested.
    #expect(try await loader.load(drawing + "?2", context()).failure?.reason == .untransformable(.svg))
    let totals = try loader.cache.totals()
    #expect(totals.entries == 1 && totals.blacklistEntries == 0)
  }

  @Test func `a 304 for an original without its transform creates it`() async throws {
    _ = try await loader.load(url)
    let made = try await loader.load(url, context(mode: .refresh, keepsOriginal: true))
    #expect(made.outcome == .revalidated && made.storedBytes == smallBytes)
    #expect(try identities() == [url, transformed])
  }

  @Test func `an outdated original doesn't outlive a new one that isn't kept`() async throws {
    _ = try await loader.load(url)
    loader.clock.advance(by: .seconds(8 * 86_400))
    origin.set("/a.jpg", Album.versioned(SampleImages.jpeg(2), etag: "\"2\""))
    #expect(try await loader.load(url, context()).outcome == .downloaded)
    #expect(try identities() == [transformed])
  }

  @Test func `large bodies streamed to files leave none behind`() async throws {
    let body = SampleImages.jpeg(3, padding: 300_000)
    origin.set("/large.jpg", .body(body, type: "image/jpeg"))
    let result = try await loader.load(origin.url("/large.jpg"), context())
    #expect(result.outcome == .downloaded && result.bytes == body.count && result.storedBytes == smallBytes)
    #expect(try loader.cache.totals().bodyBytes == smallBytes)
  }

  @Test func `an image that cannot be encoded fails as format, and nothing is stored or blacklisted`() async throws {
    let result = try await loader.load(url, context { $0.encoding?.format = .gif })
    #expect(result.outcome == .failed && result.failure?.kind == .format)
    let totals = try loader.cache.totals()
    #expect(totals.entries == 0 && totals.blacklistEntries == 0)
  }

  @Test(arguments: [CacheMode.bypass, .memoryOnly])
  func `nothing is encoded if nothing is written to disk`(mode: CacheMode) async throws {
    #expect(try await loader.load(url, context(mode: mode)).outcome == .checked)
    #expect(writer.encodes == 0 && writer.decodes == 0)
  }

  @Test func `a read-only cache serves transforms and their originals`() async throws {
    _ = try await loader.load(url, context())
    let other = try Loader()
    _ = try await other.load(origin.url("/a.jpg"))
    let third = try Loader()
    for (number, store) in [loader.cache, other.cache].enumerated() {
      var options = LoadOptions(readOnly: [ReadOnlyCache(store)], transformer: ResizingTransformer(width: 8))
      var coders = ImageCoderRegistry.standard
      coders.add(writer)
      options.coders = coders
      options.encoding = TransformEncoding(format: .png)
      let result = try await third.load(url, third.context(options))
      #expect(result.outcome == .hitDisk && result.storedBytes == (number == 0 ? nil : smallBytes))
    }
    #expect(try third.cache.totals().entries == 1 && origin.requests.count == 2)
  }

  @Test func `every encoding keeps its key`() {
    #expect(TransformEncoding().key == "encode(auto,85)")
    let options = EncodingOptions(
      quality: 7,
      isLossless: true,
      maximumBytes: 1000,
      maximumSize: ImageSize(width: 8, height: 9),
      firstFrameOnly: true
    )
    let key = "encode(webp,7,lossless,max-bytes=1000,max-size=8x9,first-frame)"
    #expect(TransformEncoding(format: .webp, options: options).key == key)
  }
}
