import CWebP
import Base

/// Encodes WebP: a still picture or an animation.
struct WebPEncoder {
  private let options: EncodingOptions

  init(_ options: EncodingOptions) { self.options = options }

  func encode(_ image: DecodedImage) throws(ImageError) -> [UInt8] {
    let size = try options.size(of: image.pixels, as: .webp, "a WebP")
    let frames = options.firstFrameOnly ? [] : image.animation?.frames ?? []
    guard let animation = image.animation, frames.count > 1 else {
      let pixels = image.pixels.reduced(to: size)
      return try fitting { config throws(ImageError) in
        var config = config
        var picture = try WebPSource(pixels, isLossless: config.lossless != 0)
        return try picture.encode(&config)
      }
    }
    return try fitting { config throws(ImageError) in
      var encoder = try WebPAnimationEncoder(size: size, loopCount: animation.loopCount, config: config)
      for frame in frames { try encoder.append(frame.pixels.reduced(to: size), duration: frame.duration) }
      return try encoder.finish()
    }
  }

  private func fitting(_ encode: (WebPConfig) throws(ImageError) -> [UInt8]) throws(ImageError) -> [UInt8] {
    try options.fittingOrLossless { quality throws(ImageError) in
      var config = WebPConfig()
      // Of a lossless file, the quality is libwebp's default effort.
      guard WebPConfigPreset(&config, WEBP_PRESET_DEFAULT, Float(quality ?? 75)) != 0 else {
        preconditionFailure("libwebp's ABI differs from its headers")
      }
      if quality == nil {
        config.lossless = 1
        // Colours of transparent pixels are kept, too.
        config.exact = 1
      }
      return try encode(config)
    }
  }
}

/// Encodes an animated WebP by libwebp's animation encoder, which stores the differences between frames.
struct WebPAnimationEncoder: ~Copyable {
  private let encoder: OpaquePointer
  private var config: WebPConfig
  /// The start of the next frame.
  private var milliseconds = 0

  /// An encoder of frames of that size; `loopCount` is 0 for an animation that loops forever, and at most 65,535.
  init(size: ImageSize, loopCount: Int, config: WebPConfig) throws(ImageError) {
    var options = WebPAnimEncoderOptions()
    guard WebPAnimEncoderOptionsInit(&options) != 0 else { preconditionFailure("libwebp's ABI differs from its headers") }
    options.anim_params.loop_count = Int32(min(loopCount, 0xFFFF))
    guard let encoder = WebPAnimEncoderNew(Int32(size.width), Int32(size.height), &options) else {
      throw ImageError(.outOfMemory, "libwebp: out of memory")
    }
    self.encoder = encoder
    self.config = config
  }

  deinit { WebPAnimEncoderDelete(encoder) }

  /// Adds the next frame with its duration, in whole milliseconds.
  mutating func append(_ pixels: PixelBuffer, duration: Duration) throws(ImageError) {
    var picture = try WebPSource(pixels, isLossless: true)
    guard picture.add(to: encoder, milliseconds: Int32(milliseconds), &config) else { throw lastError }
    milliseconds += max(0, Int(duration / .milliseconds(1)))
    guard milliseconds <= Int32.max else {
      throw ImageError(.unencodable, "the animation lasts more than \(Int32.max) ms, the limit of WebP")
    }
  }

  func finish() throws(ImageError) -> [UInt8] {
    guard WebPAnimEncoderAdd(encoder, nil, Int32(milliseconds), nil) != 0 else { throw lastError }
    var data = WebPData()
    WebPDataInit(&data)
    defer { WebPDataClear(&data) }
    guard WebPAnimEncoderAssemble(encoder, &data) != 0 else { throw lastError }
    return Array(UnsafeBufferPointer(start: data.bytes, count: data.size))
  }

  private var lastError: ImageError {
    ImageError(.unencodable, "libwebp: \(WebPAnimEncoderGetError(encoder).map { String(cString: $0) } ?? "no reason given")")
  }
}

/// Pixels in the form that libwebp's encoder requires.
struct WebPSource: ~Copyable {
  private var picture = WebPPicture()

  /// A copy of `pixels`, converted to YUV unless the encoding is lossless.
  init(_ pixels: PixelBuffer, isLossless: Bool) throws(ImageError) {
    guard WebPPictureInit(&picture) != 0 else { preconditionFailure("libwebp's ABI differs from its headers") }
    picture.use_argb = isLossless ? 1 : 0
    picture.width = Int32(pixels.size.width)
    picture.height = Int32(pixels.size.height)
    let isImported = pixels.bytes.withUnsafeBufferPointer { bytes in
      WebPPictureImportRGBA(&picture, bytes.baseAddress, Int32(pixels.size.width * 4)) != 0
    }
    guard isImported else {
      WebPPictureFree(&picture)
      throw Self.error(picture.error_code)
    }
  }

  deinit {
    var picture = picture
    WebPPictureFree(&picture)
  }

  /// A file with only this picture.
  mutating func encode(_ config: inout WebPConfig) throws(ImageError) -> [UInt8] {
    var writer = WebPMemoryWriter()
    WebPMemoryWriterInit(&writer)
    defer { WebPMemoryWriterClear(&writer) }
    let isEncoded = withUnsafeMutablePointer(to: &writer) { writer in
      picture.writer = WebPMemoryWrite
      picture.custom_ptr = UnsafeMutableRawPointer(writer)
      return WebPEncode(&config, &picture) != 0
    }
    guard isEncoded else { throw Self.error(picture.error_code) }
    return Array(UnsafeBufferPointer(start: writer.mem, count: writer.size))
  }

  /// Adds the picture to an animation with that `config`; false if that fails.
  mutating func add(to encoder: OpaquePointer, milliseconds: Int32, _ config: inout WebPConfig) -> Bool {
    WebPAnimEncoderAdd(encoder, &picture, milliseconds, &config) != 0
  }

  /// The messages of libwebp's encoder, which has only numbers; taken from its header's comments.
  private static func error(_ code: WebPEncodingError) -> ImageError {
    switch code {
    case VP8_ENC_ERROR_OUT_OF_MEMORY, VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY:
      ImageError(.outOfMemory, "libwebp: memory error")
    case VP8_ENC_ERROR_BAD_DIMENSION: ImageError(.unencodable, "libwebp: picture has invalid width/height")
    case VP8_ENC_ERROR_PARTITION0_OVERFLOW: ImageError(.unencodable, "libwebp: partition is bigger than 512k")
    case VP8_ENC_ERROR_PARTITION_OVERFLOW: ImageError(.unencodable, "libwebp: partition is bigger than 16M")
    case VP8_ENC_ERROR_FILE_TOO_BIG: ImageError(.unencodable, "libwebp: file is bigger than 4G")
    default: ImageError(.unencodable, "libwebp: error \(code.rawValue)")
    }
  }
}
