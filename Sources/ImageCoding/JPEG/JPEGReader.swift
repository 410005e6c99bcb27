import CJPEG
import CLoading
import Base

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

  private init(size: ImageSize, reader: OpaquePointer, deadline: DecodingDeadline) {
    self.size = size
    self.reader = reader
    self.deadline = deadline
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
