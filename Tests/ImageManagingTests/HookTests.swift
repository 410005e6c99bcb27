import Base
import ImageCaching
import ImageCoding
import Synchronization
import TestOrigin
import TestSupport
import Testing

@testable import ImageManaging

/// Decisions by a manager's user: hooks and transformers.
@Suite struct HookTests {
  /// Turns an image upside down; tests identify it by its key.
  private struct Upended: ImageTransformer {
    var key = "upended"
    func transform(_ image: DecodedImage) throws -> DecodedImage {
      var image = image
      image.pixels.bytes.reverse()
      return image
    }
  }

  @Test func `a miss that the hook declines ends without image and without error`() async throws {
    let album = try Album { $0.hooks.shouldDownload = { !$0.hasSuffix("/a.jpg") } }
    let response = try await album.manager.response(for: album.request("/a.jpg"))
    #expect(response.image == nil && response.source == nil)
    await #expect(throws: ImageLoadError.declined) { try await album.manager.image(for: album.url("/a.jpg")) }
    #expect(try await album.source("/b.jpg") == .network)
    #expect(album.origin.requests.count == 1)
  }

  @Test func `a refresh that the hook declines returns the cached image once`() async throws {
    let wanted = Wanted()
    let album = try Album { $0.hooks.shouldDownload = { _ in wanted.value } }
    album.origin.set("/v.jpg", Album.versioned(SampleImages.jpeg(1), etag: "\"1\""))
    _ = try await album.source("/v.jpg")
    wanted.value = false
    let response = try await album.manager.response(for: album.request("/v.jpg", mode: .refresh))
    #expect(response.image != nil && response.source == .disk)
    #expect(album.origin.requests.count == 1)
  }

  @Test func `the hook overrides the rules for blacklisting`() async throws {
    let album = try Album {
      $0.hooks.shouldBlockFailedURL = { url, failure in failure.status == 503 && url.hasSuffix("/busy.jpg") }
    }
    album.origin.set("/busy.jpg", .status(503))
    await #expect(throws: ImageLoadError.self) { try await album.manager.response(for: album.request("/gone.jpg")) }
    await #expect(throws: ImageLoadError.self) { try await album.manager.response(for: album.request("/gone.jpg")) }
    for _ in 0..<2 {
      await #expect(throws: ImageLoadError.self) { try await album.manager.response(for: album.request("/busy.jpg")) }
    }
    #expect(album.origin.count(of: "/gone.jpg") == 2 && album.origin.count(of: "/busy.jpg") == 1)
  }

  @Test func `the key filter's result is the identity, and the record keeps the URL as written`() async throws {
    let album = try Album { $0.hooks.cacheKeyFilter = { String($0.prefix { $0 != "?" }) } }
    album.origin.setFallback(.body(SampleImages.jpeg(5), type: "image/jpeg"))
    _ = try await album.source("/c.jpg?token=1")
    #expect(try await album.source("/c.jpg?token=2") == .memory)
    let record = try #require(try album.cache.entries(after: nil, limit: 1).first)
    #expect(String(decoding: record.identity, as: UTF8.self) == album.url("/c.jpg"))
    #expect(String(decoding: record.shownURL, as: UTF8.self) == album.url("/c.jpg?token=1"))
  }

  @Test(arguments: [true, false])
  func `a key rule drops the query or parts of it, for loads and lookups alike`(_ dropsAll: Bool) async throws {
    let album = try Album { $0.keyRule = dropsAll ? .urlWithoutQuery : .droppingQuery(["utm_source", "ref"]) }
    album.origin.setFallback(.body(SampleImages.jpeg(5), type: "image/jpeg"))
    _ = try await album.source("/c.jpg?w=1&utm_source=a")
    #expect(try await album.source("/c.jpg?ref=x&w=1") == .memory)
    #expect(try album.manager.blocking.isOnDisk(album.url("/c.jpg?w=1")))
    #expect(try await album.source("/c.jpg?w=2") == (dropsAll ? .memory : .network))
    // The whole URL is requested.
    #expect(album.origin.requests.first?.target == "/c.jpg?w=1&utm_source=a")
  }

  @Test func `the serializer chooses the bytes to store, or none`() async throws {
    let album = try Album {
      $0.memory = nil
      $0.hooks.cacheSerializer = { url, _, data in
        url.hasSuffix("/a.jpg") ? SampleImages.png(7) : url.hasSuffix("/b.jpg") ? nil : data
      }
    }
    #expect(try await album.source("/a.jpg") == .network)
    var request = album.request("/a.jpg")
    request.decoding = ImageRequest.Decoding(policy: .lazy)
    #expect(try await album.manager.response(for: request).data == SampleImages.png(7))
    let record = try #require(try album.cache.entries(after: nil, limit: 1).first)
    #expect(record.format == .png)
    #expect(try await album.manager.response(for: album.request("/b.jpg")).result.outcome == .checked)
    #expect(try album.cache.totals().entries == 1)
  }

  @Test func `serialized bytes that aren't an image fail the load, and nothing is stored`() async throws {
    let album = try Album { $0.hooks.cacheSerializer = { _, _, _ in Array("no image".utf8) } }
    await #expect(throws: ImageLoadError.self) { try await album.manager.response(for: album.request("/a.jpg")) }
    let totals = try album.cache.totals()
    #expect(totals.entries == 0 && totals.blacklistEntries == 0)
  }

  @Test func `a transformed image has its own key, and the original is kept too`() async throws {
    let album = try Album()
    var request = album.request("/a.jpg", transformer: Upended())
    let upended = try await album.manager.response(for: request)
    let plain = try await album.manager.response(for: album.request("/a.jpg"))
    #expect(upended.source == .network && plain.source == .disk)
    #expect(upended.image?.pixels.bytes == plain.image?.pixels.bytes.reversed())
    #expect(try await album.manager.response(for: request).source == .memory)
    request.decoding.transformer = Upended(key: "again")
    #expect(try await album.manager.response(for: request).source == .disk)
    #expect(album.memory.count == 3 && album.origin.requests.count == 1)
  }

  @Test func `a serializer stores the transformed image under its own identity`() async throws {
    let album = try Album {
      $0.transformer = Upended()
      $0.hooks.cacheSerializer = { _, _, data in data ?? SampleImages.png(3) }
    }
    _ = try await album.source("/a.jpg")
    let identities = try album.cache.entries(after: nil, limit: 5).map { String(decoding: $0.identity, as: UTF8.self) }
    #expect(Set(identities) == [album.url("/a.jpg"), album.url("/a.jpg#transform=upended")])
    album.memory.removeAll()
    let response = try await album.manager.response(for: album.request("/a.jpg"))
    // The stored bytes: black pixels, which weren't transformed again.
    #expect(response.source == .disk && response.image?.header.format == .png)
  }

  @Test func `transformers skip animations unless they support them`() throws {
    var header = ImageHeader(format: .webp, size: ImageSize(width: 1, height: 2))
    header.frames = 3
    let image = DecodedImage(
      header: header,
      pixels: PixelBuffer(size: ImageSize(width: 1, height: 2), bytes: [1, 2, 3, 4, 5, 6, 7, 8])
    )
    #expect(try Upended().applied(to: image) == image)
    let always = ClosureTransformer(key: "x", transformsAnimated: true) { try Upended().transform($0) }
    #expect(try always.applied(to: image).pixels.bytes == [8, 7, 6, 5, 4, 3, 2, 1])
    header.frames = 1
    let still = DecodedImage(header: header, pixels: image.pixels)
    #expect(try Upended().applied(to: still).pixels.bytes == [8, 7, 6, 5, 4, 3, 2, 1])
  }

  @Test func `a throwing transformer fails the load as internal, and nothing is blacklisted`() async throws {
    struct Rejection: Error {}
    let album = try Album { $0.transformer = ClosureTransformer(key: "no") { _ in throw Rejection() } }
    do {
      _ = try await album.manager.response(for: album.request("/a.jpg"))
      Issue.record("it was loaded")
    } catch {
      guard case ImageLoadError.failed(let failure) = error else { throw error }
      #expect(failure.kind == .internal)
      expectGolden(failure.message)
    }
    #expect(try album.cache.totals().blacklistEntries == 0)
  }
}

/// A switch that hooks read.
private final class Wanted: Sendable {
  private let state = Mutex(true)
  var value: Bool {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }
}

/// Storing by a program.
@Suite struct StoringTests {
  /// Encodes JPEG and PNG: always the same file for each, and counts.
  private final class Writer: StubCoder {
    static let jpeg = SampleImages.jpeg(70)
    static let png = SampleImages.png(71)
    private let count = Atomic(0)

    var encodes: Int { count.load(ordering: .sequentiallyConsistent) }

    func canDecode(_ format: ImageFormat) -> Bool { false }
    func canEncode(_ format: ImageFormat) -> Bool { format == .jpeg || format == .png }
    func encode(_ image: DecodedImage, as format: ImageFormat, options: EncodingOptions) throws(ImageError) -> [UInt8] {
      count.add(1, ordering: .sequentiallyConsistent)
      return format == .jpeg ? Self.jpeg : Self.png
    }
  }

  private let writer = Writer()
  private let album: Album
  private let url: String

  init() throws {
    album = try Album { [writer] in $0.coders.add(writer) }
    url = album.url("/a.jpg")
  }

  /// A red pixel.
  private func image(_ format: ImageFormat, alpha: UInt8 = 255) -> DecodedImage {
    let size = ImageSize(width: 1, height: 1)
    return DecodedImage(
      header: ImageHeader(format: format, size: size),
      pixels: PixelBuffer(size: size, bytes: [200, 0, 0, alpha])
    )
  }

  private func bytesOnDisk() async throws -> [UInt8]? {
    var request = album.request("/a.jpg", mode: .only)
    request.decoding.policy = .lazy
    return try await album.manager.response(for: request).data
  }

  @Test func `an image without bytes is encoded for the disk and kept unchanged in memory`() async throws {
    try album.manager.blocking.store(image(.gif), for: url)
    #expect(try await album.manager.image(for: url) == image(.gif))
    #expect(try await bytesOnDisk() == Writer.jpeg)
    try album.manager.blocking.store(image(.gif, alpha: 0), for: url)
    #expect(try await bytesOnDisk() == Writer.png)
    #expect(try await album.manager.image(for: url) == image(.gif, alpha: 0))
    try album.manager.blocking.store(image(.gif), as: .png, for: url)
    #expect(try await bytesOnDisk() == Writer.png)
    #expect(album.origin.requests.isEmpty)
  }

  @Test func `bytes are stored unchanged, and an image without them is encoded`() async throws {
    try album.manager.blocking.store(image(.jpeg), data: SampleImages.jpeg(5), for: url)
    #expect(try await bytesOnDisk() == SampleImages.jpeg(5))
    #expect(writer.encodes == 0)
    try album.manager.blocking.store(image(.jpeg), for: url)
    #expect(try await bytesOnDisk() == Writer.jpeg)
    #expect(writer.encodes == 1)
  }

  @Test func `memory alone needs no bytes, and disk alone leaves memory empty`() async throws {
    try album.manager.blocking.store(image(.jpeg), for: url, in: .memory)
    #expect(writer.encodes == 0)
    #expect(try album.manager.isInMemory(url) && !album.manager.blocking.isOnDisk(url))
    try album.manager.blocking.store(image(.jpeg), for: url, in: .disk)
    #expect(try !album.manager.isInMemory(url) && album.manager.blocking.isOnDisk(url))
  }

  @Test func `an image that cannot be encoded or breaks the rules isn't stored`() throws {
    #expect(throws: ImageLoadError.self) { try album.manager.blocking.store(image(.png), as: .gif, for: url) }
    #expect(throws: ImageLoadError.self) { try album.manager.blocking.store(image(.png), data: Array("text".utf8), for: url) }
    #expect(throws: ImageLoadError.self) { try album.manager.blocking.store(image(.png), for: "no url") }
    #expect(try !album.manager.blocking.isCached(url))
  }

  @Test func `a response has the scale factor of its URL`() async throws {
    album.origin.setFallback { _ in .body(SampleImages.jpeg(2), type: "image/jpeg") }
    #expect(try await album.manager.response(for: album.request("/b@2x.jpg")).scale == 2)
    #expect(try await album.manager.response(for: album.request("/b%402x.jpg?a=1")).scale == 2)
    #expect(try await album.manager.response(for: album.request("/a.jpg")).scale == 1)
  }
}
