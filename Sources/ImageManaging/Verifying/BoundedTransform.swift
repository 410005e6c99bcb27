import ImageCoding
import Base

/// Transforms images within the memory limits of decoding, and only while a request waits for them.
struct BoundedTransform {
  /// Nil: images are unchanged.
  let transformer: (any ImageTransformer)?
  /// The limits of decoding: a result may have as many pixels, and all its frames together as many bytes.
  let limits: DecodingLimits
  let isStopped: @Sendable () -> Bool

  /// Frames in memory besides those that are kept: intermediate ones of the transformer and the encoder.
  private static let workingFrames = 3

  /// Calls `use` with the transformed image, whose memory is taken from the budget meanwhile.
  func with<Result>(_ image: DecodedImage, _ use: (DecodedImage) throws(ImageFailure) -> Result) throws(ImageFailure) -> Result {
    guard let transformer, image.header.frames == 1 || transformer.transformsAnimated else {
      return try spending([image.pixels.size], image.frameCount) { () throws(ImageFailure) in try use(image) }
    }
    guard let sizes = transformer.outputSizes(of: image.pixels.size) else {
      // Its size is known only afterwards.
      let new = try transformer.applied(to: image)
      try check([new.pixels.size], new.frameCount, madeOf: image)
      return try spending([new.pixels.size], new.frameCount) { () throws(ImageFailure) in try use(new) }
    }
    try check(sizes, image.frameCount, madeOf: image)
    return try spending(sizes, image.frameCount) { () throws(ImageFailure) in try use(framewise(image, transformer)) }
  }

  /// Rejects a result with more pixels or bytes than decoding allows.
  private func check(_ sizes: [ImageSize], _ frames: Int, madeOf image: DecodedImage) throws(ImageFailure) {
    let allowedPixels = max(limits.maximumPixels, image.pixels.size.pixels)
    for size in sizes where size.pixels > allowedPixels {
      throw ImageFailure(.transformTooLarge(size, frames: frames, maximum: limits.maximumPixels))
    }
    guard let size = sizes.last else { return }
    let bytes = size.bytes(of: frames)
    guard bytes > limits.allowedBytes else { return }
    let finding = FailureReason.transformTooLarge(size, frames: frames, maximum: limits.maximumPixels).finding
    throw ImageFailure(.dimensions, message: "\(finding), \(bytes) bytes, and at most \(limits.allowedBytes) are allowed")
  }

  private func spending<Result>(
    _ sizes: [ImageSize],
    _ frames: Int,
    _ body: () throws(ImageFailure) -> Result
  ) throws(ImageFailure) -> Result {
    guard let budget = limits.budget else { return try body() }
    let working = sizes.map { $0.bytes(of: Self.workingFrames) }.max() ?? 0
    let (bytes, overflow) = working.addingReportingOverflow(sizes.last?.bytes(of: frames) ?? 0)
    return try budget.spending(overflow ? .max : bytes, body)
  }

  /// Transforms each frame by itself, so that a long animation can be given up, and only one intermediate frame is in memory.
  private func framewise(_ image: DecodedImage, _ transformer: any ImageTransformer) throws(ImageFailure) -> DecodedImage {
    var still = image
    still.animation = nil
    guard let animation = image.animation else { return try transformer.applied(to: still) }
    var frames: [DecodedImage.Frame] = []
    var result: DecodedImage?
    for frame in animation.frames {
      if isStopped() { throw ImageFailure(.internal, message: "the request was cancelled") }
      still.pixels = frame.pixels
      let new = try transformer.applied(to: still)
      if result == nil { result = new }
      frames.append(DecodedImage.Frame(pixels: new.pixels, duration: frame.duration))
    }
    // The still picture mostly is the first frame, and then shares its memory.
    still.pixels = image.pixels
    let isFirst = animation.frames.first?.pixels == image.pixels
    var whole = if let result, isFirst { result } else { try transformer.applied(to: still) }
    whole.animation = DecodedImage.Animation(frames: frames, loopCount: animation.loopCount)
    return whole
  }
}

extension DecodedImage {
  fileprivate var frameCount: Int { animation?.frames.count ?? 1 }
}

extension ImageSize {
  /// The bytes of `frames` frames; `Int.max` on overflow.
  fileprivate func bytes(of frames: Int) -> Int {
    let (bytes, overflow) = pixels.multipliedReportingOverflow(by: 4 * frames)
    return overflow ? .max : bytes
  }
}

extension ImageTransformer {
  /// The sizes of an image at each step, ending with the result; nil if they aren't known in advance.
  fileprivate func outputSizes(of size: ImageSize) -> [ImageSize]? {
    guard let output = outputSize(of: size) else { return nil }
    if let standard = self as? ImageTransform { return standard.base.outputSizes(of: size) }
    guard let pipeline = self as? PipelineTransformer else { return [output] }
    var sizes: [ImageSize] = [size]
    for transformer in pipeline.transformers {
      guard let size = sizes.last, let further = transformer.outputSizes(of: size) else { return nil }
      sizes += further
    }
    return sizes
  }

  /// The transformed image, or the same image if it is an animation that isn't transformed. A transformer's errors fail the load,
  /// a ``TransformError`` as `dimensions`, any other as `internal`; neither is blacklisted.
  func applied(to image: DecodedImage) throws(ImageFailure) -> DecodedImage {
    if image.header.frames > 1 && !transformsAnimated { return image }
    do {
      return try transform(image)
    } catch let error as TransformError {
      throw ImageFailure(.dimensions, message: "the transform \(key) isn't possible: \(error)")
    } catch {
      throw ImageFailure(.internal, message: "the transformer \(key) failed: \(error)")
    }
  }
}
