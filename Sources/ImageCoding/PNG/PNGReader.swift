import CLoading
import CPNG
package import Base

/// A PNG picture that libpng reads row by row, or as a whole if it is interlaced.
struct PNGReader: ~Copyable {
  let size: ImageSize
  private let isInterlaced: Bool
  private let reader: OpaquePointer
  private let deadline: DecodingDeadline

  /// A reader of `bytes`, a complete PNG file, which must outlive it.
  static func opened(
    _ bytes: UnsafeRawBufferPointer,
    size: ImageSize,
    isInterlaced: Bool,
    deadline: DecodingDeadline
  ) throws(ImageError) -> PNGReader {
    let expected = CPNGExpectation(width: UInt32(size.width), height: UInt32(size.height), deadline: deadline.nanoseconds)
    let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    guard let reader = cpng_reader_create(start, bytes.count, expected) else {
      throw ImageError(.outOfMemory, "libpng: no memory for its state")
    }
    let opened = PNGReader(size: size, isInterlaced: isInterlaced, reader: reader, deadline: deadline)
    try opened.check(cpng_reader_start(reader))
    return opened
  }

  deinit { cpng_reader_destroy(reader) }

  /// All rows in the size `target`: the picture's own, or a smaller one to which rows are reduced as they arrive.
  func pixels(of target: ImageSize) throws(ImageError) -> PixelBuffer {
    let isWhole = target == size || isInterlaced
    return try PixelBuffer(size: size, reducedTo: target, band: isWhole ? size.height : 1) { _, rows throws(ImageError) in
      try check(cpng_reader_read(reader, rows.baseAddress, UInt32(rows.count / (size.width * 4))))
    }
  }

  /// Decodes every row without keeping any.
  func skip() throws(ImageError) { try check(cpng_reader_skip(reader)) }

  /// Reads the rest and returns the warnings.
  consuming func finish() throws(ImageError) -> [String] {
    try check(cpng_reader_finish(reader))
    return LibraryText(cpng_reader_report(reader).pointee.warnings).lines(of: "libpng")
  }

  private func check(_ status: CCodecStatus) throws(ImageError) {
    try status.check(cpng_reader_report(reader).pointee, of: "libpng", deadline)
  }
}

/// A complete PNG file whose pictures are read one after another.
struct PNGPicture {
  let file: UnsafeRawBufferPointer
  let header: PNGHeader
  let deadline: DecodingDeadline

  /// The still picture in the size `target`, and the warnings.
  func still(of target: ImageSize) throws(ImageError) -> (PixelBuffer, [String]) {
    let reader = try reader(of: file, header.size)
    let pixels = try reader.pixels(of: target)
    return (pixels, try reader.finish())
  }

  /// Decodes the still picture without keeping it; returns the warnings.
  func proveStill() throws(ImageError) -> [String] {
    let reader = try reader(of: file, header.size)
    try reader.skip()
    return try reader.finish()
  }

  /// The animation's frames as displayed, converted by `convert`; `still` is the still picture in full size.
  func frames(
    of animation: PNGAnimation,
    still: PixelBuffer,
    convert: (PixelBuffer) -> PixelBuffer
  ) throws(ImageError) -> [DecodedImage.Frame] {
    var canvas = AnimationCanvas(size: header.size)
    var frames: [DecodedImage.Frame] = []
    frames.reserveCapacity(animation.frames.count)
    for (index, frame) in animation.frames.enumerated() {
      try deadline.check()
      let picture = index == 0 && animation.beginsWithStill ? still : try pixels(of: frame)
      canvas.begin(frame.area, disposal: frame.disposal)
      canvas.draw(picture) { row, source in if frame.isBlended { row.blend(source) } else { row.copyMemory(from: source) } }
      frames.append(DecodedImage.Frame(pixels: convert(canvas.pixels), duration: frame.duration))
    }
    return frames
  }

  /// Decodes the frames other than the still picture without keeping them.
  func prove(_ animation: PNGAnimation) throws(ImageError) {
    for frame in animation.frames.dropFirst(animation.beginsWithStill ? 1 : 0) {
      try deadline.check()
      try PNGFrameFile(frame, of: file).bytes.withRawBytes { bytes throws(ImageError) in
        let reader = try reader(of: bytes, frame.area.size)
        try reader.skip()
        _ = try reader.finish()
      }
    }
  }

  private func pixels(of frame: PNGAnimation.Frame) throws(ImageError) -> PixelBuffer {
    try PNGFrameFile(frame, of: file).bytes.withRawBytes { bytes throws(ImageError) in
      let reader = try reader(of: bytes, frame.area.size)
      let pixels = try reader.pixels(of: frame.area.size)
      _ = try reader.finish()
      return pixels
    }
  }

  private func reader(of bytes: UnsafeRawBufferPointer, _ size: ImageSize) throws(ImageError) -> PNGReader {
    try PNGReader.opened(bytes, size: size, isInterlaced: header.isInterlaced, deadline: deadline)
  }
}

extension PNGCoder: ProgressiveImageCoder {
  /// Draws the available rows and leaves others transparent; of an interlaced file it draws each pass, with its pixels enlarged
  /// over missing ones. Of an animated file, it decodes the still picture.
  package func progressiveDecoder(for format: ImageFormat, limits: DecodingLimits) -> (any ProgressiveDecoder)? {
    canDecode(format) ? ArrivingImage<PNGProgressiveDecoder>(limits) : nil
  }
}

/// libpng's decoder of an arriving PNG.
final class PNGProgressiveDecoder: ArrivingDecoder {
  private var header: ImageHeader
  private let decoder: OpaquePointer
  /// The rows and the orientation of the last returned image.
  private var shown = (rows: UInt64(0), orientation: 1)

  init(_ bytes: UnsafeRawBufferPointer, _ limits: DecodingLimits) throws(ImageError) {
    let png = try PNGHeader(bytes, isComplete: false)
    header = png.image
    try png.check(limits, bytes)
    // The picture here, the one that was returned, and its rotated copy.
    try limits.check(bytes: PNGMemory(png).rows + png.size.pixels * 4 * 3)
    let expected = CPNGExpectation(width: UInt32(png.size.width), height: UInt32(png.size.height), deadline: 0)
    guard let decoder = cpng_progressive_create(expected) else {
      throw ImageError(.outOfMemory, "libpng: no memory for its state")
    }
    self.decoder = decoder
  }

  deinit { cpng_progressive_destroy(decoder) }

  func append(_ bytes: UnsafeRawBufferPointer, _ deadline: DecodingDeadline) throws(ImageError) {
    let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    let status = cpng_progressive_append(decoder, start, bytes.count, deadline.nanoseconds)
    try status.check(cpng_progressive_report(decoder).pointee, of: "libpng", deadline)
  }

  func image(_ deadline: DecodingDeadline) -> DecodedImage? {
    guard let start = cpng_progressive_pixels(decoder) else { return nil }
    header.orientation = orientation
    let now = (rows: cpng_progressive_drawn_rows(decoder), orientation: header.orientation)
    guard now.rows > 0, now != shown else { return nil }
    shown = now
    let pixels = PixelBuffer(size: header.size, bytes: Array(UnsafeBufferPointer(start: start, count: header.size.pixels * 4)))
    let warnings = LibraryText(cpng_progressive_report(decoder).pointee.warnings).lines(of: "libpng")
    return DecodedImage(header: header, pixels: pixels, warnings: warnings)
  }

  /// That in the eXIf chunk, which may follow the picture.
  private var orientation: Int {
    var count = 0
    guard let start = cpng_progressive_exif(decoder, &count) else { return 1 }
    return EXIF(tiff: ByteView(UnsafeRawBufferPointer(start: start, count: count)), 0..<count).orientation ?? 1
  }
}
