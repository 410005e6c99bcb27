import CWebP
import Base

/// A complete WebP file in libwebp's demuxer: one picture, or the frames of an animation.
struct WebPContainer: ~Copyable {
  /// A picture and its properties in an animation.
  struct Frame {
    var bitstream: WebPBitstream
    /// On the canvas, inside of which it is.
    var area: PixelRectangle
    var milliseconds: Int
    /// Whether it is blended with the canvas rather than replacing it.
    var isBlended: Bool
    /// Whether its area becomes transparent before the next frame.
    var isDisposed: Bool
  }

  private let demuxer: OpaquePointer
  /// The number of frames; 1 for a file without animation.
  let frames: Int
  /// How often they are shown; 0: forever.
  let loopCount: Int

  /// Reads the container, whose bytes must outlive this; libwebp detects all errors of the container here, but none in pictures.
  init(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
    var data = WebPData(bytes: bytes.assumingMemoryBound(to: UInt8.self).baseAddress, size: bytes.count)
    guard let demuxer = WebPDemux(&data) else {
      throw .undecodable("libwebp: the file's chunks are corrupt or incomplete")
    }
    self.init(demuxer)
  }

  /// Reads the start of a file; nil if the first chunk's header isn't complete.
  init?(partOf bytes: UnsafeRawBufferPointer) {
    var data = WebPData(bytes: bytes.assumingMemoryBound(to: UInt8.self).baseAddress, size: bytes.count)
    var state = WEBP_DEMUX_PARSING_HEADER
    guard let demuxer = WebPDemuxPartial(&data, &state) else { return nil }
    self.init(demuxer)
  }

  private init(_ demuxer: OpaquePointer) {
    self.demuxer = demuxer
    frames = Int(WebPDemuxGetI(demuxer, WEBP_FF_FRAME_COUNT))
    loopCount = Int(WebPDemuxGetI(demuxer, WEBP_FF_LOOP_COUNT))
  }

  deinit { WebPDemuxDelete(demuxer) }

  /// The first frame if it is complete.
  var firstWholeFrame: Frame? {
    var iterator = WebPIterator()
    defer { WebPDemuxReleaseIterator(&iterator) }
    return WebPDemuxGetFrame(demuxer, 1, &iterator) != 0 && iterator.complete != 0 ? Frame(iterator) : nil
  }

  /// Calls `body` with each frame until it returns false; if there are several, errors include the number of the frame.
  func forEachFrame(_ body: (Frame) throws(ImageError) -> Bool) throws(ImageError) {
    var iterator = WebPIterator()
    defer { WebPDemuxReleaseIterator(&iterator) }
    for number in 1...max(1, frames) {
      guard WebPDemuxGetFrame(demuxer, Int32(number), &iterator) != 0 else {
        throw .undecodable("libwebp: frame \(number) is incomplete")
      }
      do throws(ImageError) {
        guard try body(Frame(iterator)) else { return }
      } catch {
        throw frames == 1 ? error : ImageError(error.kind, "\(error.message), in frame \(number)")
      }
    }
  }
}

extension WebPContainer.Frame {
  fileprivate init(_ frame: WebPIterator) {
    bitstream = WebPBitstream(
      UnsafeRawBufferPointer(start: frame.fragment.bytes, count: frame.fragment.size),
      size: ImageSize(width: Int(frame.width), height: Int(frame.height))
    )
    area = PixelRectangle(x: Int(frame.x_offset), y: Int(frame.y_offset), width: Int(frame.width), height: Int(frame.height))
    milliseconds = Int(frame.duration)
    isBlended = frame.blend_method == WEBP_MUX_BLEND
    isDisposed = frame.dispose_method == WEBP_MUX_DISPOSE_BACKGROUND
  }
}

/// One compressed picture: a VP8 or VP8L chunk, with a preceding ALPH chunk if there is one.
struct WebPBitstream {
  private let bytes: UnsafeRawBufferPointer
  /// Width and height as stated by the container.
  let size: ImageSize

  init(_ bytes: UnsafeRawBufferPointer, size: ImageSize) {
    self.bytes = bytes
    self.size = size
  }

  /// The maximum memory that libwebp allocates for a picture besides its pixels: for a lossless one, or for alpha, all pixels again
  /// and a few rows; otherwise a few rows.
  static func workingBytes(_ size: ImageSize, isOpaqueLossy: Bool) -> Int {
    (isOpaqueLossy ? 0 : size.pixels * 5) + size.width * 512 + 1 << 20
  }

  /// Decodes to RGBA in `target`, whose rows are `stride` bytes apart; scales down if `scaled` differs from the picture's size.
  func decode(into target: UnsafeMutableBufferPointer<UInt8>, stride: Int, scaled: ImageSize? = nil) throws(ImageError) {
    try run { config in
      if let scaled, scaled != size {
        config.options.use_scaling = 1
        config.options.scaled_width = Int32(scaled.width)
        config.options.scaled_height = Int32(scaled.height)
      }
      config.output.colorspace = MODE_RGBA
      config.output.is_external_memory = 1
      config.output.u.RGBA.rgba = target.baseAddress
      config.output.u.RGBA.stride = Int32(stride)
      config.output.u.RGBA.size = target.count
    }
  }

  /// Decodes the whole bitstream but outputs only the last corner: libwebp must decode everything before it, but needs no loop
  /// filter, colour conversion, or memory for a picture.
  func prove() throws(ImageError) {
    try run { config in
      config.options.bypass_filtering = 1
      config.options.use_cropping = 1
      // libwebp requires an even first row.
      config.options.crop_top = Int32((size.height - 1) & ~1)
      config.options.crop_height = Int32(size.height) - config.options.crop_top
      config.options.crop_width = 1
    }
  }

  private func run(_ configure: (inout WebPDecoderConfig) -> Void) throws(ImageError) {
    var config = WebPDecoderConfig()
    guard WebPInitDecoderConfig(&config) != 0 else { preconditionFailure("libwebp's ABI differs from its headers") }
    let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    try WebPGetFeatures(start, bytes.count, &config.input).check()
    guard config.input.width == size.width, config.input.height == size.height else {
      throw .undecodable(
        "the WebP container says \(size.width) x \(size.height) pixels, its bitstream \(config.input.width) x \(config.input.height)"
      )
    }
    configure(&config)
    defer { WebPFreeDecBuffer(&config.output) }
    try WebPDecode(start, bytes.count, &config).check()
  }
}

extension VP8StatusCode {
  /// Throws the error of a failed call. libwebp's decoder has only numbers; the messages are its header's comments.
  func check() throws(ImageError) {
    switch self {
    case VP8_STATUS_OK: return
    case VP8_STATUS_OUT_OF_MEMORY: throw ImageError(.outOfMemory, "libwebp: out of memory")
    case VP8_STATUS_NOT_ENOUGH_DATA, VP8_STATUS_SUSPENDED: throw .undecodable("libwebp: not enough data")
    case VP8_STATUS_UNSUPPORTED_FEATURE: throw .undecodable("libwebp: unsupported feature")
    case VP8_STATUS_BITSTREAM_ERROR: throw .undecodable("libwebp: bitstream error")
    default: throw .undecodable("libwebp: status \(rawValue)")
    }
  }
}

extension ImageCoderRegistry {
  /// The release of libwebp.
  package static var webPRelease: String {
    let version = WebPGetDecoderVersion()
    return "\(version >> 16).\(version >> 8 & 255).\(version & 255)"
  }
}
