#if LoadedFormats
import CJXL
import Base

/// libjxl's decoder of one file: boxes, header and frames, each as one event.
///
/// libjxl works in calls that can't be interrupted from outside, such as a whole frame, but ends them when it allocates memory beyond
/// the limit or after the deadline.
struct JXLDecoder: ~Copyable {
  private let jxl: CJXLFunctions
  private let decoder: OpaquePointer
  private let file: UnsafeRawBufferPointer
  private let maximumBytes: Int
  private let deadline: DecodingDeadline

  /// libjxl, loaded on first use; throws ``ImageError/Kind/unavailable`` if it isn't installed.
  static func library() throws(ImageError) -> CJXLFunctions {
    guard let jxl = cjxl_functions()?.pointee else {
      let package = String(cString: cjxl_package())
      throw .missingLibrary("libjxl", package: package, for: "the image is JPEG XL", reason: cjxl_error())
    }
    return jxl
  }

  /// A decoder of `file`, which must outlive it; throws ``ImageError/Kind/unavailable`` if libjxl isn't installed.
  static func opened(
    _ file: UnsafeRawBufferPointer,
    _ limits: DecodingLimits,
    events: [JxlDecoderStatus]
  ) throws(ImageError) -> JXLDecoder {
    let jxl = try library()
    let deadline = DecodingDeadline(limits)
    guard let decoder = cjxl_create(limits.allowedBytes, deadline.nanoseconds) else {
      throw ImageError(.outOfMemory, "libjxl: out of memory")
    }
    let opened = JXLDecoder(jxl: jxl, decoder: decoder, file: file, maximumBytes: limits.allowedBytes, deadline: deadline)
    let bytes = file.assumingMemoryBound(to: UInt8.self)
    let isSet =
      jxl.subscribeEvents(opened.libjxl, Int32(events.reduce(0) { $0 | $1.rawValue })) == JXL_DEC_SUCCESS
      && jxl.setKeepOrientation(opened.libjxl, JXL_TRUE) == JXL_DEC_SUCCESS
      && jxl.setUnpremultiplyAlpha(opened.libjxl, JXL_TRUE) == JXL_DEC_SUCCESS
      && jxl.setDecompressBoxes(opened.libjxl, JXL_TRUE) == JXL_DEC_SUCCESS
      && jxl.setInput(opened.libjxl, bytes.baseAddress, bytes.count) == JXL_DEC_SUCCESS
    guard isSet else { throw .undecodable("libjxl: it doesn't support the options of its decoder") }
    return opened
  }

  deinit { cjxl_destroy(decoder) }

  private var libjxl: OpaquePointer { cjxl_decoder(decoder) }

  /// The next event, which is one of those requested, or one of these: no further input, no output yet, and the end.
  func next() throws(ImageError) -> JxlDecoderStatus {
    try deadline.check()
    let status = cjxl_process(decoder)
    switch status {
    case Int32(CJXL_TOO_LARGE):
      throw ImageError(.memory(maximumBytes: maximumBytes), "libjxl: decoding needs more than the allowed \(maximumBytes) bytes")
    case Int32(CJXL_OUT_OF_MEMORY): throw ImageError(.outOfMemory, "libjxl: out of memory")
    case Int32(CJXL_TOO_LATE): try deadline.check()
    default: break
    }
    let event = JxlDecoderStatus(rawValue: UInt32(bitPattern: status))
    // libjxl's status has no details.
    guard status >= 0, event != JXL_DEC_ERROR else { throw .undecodable("libjxl: the JPEG XL file is corrupt") }
    return event
  }

  var info: JxlBasicInfo {
    var info = JxlBasicInfo()
    _ = jxl.getBasicInfo(libjxl, &info)
    return info
  }

  /// Whether an extra channel has the black of CMYK.
  func hasBlack(_ info: JxlBasicInfo) -> Bool {
    (0..<min(Int(info.num_extra_channels), 4096)).contains { index in
      var channel = JxlExtraChannelInfo()
      return jxl.getExtraChannelInfo(libjxl, index, &channel) == JXL_DEC_SUCCESS && channel.type == JXL_CHANNEL_BLACK
    }
  }

  /// Whether the colour space is that of an embedded profile.
  var hasProfile: Bool {
    var format = JxlPixelFormat(num_channels: 4, data_type: JXL_TYPE_UINT8, endianness: JXL_NATIVE_ENDIAN, align: 0)
    return jxl.getEncodedProfile(libjxl, &format, JXL_COLOR_PROFILE_TARGET_ORIGINAL, nil) != JXL_DEC_SUCCESS
  }

  /// The duration of the current frame in ticks, and whether it is the last one.
  var frame: (ticks: Int, isLast: Bool) {
    var header = JxlFrameHeader()
    _ = jxl.getFrameHeader(libjxl, &header)
    return (Int(header.duration), header.is_last != JXL_FALSE)
  }

  /// The type of the current box, or of its content if that is compressed (`brob`).
  var boxType: String {
    var name = [CChar](repeating: 0, count: 4)
    _ = jxl.getBoxType(libjxl, &name, JXL_TRUE)
    return FileBox.type(name.reduce(0) { $0 << 8 | Int(UInt8(bitPattern: $1)) })
  }

  /// Makes libjxl write the current box's content to `buffer`.
  func setBoxBuffer(_ buffer: UnsafeMutableBufferPointer<UInt8>) {
    _ = jxl.setBoxBuffer(libjxl, buffer.baseAddress, buffer.count)
  }

  /// The number of bytes of the buffer that weren't written.
  func releaseBoxBuffer() -> Int { jxl.releaseBoxBuffer(libjxl) }

  /// Decodes the next displayed frame to RGBA, not premultiplied, in the stored orientation; without `pixels`, to nothing.
  func decodeFrame(into pixels: UnsafeMutableBufferPointer<UInt8>?) throws(ImageError) {
    while true {
      switch try next() {
      case JXL_DEC_NEED_IMAGE_OUT_BUFFER:
        var format = JxlPixelFormat(num_channels: 4, data_type: JXL_TYPE_UINT8, endianness: JXL_NATIVE_ENDIAN, align: 0)
        if pixels == nil { format.data_type = JXL_TYPE_FLOAT }
        // Rows are passed on in floating point as they are decoded, without a copy of the image.
        let status =
          pixels.map { jxl.setImageOutBuffer(libjxl, &format, $0.baseAddress, $0.count) }
          ?? jxl.setImageOutCallback(libjxl, &format, { _, _, _, _, _ in }, nil)
        guard status == JXL_DEC_SUCCESS else { throw .undecodable("libjxl: the image has another size than its header says") }
      case JXL_DEC_FULL_IMAGE: return
      case JXL_DEC_NEED_MORE_INPUT: throw Self.truncated(file)
      default: throw .undecodable("libjxl: the JPEG XL file has fewer frames than it says")
      }
    }
  }

  static let wholeFrames = JXL_DEC_FULL_IMAGE

  static func truncated(_ file: UnsafeRawBufferPointer) -> ImageError {
    .undecodable("the JPEG XL file is truncated: it has \(file.count) bytes, but its image needs more")
  }
}
#endif
