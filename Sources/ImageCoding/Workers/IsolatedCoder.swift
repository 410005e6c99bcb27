#if os(Linux)
import Base

/// A standard coder whose decoding is left to workers; it reads headers and encodes in this process.
struct IsolatedCoder: ProgressiveImageCoder, LengthStatingCoder {
  let base: any ImageCoder
  let format: ImageFormat
  let workers: DecodingWorkers

  func canDecode(_ format: ImageFormat) -> Bool { base.canDecode(format) }

  func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    try base.header(of: prefix, isComplete: isComplete)
  }

  func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    let answer = try workers.perform(.decode, bytes, WorkerTask(format, bytes.count, options, limits))
    return try image(answer, header: header(of: bytes))
  }

  /// The header of a file that a worker decoded, whose later parts may be damaged.
  private func header(of bytes: UnsafeRawBufferPointer) throws(ImageError) -> ImageHeader {
    do throws(ImageError) { return try base.header(of: bytes, isComplete: true) } catch {
      return try base.header(of: bytes, isComplete: false)
    }
  }

  func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> ImageProof {
    let answer = try workers.perform(.prove, bytes, WorkerTask(format, bytes.count, DecodingOptions(), limits))
    return ImageProof(header: try header(of: bytes), warnings: answer.warnings)
  }

  func picture(ofPart bytes: UnsafeRawBufferPointer, _ format: ImageFormat, limits: DecodingLimits) throws(ImageError)
    -> DecodedImage?
  {
    let answer = try workers.perform(.picture, bytes, WorkerTask(format, bytes.count, DecodingOptions(), limits))
    return answer.frames.isEmpty ? nil : try image(answer, header: base.header(of: bytes, isComplete: false))
  }

  private func image(_ answer: DecodingExchange.Answer, header: ImageHeader) -> DecodedImage {
    var image = DecodedImage(header: header, pixels: answer.frames[0].pixels, warnings: answer.warnings)
    let frames = Array(answer.frames.dropFirst(answer.hasStill ? 1 : 0))
    image.animation = answer.loopCount.map { DecodedImage.Animation(frames: frames, loopCount: $0) }
    return image
  }

  func canEncode(_ format: ImageFormat) -> Bool { base.canEncode(format) }

  func encode(_ image: DecodedImage, as format: ImageFormat, options: EncodingOptions) throws(ImageError) -> [UInt8] {
    try base.encode(image, as: format, options: options)
  }

  func statedBytes(_ prefix: UnsafeRawBufferPointer) -> Int? { (base as? any LengthStatingCoder)?.statedBytes(prefix) }

  func progressiveDecoder(for format: ImageFormat, limits: DecodingLimits) -> (any ProgressiveDecoder)? {
    (base as? any ProgressiveImageCoder)?.progressiveDecoder(for: format, limits: limits)
  }
}
#endif
