import Base
import ImageCaching
import ImageCoding
import ImageDownloading
import Synchronization
import TestOrigin
import TestSupport
import Testing

@testable import ImageManaging

/// Images that are shown while they arrive.
@Suite struct PartialImageTests {
  /// A progressive JPEG, and where its scans begin.
  private static let progressive = Fixtures.bytes("images/good/progressive.jpg")

  private func request(_ url: String) -> ImageRequest {
    ImageRequest(url: url, decoding: ImageRequest.Decoding(isProgressive: true))
  }

  @Test(.timeLimit(.minutes(5)), arguments: [true, false])
  func `partial images arrive during the download, each better than the last, then the final one`(cache: Bool) async throws {
    let album = try Album { if !cache { $0.cache = nil } }
    let (manager, origin) = (album.manager, album.origin)
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
    let album = try Album()
    let (manager, origin) = (album.manager, album.origin)
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
    let album = try Album()
    let (manager, origin) = (album.manager, album.origin)
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
    let album = try Album {
      $0.transformer = FlippingTransformer(horizontal: true, vertical: false)
      $0.encoding = TransformEncoding(format: .png)
    }
    let (manager, origin, memory) = (album.manager, album.origin, album.memory)
    origin.set("/image", .body(SampleImages.jpeg(1), type: "image/jpeg"))
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
    let album = try Album()
    let (manager, origin) = (album.manager, album.origin)
    origin.set("/image", .body(Fixtures.bytes("images/good/animation.gif"), type: "image/gif"))
    let whole = try await manager.image(for: origin.url("/image"))
    #expect((whole.animation?.frames.count ?? 0) > 1)
    var first = ImageRequest(url: origin.url("/image"))
    first.decoding.options.firstFrameOnly = true
    let response = try await manager.response(for: first)
    #expect(response.source == .disk && response.image?.animation == nil && response.image?.pixels == whole.pixels)
  }
}

/// The limits of a transform: memory as for decoding, and time while a request waits.
@Suite struct BoundedTransformTests {
  private static let size = ImageSize(width: 2, height: 1)

  /// An animation whose frames differ in their bytes.
  private func animation(frames count: Int) -> DecodedImage {
    let frames = (0..<count).map { number in
      DecodedImage.Frame(
        pixels: PixelBuffer(size: Self.size, bytes: (0..<8).map { UInt8(truncatingIfNeeded: number * 8 + $0) }),
        duration: .milliseconds(20)
      )
    }
    var header = ImageHeader(format: .gif, size: Self.size)
    header.frames = count
    return DecodedImage(header: header, pixels: frames[0].pixels, animation: DecodedImage.Animation(frames: frames, loopCount: 3))
  }

  private func bounded(
    _ transformer: (any ImageTransformer)?,
    _ limits: DecodingLimits = DecodingLimits(),
    isStopped: @escaping @Sendable () -> Bool = { false }
  ) -> BoundedTransform {
    BoundedTransform(transformer: transformer, limits: limits, isStopped: isStopped)
  }

  private func failure(_ transform: BoundedTransform, _ image: DecodedImage) -> ImageFailure? {
    do throws(ImageFailure) {
      _ = try transform.with(image) { $0 }
      return nil
    } catch {
      return error
    }
  }

  @Test func `frames beyond the decoding limit are rejected before they are created`() {
    let failure = failure(bounded(ResizingTransformer(width: 4000, height: 4000, fit: .fill)), animation(frames: 100))
    #expect(failure?.kind == .dimensions)
    expectGolden(failure?.message)
  }

  @Test func `a result with too many pixels is rejected, also within a pipeline`() {
    let large = ResizingTransformer(width: 40, height: 40, fit: .fill)
    let small = ResizingTransformer(width: 3, height: 3)
    let limits = DecodingLimits(maximumPixels: 1599)
    for transformer in [large, PipelineTransformer([large, small])] as [any ImageTransformer] {
      let failure = failure(bounded(transformer, limits), animation(frames: 1))
      #expect(failure?.kind == .dimensions)
      #expect(failure?.reason == .transformTooLarge(ImageSize(width: 40, height: 40), frames: 1, maximum: 1599))
    }
    #expect(failure(bounded(large, DecodingLimits(maximumPixels: 1600)), animation(frames: 1)) == nil)
    let long = ResizingTransformer(width: .max, height: 1, fit: .fill)
    #expect(failure(bounded(long, DecodingLimits(maximumPixels: .max)), animation(frames: 1))?.kind == .dimensions)
  }

  @Test func `the result of a transformer that reports no size is checked and rejected`() {
    let own = ClosureTransformer(key: "own", transformsAnimated: true) {
      try ResizingTransformer(width: 40, height: 40, fit: .fill).transform($0)
    }
    #expect(failure(bounded(own, DecodingLimits(maximumPixels: 1599)), animation(frames: 2))?.kind == .dimensions)
    #expect(failure(bounded(own, DecodingLimits(maximumPixels: 1600)), animation(frames: 2)) == nil)
  }

  @Test func `memory for results comes from the budget until they are used`() throws {
    let budget = DecodingBudget(bytes: 1 << 20)
    let limits = DecodingLimits(budget: budget)
    for transformer in [nil, FlippingTransformer(), ClosureTransformer(key: "own", transformsAnimated: true) { $0 }]
      as [(any ImageTransformer)?]
    {
      let taken = try bounded(transformer, limits).with(animation(frames: 5)) { _ in budget.takenBytes }
      #expect(taken >= 5 * 8)
      #expect(budget.takenBytes == 0)
    }
  }

  @Test func `an abandoned animation is stopped between frames`() throws {
    let turns = Counter()
    let failure = failure(bounded(FlippingTransformer()) { turns.next() > 3 }, animation(frames: 9))
    #expect(failure != nil && turns.count == 4)
  }

  @Test func `an animation transformed frame by frame equals the one transformed whole`() throws {
    let image = animation(frames: 4)
    for transformer in [
      FlippingTransformer(horizontal: true), RotationTransformer(degrees: 30),
      ResizingTransformer(width: 3, height: 3, fit: .fill),
      PipelineTransformer([ResizingTransformer(width: 4), RoundCornerTransformer(radius: 2), RotationTransformer(degrees: 90)]),
    ] as [any ImageTransformer] {
      let whole = try transformer.transform(image)
      #expect(transformer.outputSize(of: Self.size) == whole.pixels.size)
      #expect(try bounded(transformer).with(image) { $0 } == whole)
    }
  }
}

/// Counts calls.
private final class Counter: Sendable {
  private let calls = Atomic(0)
  var count: Int { calls.load(ordering: .sequentiallyConsistent) }
  func next() -> Int { calls.add(1, ordering: .sequentiallyConsistent).newValue }
}
