import ImageCoding
import Base

/// Calls all functions of a coder with one file and checks that their results agree.
struct CoderChecks {
  private static let limits = DecodingLimits(
    maximumPixels: 4_000_000,
    maximumFrames: 100,
    maximumBytes: 64 << 20,
    maximumTime: .seconds(5)
  )
  /// The maximum size of images that are encoded again.
  private static let maximumEncodedPixels = 4096

  private let coder: any ImageCoder
  private let format: ImageFormat
  private let bytes: UnsafeRawBufferPointer

  init(_ coder: any ImageCoder, _ format: ImageFormat, _ bytes: UnsafeRawBufferPointer) {
    self.coder = coder
    self.format = format
    self.bytes = bytes
  }

  func run() {
    HeaderChecks.check(coder, format, bytes)
    let proof = Result { () throws(ImageError) in try coder.proveDecodable(bytes, limits: Self.limits) }
    let decoding = decode(DecodingOptions())
    switch (proof, decoding) {
    case (.success(let proof), .success(let image)):
      demand(proof.header == image.header, "verified as \(proof.header), decoded as \(image.header)")
    case (.failure(let left), .failure(let right)):
      demand(!left.message.isEmpty && !right.message.isEmpty, "an error without a message")
      demand(coder.decodesPixels || right.kind != .unavailable || left.isOfLimits, "not verified: \(left.message)")
    case (.success, .failure(let error)):
      let isExpected = !coder.decodesPixels && error.kind == .unavailable
      demand(isExpected || error.isOfLimits, "verified, but not decoded: \(error.message)")
    case (.failure(let error), .success): demand(error.isOfLimits, "decoded, but not verified: \(error.message)")
    }
    var image: DecodedImage?
    if case .success(let decoded) = decoding { image = decoded }
    if let image {
      check(image)
      checkSmaller(image)
      if image.pixels.size.pixels <= Self.maximumEncodedPixels { EncodingChecks(image, limits: Self.limits).run() }
    }
    ProgressiveChecks(coder, format, bytes, expected: image, limits: Self.limits).run()
  }

  private func decode(_ options: DecodingOptions) -> Result<DecodedImage, ImageError> {
    Result { () throws(ImageError) in try coder.decode(bytes, options: options, limits: Self.limits) }
  }

  private func check(_ image: DecodedImage) {
    demand(
      image.pixels.size == image.header.displaySize,
      "decoded to \(image.pixels.size), displayed as \(image.header.displaySize)"
    )
    demand(image.header.size.pixels <= Self.limits.maximumPixels, "\(image.header.size) is beyond the limit")
    guard let animation = image.animation else { return }
    demand(animation.frames.count > 1 && animation.frames.count <= Self.limits.maximumFrames, "\(animation.frames.count) frames")
    // A PNG may have a separate still picture.
    demand(format == .png || animation.frames[0].pixels == image.pixels, "the first frame isn't the image")
    for frame in animation.frames {
      demand(frame.pixels.size == image.pixels.size, "a frame of \(frame.pixels.size) in \(image.pixels.size)")
      demand(frame.duration >= .milliseconds(11), "a frame shown for \(frame.duration)")
    }
  }

  private func checkSmaller(_ image: DecodedImage) {
    let options = DecodingOptions(thumbnail: ImageSize(width: 17, height: 13), firstFrameOnly: true)
    switch decode(options) {
    case .success(let thumbnail):
      let size = options.decodedSize(of: image.header.displaySize)
      demand(thumbnail.pixels.size == size, "a thumbnail of \(thumbnail.pixels.size), not \(size)")
      demand(thumbnail.animation == nil, "an animation of one frame")
    case .failure(let error): demand(error.isOfLimits, "decoded, but not as a thumbnail: \(error.message)")
    }
  }
}

extension ImageError {
  /// Whether the error concerns a limit rather than the file, since one way of decoding may need more than another.
  var isOfLimits: Bool {
    switch kind {
    case .memory, .outOfMemory: true
    default: message.contains("processor time")
    }
  }
}
