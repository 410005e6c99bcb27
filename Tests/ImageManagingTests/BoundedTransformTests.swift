import ImageCoding
@testable import ImageManaging
import Base
import Synchronization
import TestSupport
import Testing

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
