#if LoadedFormats
import CLoading
import CTIFF
import Base

/// libtiff, reading the pages of a file one after another.
struct TIFFReader: ~Copyable {
  /// The current page.
  private(set) var page = CTIFFPage()
  private let reader: OpaquePointer
  private let bytes: Int
  private let isComplete: Bool
  private let pages: Int
  private let maximumBytes: Int
  private let deadline: DecodingDeadline
  private var number = 0

  /// Loads libtiff on first use; throws ``ImageError/Kind/unavailable`` if it isn't installed.
  static func requireLibrary() throws(ImageError) {
    guard ctiff_is_loaded() else {
      throw .missingLibrary("libtiff", package: CTIFF_PACKAGE, for: "the image is TIFF", reason: ctiff_error())
    }
  }

  /// A reader of a file's first bytes, or all, which must outlive it; throws ``ImageError/Kind/unavailable`` if libtiff isn't installed.
  init(
    _ bytes: UnsafeRawBufferPointer,
    isComplete: Bool,
    pages: Int,
    maximumBytes: Int,
    deadline: DecodingDeadline
  ) throws(ImageError) {
    try Self.requireLibrary()
    let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    guard let reader = ctiff_reader_create(start, bytes.count, isComplete, UInt64(maximumBytes), deadline.nanoseconds) else {
      throw ImageError(.outOfMemory, "libtiff: no memory for its state")
    }
    self.reader = reader
    (self.bytes, self.isComplete, self.pages) = (bytes.count, isComplete, pages)
    (self.maximumBytes, self.deadline) = (maximumBytes, deadline)
  }

  deinit { ctiff_reader_destroy(reader) }

  /// The size of the current page.
  var size: ImageSize { ImageSize(width: Int(page.width), height: Int(page.height)) }

  /// The memory that decoding the current page takes, besides the pixels that are kept.
  var memory: Int { Int(page.memory) }

  /// The number of rows that are decoded at once.
  var bandHeight: Int { min(Int(page.rows_per_band), size.height) }

  /// Goes to the next page.
  mutating func next() throws(ImageError) {
    number += 1
    try deadline.check()
    try check(ctiff_reader_next_page(reader, &page))
  }

  /// The end of the current page's last strip or tile as far as it is known, otherwise 0; throws if one is beyond a complete file.
  func end() throws(ImageError) -> Int {
    var end: UInt64 = 0
    try check(ctiff_reader_find_end(reader, &end))
    return Int(clamping: end)
  }

  /// The page's pixels in the size `target`, its own or a smaller one, in the stored orientation.
  func pixels(of target: ImageSize) throws(ImageError) -> PixelBuffer {
    try check(ctiff_reader_begin_page(reader))
    return try PixelBuffer(size: size, reducedTo: target, band: bandHeight) { y, rows throws(ImageError) in
      try check(ctiff_reader_read_band(reader, UInt32(y / bandHeight), rows.baseAddress))
    }
  }

  /// Decodes the page without keeping pixels.
  func skip() throws(ImageError) {
    try check(ctiff_reader_begin_page(reader))
    for band in 0..<page.bands { try check(ctiff_reader_read_band(reader, band, nil)) }
  }

  /// The warnings about pixels so far.
  var warnings: [String] { LibraryText(ctiff_reader_report(reader).pointee.texts.warnings).lines(of: "libtiff") }

  private func check(_ status: CCodecStatus) throws(ImageError) {
    guard status != CCODEC_OK else { return }
    let report = ctiff_reader_report(reader).pointee
    let text = LibraryText(report.texts.message).description
    let message = text + (pages > 1 ? ", on page \(number) of \(pages)" : "")
    switch status {
    case CCODEC_UNSUPPORTED: throw ImageError(.unavailable, message)
    case CCODEC_OUT_OF_MEMORY: throw ImageError(.outOfMemory, "libtiff: \(message)")
    case CCODEC_TOO_LARGE: throw ImageError(.memory(maximumBytes: maximumBytes), "libtiff: \(message)")
    case CCODEC_OUT_OF_TIME: try deadline.check()
    case CCODEC_TRUNCATED: throw .undecodable("the TIFF file is truncated: it has \(bytes) bytes, but \(text)")
    default: break
    }
    let end = Int(clamping: report.missing_end)
    guard end > bytes else { throw .undecodable("libtiff: \(message)") }
    guard isComplete else {
      throw .endsEarly("TIFF", needed: end, from: Int(clamping: report.missing_start), of: bytes, isComplete: false)
    }
    throw .undecodable("the TIFF file is truncated: it has \(bytes) bytes, but needs at least \(end); libtiff: \(message)")
  }
}
#endif
