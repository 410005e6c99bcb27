import CWebP
import ImagePrimitives

/// One compressed picture of a WebP file, and where it lies on the canvas.
struct WebPPicture {
  /// A bitstream with its container, or a frame's chunks.
  private let bytes: UnsafeRawBufferPointer
  private let size: ImageSize
  private let canvas: ImageSize
  private let x: Int
  private let y: Int

  /// Calls `body` with the file's picture, or an animation's first frame, which may be smaller than the canvas.
  static func withFirst(
    in bytes: UnsafeRawBufferPointer,
    of header: WebPHeader,
    _ body: (WebPPicture) throws(ImageError) -> Void
  ) throws(ImageError) {
    guard header.isAnimated else {
      return try body(WebPPicture(bytes: bytes, size: header.size, canvas: header.size, x: 0, y: 0))
    }
    var data = WebPData(bytes: bytes.assumingMemoryBound(to: UInt8.self).baseAddress, size: bytes.count)
    guard let demuxer = WebPDemuxInternal(&data, 0, nil, WEBP_DEMUX_ABI_VERSION) else {
      throw .undecodable("libwebp: the animation's container is corrupt")
    }
    defer { WebPDemuxDelete(demuxer) }
    var frame = WebPIterator()
    guard WebPDemuxGetFrame(demuxer, 1, &frame) != 0 else { throw .undecodable("libwebp: the animation has no whole frame") }
    defer { WebPDemuxReleaseIterator(&frame) }
    let size = ImageSize(width: Int(frame.width), height: Int(frame.height))
    let (x, y) = (Int(frame.x_offset), Int(frame.y_offset))
    guard x >= 0, y >= 0, x + size.width <= header.size.width, y + size.height <= header.size.height else {
      throw .undecodable("the WebP animation's first frame lies outside its canvas")
    }
    let fragment = UnsafeRawBufferPointer(start: frame.fragment.bytes, count: frame.fragment.size)
    try body(WebPPicture(bytes: fragment, size: size, canvas: header.size, x: x, y: y))
  }

  /// Decodes to RGBA at its place in `pixels`, which has the canvas's size; what it does not cover becomes transparent.
  func decode(into pixels: UnsafeMutableBufferPointer<UInt8>) throws(ImageError) {
    if size != canvas { pixels.initialize(repeating: 0) }
    let stride = canvas.width * 4
    let start = y * stride + x * 4
    try run { config in
      config.output.colorspace = MODE_RGBA
      config.output.is_external_memory = 1
      config.output.u.RGBA.rgba = pixels.baseAddress! + start
      config.output.u.RGBA.stride = Int32(stride)
      config.output.u.RGBA.size = pixels.count - start
    }
  }

  /// Decodes the whole bitstream, and has just its last corner made into pixels: libwebp gets there through all that comes before, and needs
  /// no loop filter, no colour conversion, and no memory for a picture.
  func prove() throws(ImageError) {
    try run { config in
      config.options.bypass_filtering = 1
      config.options.use_cropping = 1
      // The corner begins at an even row, as libwebp wants it.
      config.options.crop_top = Int32((size.height - 1) & ~1)
      config.options.crop_height = Int32(size.height) - config.options.crop_top
      config.options.crop_width = 1
    }
  }

  private func run(_ configure: (inout WebPDecoderConfig) -> Void) throws(ImageError) {
    var config = WebPDecoderConfig()
    guard WebPInitDecoderConfigInternal(&config, WEBP_DECODER_ABI_VERSION) != 0 else {
      preconditionFailure("libwebp has another ABI than the headers this was built with")
    }
    let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    try Self.check(WebPGetFeaturesInternal(start, bytes.count, &config.input, WEBP_DECODER_ABI_VERSION))
    guard config.input.width == size.width, config.input.height == size.height else {
      throw .undecodable(
        "the WebP container says \(size.width) x \(size.height), its bitstream \(config.input.width) x \(config.input.height) pixels"
      )
    }
    configure(&config)
    defer { WebPFreeDecBuffer(&config.output) }
    try Self.check(WebPDecode(start, bytes.count, &config))
  }

  /// libwebp has numbers, not words; these are the comments of its header.
  private static func check(_ status: VP8StatusCode) throws(ImageError) {
    switch status {
    case VP8_STATUS_OK: return
    case VP8_STATUS_OUT_OF_MEMORY: throw ImageError(.outOfMemory, "libwebp: out of memory")
    case VP8_STATUS_NOT_ENOUGH_DATA, VP8_STATUS_SUSPENDED: throw .undecodable("libwebp: not enough data")
    case VP8_STATUS_UNSUPPORTED_FEATURE: throw .undecodable("libwebp: unsupported feature")
    case VP8_STATUS_BITSTREAM_ERROR: throw .undecodable("libwebp: bitstream error")
    default: throw .undecodable("libwebp: status \(status.rawValue)")
    }
  }
}
