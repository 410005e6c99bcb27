import CPNG
import ImagePrimitives

/// A PNG picture that libpng reads row by row, or, where it is interlaced, as a whole.
struct PNGReader: ~Copyable {
  let size: ImageSize
  private let isInterlaced: Bool
  private let reader: OpaquePointer
  private let deadline: DecodingDeadline

  /// A reader of `bytes`, a whole PNG file, which have to outlive it.
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

  private init(size: ImageSize, isInterlaced: Bool, reader: OpaquePointer, deadline: DecodingDeadline) {
    self.size = size
    self.isInterlaced = isInterlaced
    self.reader = reader
    self.deadline = deadline
  }

  deinit { cpng_reader_destroy(reader) }

  /// All rows, in `target`'s size: the picture's own or a smaller one, which rows are reduced to as they come.
  func pixels(of target: ImageSize) throws(ImageError) -> PixelBuffer {
    if target == size || isInterlaced {
      let whole = try PixelBuffer(size: size) { pixels throws(ImageError) in
        try check(cpng_reader_read(reader, pixels.baseAddress, UInt32(size.height)))
      }
      return whole.reduced(to: target)
    }
    return try PixelBuffer(size: target) { pixels throws(ImageError) in
      var scaler = RowScaler(from: size, to: target)
      let row = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: size.width * 4)
      defer { row.deallocate() }
      for _ in 0..<size.height {
        try check(cpng_reader_read(reader, row.baseAddress, 1))
        scaler.append(UnsafeRawBufferPointer(row), into: pixels)
      }
    }
  }

  /// Decodes every row and keeps none.
  func skip() throws(ImageError) { try check(cpng_reader_skip(reader)) }

  /// Reads what is left, and says what was odd.
  consuming func finish() throws(ImageError) -> [String] {
    try check(cpng_reader_finish(reader))
    return LibraryText(cpng_reader_report(reader).pointee.warnings).lines(of: "libpng")
  }

  private func check(_ status: CPNGStatus) throws(ImageError) {
    try status.check(cpng_reader_report(reader), deadline)
  }
}

extension CPNGStatus {
  /// Throws what a call was refused for.
  func check(_ report: UnsafePointer<CPNGReport>, _ deadline: DecodingDeadline) throws(ImageError) {
    switch self {
    case CPNG_OK: return
    case CPNG_OUT_OF_MEMORY: throw ImageError(.outOfMemory, "libpng: \(LibraryText(report.pointee.message))")
    case CPNG_OUT_OF_TIME: try deadline.check()
    default: break
    }
    throw .undecodable("libpng: \(LibraryText(report.pointee.message))")
  }
}
