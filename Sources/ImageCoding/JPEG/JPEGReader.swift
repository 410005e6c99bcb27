import CJPEG
import CLoading
package import Base

/// A JPEG file that libjpeg reads row by row, in full or reduced size.
struct JPEGReader: ~Copyable {
  let size: ImageSize
  private let reader: OpaquePointer
  private let deadline: DecodingDeadline

  /// A reader of `bytes`, which must outlive it; `eighths` is the size of the rows, in eighths of the picture's size.
  static func opened(
    _ bytes: UnsafeRawBufferPointer,
    _ header: JPEGHeader,
    eighths: Int,
    limits: DecodingLimits
  ) throws(ImageError) -> JPEGReader {
    let deadline = DecodingDeadline(limits)
    var expected = CJPEGExpectation(header.size, limits)
    expected.eighths = UInt32(eighths)
    expected.deadline = deadline.nanoseconds
    let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    guard let reader = cjpeg_reader_create(start, bytes.count, expected) else {
      throw ImageError(.outOfMemory, "libjpeg: no memory for its state")
    }
    let opened = JPEGReader(size: header.size.eighths(eighths), reader: reader, deadline: deadline)
    do throws(ImageError) {
      try opened.check(cjpeg_reader_start(reader))
    } catch {
      // Such a file may be whole, but libjpeg has no decoder for it either.
      guard error.kind == .undecodable, let warning = header.image.warnings.first else { throw error }
      throw .undecodable("\(error.message); \(warning)")
    }
    return opened
  }

  deinit { cjpeg_reader_destroy(reader) }

  /// All rows, in the size `target`, at most their own.
  func pixels(of target: ImageSize) throws(ImageError) -> PixelBuffer {
    try PixelBuffer(size: size, reducedTo: target, band: target == size ? size.height : 1) { _, rows throws(ImageError) in
      try check(cjpeg_reader_read(reader, rows.baseAddress, UInt32(rows.count / (size.width * 4))))
    }
  }

  /// Reads all data without keeping pixels.
  func skip() throws(ImageError) { try check(cjpeg_reader_skip(reader)) }

  /// Reads the rest and returns the warnings.
  consuming func finish() throws(ImageError) -> [String] {
    try check(cjpeg_reader_finish(reader))
    return LibraryText(cjpeg_reader_report(reader).pointee.warnings).lines(of: "libjpeg")
  }

  private func check(_ status: CCodecStatus) throws(ImageError) {
    try status.check(cjpeg_reader_report(reader).pointee, of: "libjpeg", deadline)
  }
}

extension CJPEGExpectation {
  init(_ size: ImageSize, _ limits: DecodingLimits) {
    self.init(
      width: UInt32(size.width),
      height: UInt32(size.height),
      maximum_scans: UInt32(clamping: limits.scans(for: size)),
      eighths: 8,
      deadline: 0
    )
  }
}

extension ImageSize {
  /// The size to which libjpeg scales a picture with `count` eighths.
  func eighths(_ count: Int) -> ImageSize {
    ImageSize(width: (width * count + 7) / 8, height: (height * count + 7) / 8)
  }

  /// The minimum length of a reduced side, unless the picture is smaller: libjpeg gives partial blocks at the edge a whole pixel,
  /// which would visibly distort smaller pictures.
  private static let leastSide = 128

  /// The smallest scale in eighths at which the picture is at least as large as `target` and large enough to be reduced from.
  func fewestEighths(for target: ImageSize) -> Int {
    // A picture below 8 pixels keeps its size even at 7 eighths.
    if target == self { return 8 }
    let least = ImageSize(
      width: max(target.width, min(width, Self.leastSide)),
      height: max(target.height, min(height, Self.leastSide))
    )
    return (1...8).first { eighths($0).width >= least.width && eighths($0).height >= least.height } ?? 8
  }
}

extension JPEGCoder: ProgressiveImageCoder {
  /// For a baseline file, draws the available rows and leaves others transparent; for a progressive one, draws complete scans, and
  /// rows of the first scan. It creates no images of arithmetically coded files, which libjpeg can't read incrementally. Data right
  /// before a missing end-of-image marker isn't drawn, since more might follow.
  ///
  /// It keeps the coefficients of the whole picture, 2 bytes each, which count against ``DecodingLimits/maximumBytes``, but not
  /// against the shared budget, since it lives as long as the transfer.
  package func progressiveDecoder(for format: ImageFormat, limits: DecodingLimits) -> (any ProgressiveDecoder)? {
    canDecode(format) ? ArrivingImage<JPEGProgressiveDecoder>(limits) : nil
  }
}

/// libjpeg's decoder of an arriving JPEG.
final class JPEGProgressiveDecoder: ArrivingDecoder {
  private let header: ImageHeader
  private var pixels: [UInt8] = []
  /// Nil for arithmetic coding, which libjpeg can't suspend and resume.
  private var decoder: OpaquePointer?

  init(_ bytes: UnsafeRawBufferPointer, _ limits: DecodingLimits) throws(ImageError) {
    let jpeg = try JPEGHeader(bytes, isComplete: false)
    header = jpeg.image
    try jpeg.check(limits)
    if jpeg.isArithmetic { return }
    let memory = JPEGMemory(jpeg)
    let pixelBytes = jpeg.size.pixels * 4
    // The picture here, the one that was returned, and its rotated copy.
    try limits.check(bytes: memory.rows + memory.coefficients + pixelBytes * (header.orientation > 1 ? 3 : 2))
    decoder = cjpeg_progressive_create(CJPEGExpectation(jpeg.size, limits))
    if decoder == nil { throw ImageError(.outOfMemory, "libjpeg: no memory for its state") }
    pixels = [UInt8](repeating: 0, count: pixelBytes)
  }

  deinit { if let decoder { cjpeg_progressive_destroy(decoder) } }

  func append(_ bytes: UnsafeRawBufferPointer, _ deadline: DecodingDeadline) throws(ImageError) {
    guard let decoder else { return }
    let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    let status = cjpeg_progressive_append(decoder, start, bytes.count, deadline.nanoseconds)
    try status.check(cjpeg_progressive_report(decoder).pointee, of: "libjpeg", deadline)
  }

  func image(_ deadline: DecodingDeadline) throws(ImageError) -> DecodedImage? {
    guard let decoder else { return nil }
    var hasChanged: Int32 = 0
    let status = pixels.withUnsafeMutableBufferPointer {
      cjpeg_progressive_draw(decoder, $0.baseAddress, &hasChanged, deadline.nanoseconds)
    }
    let report = cjpeg_progressive_report(decoder).pointee
    try status.check(report, of: "libjpeg", deadline)
    guard hasChanged != 0 else { return nil }
    let picture = PixelBuffer(size: header.size, bytes: pixels)
    return DecodedImage(header: header, pixels: picture, warnings: LibraryText(report.warnings).lines(of: "libjpeg"))
  }
}
