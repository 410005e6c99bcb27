import CWebP
import ImagePrimitives

/// Pixels as libwebp's encoder takes them.
struct WebPSource: ~Copyable {
  private var picture = WebPPicture()

  /// A copy of `pixels`, in YUV unless it is to be written without loss.
  init(_ pixels: PixelBuffer, isLossless: Bool) throws(ImageError) {
    guard WebPPictureInit(&picture) != 0 else { preconditionFailure("libwebp has another ABI than its headers") }
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

  /// A file of this picture alone.
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

  /// Adds it to an animation, whose `config` it is; false where that fails.
  mutating func add(to encoder: OpaquePointer, milliseconds: Int32, _ config: inout WebPConfig) -> Bool {
    WebPAnimEncoderAdd(encoder, &picture, milliseconds, &config) != 0
  }

  /// libwebp's encoder has numbers, not words; these are the comments of its header.
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
