import ImageCaching
import ImageCoding
import ImageDownloading
import ImageManaging
import Base
import Synchronization
import TestOrigin
import TestSupport
import Testing

/// Images that are shown while they arrive.
@Suite struct PartialImageTests {
  /// A progressive JPEG, and where its scans begin.
  private static let progressive = Fixtures.bytes("images/good/progressive.jpg")

  private func gallery(_ cache: Bool) throws -> (manager: ImageManager, origin: Origin, folder: TemporaryDirectory) {
    let folder = TemporaryDirectory()
    let origin = try Origin()
    let configuration = ImageManager.Configuration(
      cache: cache ? try ImageCache(ImageCache.Configuration(directory: folder.path)) : nil,
      memory: ImageMemory(pressure: nil),
      options: .patient()
    )
    return (try ImageManager(configuration), origin, folder)
  }

  private func request(_ url: String) -> ImageRequest {
    ImageRequest(url: url, decoding: ImageRequest.Decoding(isProgressive: true))
  }

  @Test(
    .timeLimit(.minutes(5)),
    arguments: [true, false]
  )
  func `partial images arrive during the download, each better than the last, then the final one`(cache: Bool) async throws {
    let (manager, origin, folder) = try gallery(cache)
    defer { withExtendedLifetime(folder) {} }
    let gate = Gate()
    // Comments before its 10 KB make it larger than two chunks, the second of which ends within its scans.
    let body = SampleImages.jpeg(1, padding: 26_000, base: Self.progressive)
    origin.set("/image", .paused(body, after: body.count - 2_000, gate))
    let task = manager.load(request(origin.url("/image")))
    var previews: [DecodedImage] = []
    for await event in task.events {
      guard case .preview(let response) = event, let image = response.image else { continue }
      previews.append(image)
      gate.open()
    }
    let final = try await task.value
    let image = try #require(final.image)
    #expect(final.source == .network && !previews.isEmpty)
    let distances = previews.map { Self.distance($0.pixels, image.pixels) }
    #expect(distances.first.map { $0 > 0 } == true)
    #expect(zip(distances, distances.dropFirst()).allSatisfy { $0 >= $1 }, "\(distances)")
    #expect(previews.allSatisfy { $0.pixels.size == image.pixels.size })
    // A small body isn't streamed.
    #expect(try await manager.response(for: request(origin.url("/image"))).source == .memory)
  }

  private static func distance(_ left: PixelBuffer, _ right: PixelBuffer) -> Int {
    zip(left.bytes, right.bytes).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
  }

  @Test func `a refresh shows the cached image and no partial images`() async throws {
    let (manager, origin, folder) = try gallery(true)
    defer { withExtendedLifetime(folder) {} }
    let body = SampleImages.jpeg(1, padding: 60_000, base: Self.progressive)
    origin.set("/image", .body(body, type: "image/jpeg"))
    _ = try await manager.image(for: origin.url("/image"))
    var refresh = request(origin.url("/image"))
    refresh.cachePolicy.mode = .refresh
    let task = manager.load(refresh)
    var previews = 0
    for await event in task.events { if case .preview = event { previews += 1 } }
    _ = try await task.value
    #expect(previews == 1)
  }

  @Test func `an image above a byte limit is decoded smaller and kept apart in memory`() async throws {
    let (manager, origin, folder) = try gallery(true)
    defer { withExtendedLifetime(folder) {} }
    origin.set("/image", .body(SampleImages.jpeg(1), type: "image/jpeg"))
    var small = ImageRequest(url: origin.url("/image"))
    small.decoding.options.maximumBytes = 16 * 12 * 4
    #expect(try await manager.response(for: small).image?.pixels.size == ImageSize(width: 16, height: 12))
    let full = try await manager.response(for: ImageRequest(url: origin.url("/image")))
    #expect(full.source == .disk && full.image?.pixels.size == ImageSize(width: 32, height: 24))
    let again = try await manager.response(for: small)
    #expect(again.source == .memory && again.image?.pixels.size == ImageSize(width: 16, height: 12))
    // Not with partial images.
    small.decoding.isProgressive = true
    #expect(try await manager.response(for: small).image?.pixels.size == ImageSize(width: 32, height: 24))
    var boxed = ImageRequest(url: origin.url("/image"))
    boxed.decoding.options.thumbnail = ImageSize(width: 8, height: 100)
    #expect(try await manager.response(for: boxed).image?.pixels.size == ImageSize(width: 8, height: 6))
    boxed.decoding.policy = .lazy
    #expect(try await manager.response(for: boxed).decoded().pixels.size == ImageSize(width: 8, height: 6))
  }

  @Test func `a transformed image is encoded for the disk under an identity of its decoding and encoding`() async throws {
    let folder = TemporaryDirectory()
    let origin = try Origin()
    origin.set("/image", .body(SampleImages.jpeg(1), type: "image/jpeg"))
    let memory = ImageMemory(pressure: nil)
    let manager = try ImageManager(
      ImageManager.Configuration(
        cache: try ImageCache(ImageCache.Configuration(directory: folder.path)),
        memory: memory,
        options: .patient(),
        transformer: FlippingTransformer(horizontal: true, vertical: false),
        encoding: TransformEncoding(format: .png)
      )
    )
    var small = ImageRequest(url: origin.url("/image"))
    small.decoding.options.thumbnail = ImageSize(width: 16, height: 16)
    let full = try await manager.image(for: origin.url("/image"))
    let first = try await manager.response(for: small)
    #expect(first.source == .disk && first.image?.pixels.size == ImageSize(width: 16, height: 12))
    memory.removeAll()
    let again = try await manager.response(for: small)
    #expect(again.source == .disk && again.image?.header.format == .png && again.image?.pixels == first.image?.pixels)
    let fullAgain = try await manager.response(for: ImageRequest(url: origin.url("/image")))
    #expect(fullAgain.image?.header.format == .png && fullAgain.image?.pixels == full.pixels)
    #expect(origin.requests.count == 1)
  }

  @Test func `an animation has all frames, or only the first on request`() async throws {
    let (manager, origin, folder) = try gallery(true)
    defer { withExtendedLifetime(folder) {} }
    origin.set("/image", .body(Fixtures.bytes("images/good/animation.gif"), type: "image/gif"))
    let whole = try await manager.image(for: origin.url("/image"))
    #expect((whole.animation?.frames.count ?? 0) > 1)
    var first = ImageRequest(url: origin.url("/image"))
    first.decoding.options.firstFrameOnly = true
    let response = try await manager.response(for: first)
    #expect(response.source == .disk && response.image?.animation == nil && response.image?.pixels == whole.pixels)
  }
}
