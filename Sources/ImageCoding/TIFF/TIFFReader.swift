#if RareFormats
import CTIFF
import Base

/// libtiff, reading the pages of a complete file one after another.
struct TIFFReader: ~Copyable {
  private let reader: OpaquePointer
  private let bytes: Int
  private let pages: Int
  private let maximumBytes: Int
  private let deadline: DecodingDeadline
  private var page = CTIFFPage()
  private var size = ImageSize(width: 0, height: 0)
  private var number = 0

  /// A reader of `bytes`, which must outlive it; throws ``ImageError/Kind/unavailable`` if libtiff isn't installed.
  static func opened(
    _ bytes: UnsafeRawBufferPointer,
    pages: Int,
    maximumBytes: Int,
    deadline: DecodingDeadline
  ) throws(ImageError) -> TIFFReader {
    guard ctiff_is_loaded() else {
      throw .missingLibrary("libtiff", package: CTIFF_PACKAGE, for: "the image is TIFF", reason: ctiff_error())
    }
    let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    guard let reader = ctiff_reader_create(start, bytes.count, UInt64(maximumBytes), deadline.nanoseconds) else {
      throw ImageError(.outOfMemory, "libtiff: no memory for its state")
    }
    return TIFFReader(reader, bytes: bytes.count, pages: pages, maximumBytes: maximumBytes, deadline: deadline)
  }

  private init(_ reader: OpaquePointer, bytes: Int, pages: Int, maximumBytes: Int, deadline: DecodingDeadline) {
    self.reader = reader
    self.bytes = bytes
    self.pages = pages
    self.maximumBytes = maximumBytes
    self.deadline = deadline
  }

  deinit { ctiff_reader_destroy(reader) }

  /// Goes to the next page, which `directory` describes.
  mutating func next(_ directory: TIFFDirectory) throws(ImageError) {
    number += 1
    size = directory.size
    try deadline.check()
    let expected = CTIFFExpectation(
      offset: UInt64(directory.offset),
      width: UInt32(clamping: size.width),
      height: UInt32(clamping: size.height),
      alpha: Int32(clamping: directory.alpha?.sample ?? -1),
      is_premultiplied: directory.alpha?.isPremultiplied ?? false,
      most_bytes: UInt64(directory.chunkBytes)
    )
    try check(ctiff_reader_next_page(reader, expected, &page))
  }

  /// The page's pixels in the size `target`, its own or a smaller one, in the stored orientation.
  func pixels(of target: ImageSize) throws(ImageError) -> PixelBuffer {
    try PixelBuffer(size: target) { pixels throws(ImageError) in
      let rowBytes = size.width * 4
      guard target != size else {
        return try readBands { band, y, _ throws(ImageError) in
          try check(ctiff_reader_read_band(reader, band, pixels.baseAddress! + y * rowBytes))
        }
      }
      var scaler = RowScaler(from: size, to: target)
      let rows = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: min(Int(page.rows_per_band), size.height) * rowBytes)
      defer { rows.deallocate() }
      try readBands { band, _, height throws(ImageError) in
        try check(ctiff_reader_read_band(reader, band, rows.baseAddress))
        for row in 0..<height {
          scaler.append(
            UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(rows)[row * rowBytes..<(row + 1) * rowBytes]),
            into: pixels
          )
        }
      }
    }
  }

  /// Decodes the page without keeping pixels.
  func skip() throws(ImageError) {
    try readBands { band, _, _ throws(ImageError) in try check(ctiff_reader_read_band(reader, band, nil)) }
  }

  /// The warnings about pixels so far.
  var warnings: [String] { LibraryText(ctiff_reader_report(reader).pointee.warnings).lines(of: "libtiff") }

  /// Calls `body` with the number, first row and height of each band.
  private func readBands(_ body: (_ band: UInt32, _ y: Int, _ height: Int) throws(ImageError) -> Void) throws(ImageError) {
    for band in 0..<page.bands {
      let y = Int(band) * Int(page.rows_per_band)
      try body(band, y, min(Int(page.rows_per_band), size.height - y))
    }
  }

  private func check(_ status: CTIFFStatus) throws(ImageError) {
    guard status != CTIFF_OK else { return }
    let report = ctiff_reader_report(reader).pointee
    let message = "\(LibraryText(report.message))" + (pages > 1 ? ", on page \(number) of \(pages)" : "")
    switch status {
    case CTIFF_UNSUPPORTED: throw ImageError(.unavailable, message)
    case CTIFF_OUT_OF_MEMORY: throw ImageError(.outOfMemory, "libtiff: \(message)")
    case CTIFF_TOO_LARGE: throw ImageError(.memory(maximumBytes: maximumBytes), "libtiff: \(message)")
    case CTIFF_OUT_OF_TIME: try deadline.check()
    default: break
    }
    guard report.missing_end <= UInt64(bytes) else {
      throw .undecodable(
        "the TIFF file is truncated: it has \(bytes) bytes, but needs at least \(report.missing_end); libtiff: \(message)"
      )
    }
    throw .undecodable("libtiff: \(message)")
  }
}
#endif
