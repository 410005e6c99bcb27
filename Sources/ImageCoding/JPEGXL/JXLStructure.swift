#if LoadedFormats
import CJXL
import Base

/// What a JPEG XL file contains, by libjxl, which skips the pixels: a bare codestream, or the boxes of a container (ISO/IEC 18181-2).
struct JXLStructure {
  /// The header of the file; of a prefix, that of an image with one frame.
  private(set) var header = ImageHeader(.jpegXL)
  private(set) var boxes = 0
  /// The durations of the displayed frames in milliseconds; none of a prefix.
  private(set) var durations: [Int] = []
  /// How often an animation is shown; 0: forever.
  private(set) var loopCount = 0
  /// All channels of the image, three of them for colours.
  private(set) var channels = 3
  /// Whether samples are integers with more channels than three, or aren't converted from XYB.
  private(set) var isIntegral = false
  private(set) var isAnimated = false
  /// Milliseconds of a tick.
  private var tick = 0.0
  private var exif = EXIF()
  private var hasColors = false
  /// The type of the last box, nil before the first, and its end; whether its content is being read.
  private var box: String?
  private var boxEnd = 0
  private var isReadingBox = false
  private var readsBoxes: Bool
  /// Whether the last frame has begun.
  private var isFinished = false

  /// Longer content isn't read, since it may be a decompression bomb; Exif segments of JPEGs have at most 64 KiB.
  private static let mostMetadataBytes = 256 << 10
  private static let usualHeaderBytes = 4096
  /// The size and the type of a box.
  private static let boxHeaderBytes = 8

  /// Reads a file up to its end, or a prefix as far as it goes. Throws if the image exceeds `limits`, which are also those of libjxl.
  init(_ file: UnsafeRawBufferPointer, isComplete: Bool, limits: DecodingLimits?, readsMetadata: Bool = true) throws(ImageError) {
    readsBoxes = readsMetadata
    guard ImageFormat(prefix: file) == .jpegXL else {
      throw ImageError(.notAnImage, "not a JPEG XL file: it starts with neither a codestream (FF 0A) nor a JXL box")
    }
    var events = [JXL_DEC_BASIC_INFO, JXL_DEC_COLOR_ENCODING, JXL_DEC_BOX]
    if isComplete { events.append(JXL_DEC_FRAME) }
    let decoder = try JXLDecoder.opened(file, limits ?? DecodingLimits(), events: events)
    let metadata = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: Self.mostMetadataBytes)
    defer { metadata.deallocate() }
    do throws(ImageError) {
      while let event = try nextEvent(of: decoder, file, metadata) { try read(event, of: decoder, file, metadata, limits) }
    } catch {
      // Damaged metadata don't matter, but libjxl stops at them.
      guard isReadingBox, error.kind == .undecodable else { throw error }
      self = try JXLStructure(file, isComplete: isComplete, limits: limits, readsMetadata: false)
      return
    }
    guard hasColors else { throw missing(in: file, isComplete: isComplete) }
    // libjxl skips the data of the last frame even if they are missing.
    if isComplete, !isFinished || boxEnd > file.count && Self.knownBoxes.contains(box) {
      throw JXLDecoder.truncated(file)
    }
    (header.hasPosition, header.dpi) = (exif.hasPosition, exif.dpi)
    header.frames = max(1, durations.count)
    header.isAnimated = isComplete ? durations.count > 1 : isAnimated
  }

  /// Other data may follow the image, such as an error page; these boxes are part of it.
  private static let knownBoxes: Set =
    ["jxlc", "jxlp", "Exif", "xml ", "jumb", "brob", "jbrd", "jxli", "jxll", "jhgm"] as Set<String?>

  /// The next event; nil at the end of the file or prefix. Reads the metadata of the box that ends with it.
  private mutating func nextEvent(
    of decoder: borrowing JXLDecoder,
    _ file: UnsafeRawBufferPointer,
    _ metadata: UnsafeMutableBufferPointer<UInt8>
  ) throws(ImageError) -> JxlDecoderStatus? {
    let event: JxlDecoderStatus
    do throws(ImageError) {
      event = try decoder.next()
    } catch {
      // What isn't a box may follow the image.
      guard isFinished, boxEnd <= file.count, error.kind == .undecodable else { throw error }
      return nil
    }
    if isReadingBox {
      let count = metadata.count - decoder.releaseBoxBuffer()
      isReadingBox = false
      if event != JXL_DEC_BOX_NEED_MORE_OUTPUT {
        exif = EXIF(box: ByteView(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(metadata)[..<count])))
      }
    }
    return event == JXL_DEC_SUCCESS || event == JXL_DEC_NEED_MORE_INPUT ? nil : event
  }

  private mutating func read(
    _ event: JxlDecoderStatus,
    of decoder: borrowing JXLDecoder,
    _ file: UnsafeRawBufferPointer,
    _ metadata: UnsafeMutableBufferPointer<UInt8>,
    _ limits: DecodingLimits?
  ) throws(ImageError) {
    switch event {
    case JXL_DEC_BASIC_INFO:
      let info = decoder.info
      read(info, hasBlack: decoder.hasBlack(info))
      try limits?.check(header.size)
    case JXL_DEC_COLOR_ENCODING:
      hasColors = true
      if decoder.hasProfile { header.profile = ICCProfile(name: nil) }
    case JXL_DEC_FRAME:
      let frame = decoder.frame
      durations.append(Int(min((Double(frame.ticks) * tick).rounded(), 1e12)))
      isFinished = frame.isLast
      try limits?.check(frames: durations.count)
    case JXL_DEC_BOX:
      try readBox(decoder.boxType, file, limits)
      isReadingBox = readsBoxes && box == "Exif" && exif == EXIF()
      if isReadingBox { decoder.setBoxBuffer(metadata) }
    default: break
    }
  }

  private mutating func read(_ info: JxlBasicInfo, hasBlack: Bool) {
    header.size = ImageSize(width: Int(info.xsize), height: Int(info.ysize))
    header.hasAlpha = info.alpha_bits > 0
    header.orientation = Int(info.orientation.rawValue)
    header.colorSpace = info.num_color_channels == 1 ? .gray : hasBlack ? .cmyk : .rgb
    channels = 3 + Int(info.num_extra_channels)
    isIntegral = channels > 3 || info.uses_original_profile != JXL_FALSE
    isAnimated = info.have_animation != JXL_FALSE
    guard isAnimated else { return }
    tick = 1000 * Double(info.animation.tps_denominator) / Double(max(1, info.animation.tps_numerator))
    loopCount = Int(info.animation.num_loops)
  }

  private mutating func readBox(_ type: String, _ file: UnsafeRawBufferPointer, _ limits: DecodingLimits?) throws(ImageError) {
    boxes += 1
    if let limits, boxes > limits.maximumChunks {
      throw .undecodable("the JPEG XL file has more than \(limits.maximumChunks) boxes")
    }
    box = type
    // Without a size, a box ends with the file.
    boxEnd = ByteView(file).boxHeader(at: boxEnd, within: 0..<file.count)?.body.upperBound ?? file.count
  }

  /// The error for a file that ends before its header does.
  private func missing(in file: UnsafeRawBufferPointer, isComplete: Bool) -> ImageError {
    guard !isComplete else { return JXLDecoder.truncated(file) }
    let isInImage = box == nil || box == "jxlc" || box == "jxlp"
    guard !isInImage, boxEnd > file.count else {
      // Most headers have about 10 bytes, those with a profile thousands.
      let more = file.count < Self.usualHeaderBytes ? 1 : file.count / 2
      return .endsEarly("JPEG XL", needed: file.count + more, of: file.count, isComplete: false)
    }
    let next = boxEnd + Self.boxHeaderBytes
    return .endsEarly("JPEG XL", needed: next, from: boxEnd, of: file.count, isComplete: false)
  }
}

extension EXIF {
  /// Reads the content of an Exif box: the offset of the TIFF file, and that file.
  fileprivate init(box bytes: ByteView) {
    let start = bytes.bigEndian32(at: 0).map { min(4 + $0, bytes.count) } ?? bytes.count
    self.init(tiff: bytes, start..<bytes.count)
  }
}
#endif
