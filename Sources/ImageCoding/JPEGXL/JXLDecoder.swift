#if RareFormats
import CJXL
import Base

/// libjxl's decoder for one codestream, whose structure has been read.
struct JXLDecoder: ~Copyable {
  private let jxl: CJXLFunctions
  private let decoder: OpaquePointer
  private let codestream: UnsafeRawBufferPointer
  private let image: JXLImage
  private let deadline: DecodingDeadline
  /// The end of the bytes that libjxl has, and the frame and step of the next ones.
  private var fedBytes = 0
  private var next = (frame: 0, step: 1)
  private var displayed = 0

  /// After so many pixels the deadline is checked: libjxl decodes all sections that it has in one call.
  private static let pixelsPerStep = 1 << 20

  /// A decoder for a complete `codestream`, which must outlive it.
  static func opening(
    _ codestream: UnsafeRawBufferPointer,
    _ image: JXLImage,
    deadline: DecodingDeadline
  ) throws(ImageError) -> JXLDecoder {
    let jxl = try CJXLFunctions.loaded()
    guard let decoder = jxl.create(nil) else { throw ImageError(.outOfMemory, "libjxl: out of memory") }
    let opened = JXLDecoder(codestream, image, deadline: deadline, jxl: jxl, decoder: decoder)
    let events = JXL_DEC_BASIC_INFO.rawValue | JXL_DEC_FULL_IMAGE.rawValue
    let isSet =
      jxl.subscribeEvents(decoder, Int32(events)) == JXL_DEC_SUCCESS
      && jxl.setKeepOrientation(decoder, JXL_TRUE) == JXL_DEC_SUCCESS
      && jxl.setUnpremultiplyAlpha(decoder, JXL_TRUE) == JXL_DEC_SUCCESS
    guard isSet else { throw .undecodable("libjxl: it doesn't support the options of its decoder") }
    return opened
  }

  private init(
    _ codestream: UnsafeRawBufferPointer,
    _ image: JXLImage,
    deadline: DecodingDeadline,
    jxl: CJXLFunctions,
    decoder: OpaquePointer
  ) {
    (self.codestream, self.image, self.deadline) = (codestream, image, deadline)
    (self.jxl, self.decoder) = (jxl, decoder)
  }

  deinit { jxl.destroy(decoder) }

  /// Decodes the next displayed frame to RGBA, not premultiplied, in the stored orientation.
  mutating func nextPixels() throws(ImageError) -> PixelBuffer {
    try PixelBuffer(size: image.metadata.size) { pixels throws(ImageError) in try decodeNext(into: pixels) }
  }

  /// Decodes the next displayed frame without keeping it.
  mutating func skip() throws(ImageError) { try decodeNext(into: nil) }

  private mutating func decodeNext(into pixels: UnsafeMutableBufferPointer<UInt8>?) throws(ImageError) {
    while true {
      try deadline.check()
      let status = jxl.processInput(decoder)
      switch status {
      case JXL_DEC_NEED_MORE_INPUT: try feed()
      case JXL_DEC_BASIC_INFO: try checkSize()
      case JXL_DEC_NEED_IMAGE_OUT_BUFFER: try setOutput(pixels)
      case JXL_DEC_FULL_IMAGE:
        displayed += 1
        return
      default: throw error
      }
    }
  }

  /// libjxl's status has no details.
  private var error: ImageError {
    let frames = image.displayedFrames
    return .undecodable("libjxl: the codestream is corrupt\(frames > 1 ? " in frame \(displayed + 1) of \(frames)" : "")")
  }

  /// Gives libjxl the bytes up to the end of the next step.
  private mutating func feed() throws(ImageError) {
    let rest = jxl.releaseInput(decoder)
    guard let end = nextEnd() else { throw error }
    let start = fedBytes - rest
    let bytes = codestream.baseAddress?.assumingMemoryBound(to: UInt8.self).advanced(by: start)
    guard jxl.setInput(decoder, bytes, end - start) == JXL_DEC_SUCCESS else { throw error }
    fedBytes = end
  }

  private mutating func nextEnd() -> Int? {
    guard next.frame < image.frames.count else { return nil }
    let frame = image.frames[next.frame]
    let steps = max(1, min(frame.size.pixels / Self.pixelsPerStep, frame.sections.count))
    let end = frame.sections.lowerBound + frame.sections.count * next.step / steps
    next = next.step < steps ? (next.frame, next.step + 1) : (next.frame + 1, 1)
    return end
  }

  private func checkSize() throws(ImageError) {
    var info = JxlBasicInfo()
    guard jxl.getBasicInfo(decoder, &info) == JXL_DEC_SUCCESS else { throw error }
    let size = ImageSize(width: Int(info.xsize), height: Int(info.ysize))
    guard size == image.metadata.size else {
      throw .undecodable("libjxl: the image is \(size.width) x \(size.height) pixels")
    }
  }

  private func setOutput(_ pixels: UnsafeMutableBufferPointer<UInt8>?) throws(ImageError) {
    let status: JxlDecoderStatus
    if let pixels {
      var format = JxlPixelFormat(num_channels: 4, data_type: JXL_TYPE_UINT8, endianness: JXL_NATIVE_ENDIAN, align: 0)
      status = jxl.setImageOutBuffer(decoder, &format, pixels.baseAddress, pixels.count)
    } else {
      // libjxl passes on rows in this format as it decodes them, without a copy of the image.
      var format = JxlPixelFormat(num_channels: 4, data_type: JXL_TYPE_FLOAT, endianness: JXL_NATIVE_ENDIAN, align: 0)
      status = jxl.setImageOutCallback(decoder, &format, { _, _, _, _, _ in }, nil)
    }
    guard status == JXL_DEC_SUCCESS else { throw error }
  }
}

extension CJXLFunctions {
  /// libjxl, loaded on first use; throws ``ImageError/Kind/unavailable`` if it isn't installed.
  static func loaded() throws(ImageError) -> CJXLFunctions {
    guard let functions = cjxl_functions() else {
      let reason = String(cString: cjxl_error())
      // The advice comes first, since some reports truncate long messages.
      throw ImageError(
        .unavailable,
        "the image is JPEG XL; install libjxl (Debian: \(String(cString: cjxl_package()))), which can't be loaded: \(reason)"
      )
    }
    return functions.pointee
  }
}
#endif
