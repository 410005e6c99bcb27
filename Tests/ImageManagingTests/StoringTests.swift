import ImageCoding
import ImageManaging
import Base
import Synchronization
import TestOrigin
import TestSupport
import Testing

/// Storing by a program.
@Suite struct StoringTests {
  /// Encodes JPEG and PNG: always the same file for each, and counts.
  private final class Writer: ImageCoder {
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
    func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
      throw ImageError(.undecodable, "it only writes")
    }
    func decode(
      _ bytes: UnsafeRawBufferPointer,
      options: DecodingOptions,
      limits: DecodingLimits
    ) throws(ImageError) -> DecodedImage {
      throw ImageError(.undecodable, "it only writes")
    }
    func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> ImageProof {
      throw ImageError(.undecodable, "it only writes")
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
    try album.manager.store(image(.gif), for: url)
    #expect(try await album.manager.image(for: url) == image(.gif))
    #expect(try await bytesOnDisk() == Writer.jpeg)
    try album.manager.store(image(.gif, alpha: 0), for: url)
    #expect(try await bytesOnDisk() == Writer.png)
    #expect(try await album.manager.image(for: url) == image(.gif, alpha: 0))
    try album.manager.store(image(.gif), as: .png, for: url)
    #expect(try await bytesOnDisk() == Writer.png)
    #expect(album.origin.requests.isEmpty)
  }

  @Test func `bytes are stored unchanged unless re-encoding is requested`() async throws {
    try album.manager.store(image(.jpeg), data: SampleImages.jpeg(5), for: url)
    #expect(try await bytesOnDisk() == SampleImages.jpeg(5))
    #expect(writer.encodes == 0)
    try album.manager.store(image(.jpeg), data: SampleImages.jpeg(5), recalculatesData: true, for: url)
    #expect(try await bytesOnDisk() == Writer.jpeg)
    #expect(writer.encodes == 1)
  }

  @Test func `memory alone needs no bytes, and disk alone leaves memory empty`() async throws {
    try album.manager.store(image(.jpeg), for: url, in: .memory)
    #expect(writer.encodes == 0)
    #expect(try album.manager.isInMemory(url) && !album.manager.isOnDisk(url))
    try album.manager.store(image(.jpeg), for: url, in: .disk)
    #expect(try !album.manager.isInMemory(url) && album.manager.isOnDisk(url))
  }

  @Test func `an image that cannot be encoded or breaks the rules isn't stored`() throws {
    #expect(throws: ImageLoadError.self) { try album.manager.store(image(.png), as: .gif, for: url) }
    #expect(throws: ImageLoadError.self) { try album.manager.store(image(.png), data: Array("text".utf8), for: url) }
    #expect(throws: ImageLoadError.self) { try album.manager.store(image(.png), for: "no url") }
    #expect(try !album.manager.isCached(url))
  }

  @Test func `a response has the scale factor of its URL`() async throws {
    album.origin.setFallback { _ in .body(SampleImages.jpeg(2), type: "image/jpeg") }
    #expect(try await album.manager.response(for: album.request("/b@2x.jpg")).scale == 2)
    #expect(try await album.manager.response(for: album.request("/b%402x.jpg?a=1")).scale == 2)
    #expect(try await album.manager.response(for: album.request("/a.jpg")).scale == 1)
  }
}
