import CJPEG
import ImagePrimitives

/// A JPEG file that libjpeg reads row by row, whole or in a smaller size of its own.
struct JPEGReader: ~Copyable {
  /// The size of the rows.
  let size: ImageSize
  private let reader: OpaquePointer
  private let deadline: DecodingDeadline

  /// A reader of `bytes`, which have to outlive it; `eighths` is how large the rows are, in eighths of the picture's size.
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
    try opened.check(cjpeg_reader_start(reader))
    return opened
  }

  private init(size: ImageSize, reader: OpaquePointer, deadline: DecodingDeadline) {
    self.size = size
    self.reader = reader
    self.deadline = deadline
  }

  deinit { cjpeg_reader_destroy(reader) }

  /// Reads all rows into `pixels`, which have `target`'s size, the rows' own or a smaller one.
  func read(into pixels: UnsafeMutableBufferPointer<UInt8>, of target: ImageSize) throws(ImageError) {
    guard target != size else { return try check(cjpeg_reader_read(reader, pixels.baseAddress, UInt32(size.height))) }
    var scaler = RowScaler(from: size, to: target)
    let rowLength = size.width * 4
    let strip = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: rowLength)
    defer { strip.deallocate() }
    for _ in 0..<size.height {
      try check(cjpeg_reader_read(reader, strip.baseAddress, 1))
      scaler.append(UnsafeRawBufferPointer(strip), into: pixels)
    }
  }

  /// Reads all data and keeps no pixel.
  func skip() throws(ImageError) { try check(cjpeg_reader_skip(reader)) }

  /// Reads what is left, and says what was odd.
  consuming func finish() throws(ImageError) -> [String] {
    try check(cjpeg_reader_finish(reader))
    return LibraryText(cjpeg_reader_report(reader).pointee.warnings).lines(of: "libjpeg")
  }

  private func check(_ status: CJPEGStatus) throws(ImageError) {
    try status.check(cjpeg_reader_report(reader), deadline)
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

extension CJPEGStatus {
  /// Throws what a call was refused for.
  func check(_ report: UnsafePointer<CJPEGReport>, _ deadline: DecodingDeadline) throws(ImageError) {
    switch self {
    case CJPEG_OK: return
    case CJPEG_OUT_OF_MEMORY: throw ImageError(.outOfMemory, "libjpeg: \(LibraryText(report.pointee.message))")
    case CJPEG_OUT_OF_TIME: try deadline.check()
    default: break
    }
    throw .undecodable("libjpeg: \(LibraryText(report.pointee.message))")
  }
}

extension ImageSize {
  /// The size that libjpeg gives a picture which it decodes in so many eighths.
  func eighths(_ count: Int) -> ImageSize {
    ImageSize(width: (width * count + 7) / 8, height: (height * count + 7) / 8)
  }

  /// A side has so many pixels at least, where the picture has: the picture's last blocks may lie partly beyond it and are still
  /// given a whole pixel, which in a smaller one would be seen to squeeze the rest.
  private static let leastSide = 128

  /// The fewest eighths in which the picture is at least as large as `target`, and not too small to be reduced from.
  func fewestEighths(for target: ImageSize) -> Int {
    // A picture of less than 8 pixels keeps its size in 7 eighths too.
    if target == self { return 8 }
    let least = ImageSize(
      width: max(target.width, min(width, Self.leastSide)),
      height: max(target.height, min(height, Self.leastSide))
    )
    return (1...8).first { eighths($0).width >= least.width && eighths($0).height >= least.height } ?? 8
  }
}
