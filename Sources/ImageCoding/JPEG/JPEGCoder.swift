import CJPEG
import CLoading
package import Base

/// JPEG by libjpeg-turbo: baseline and progressive, Huffman and arithmetic coding, 8 bits per sample; grey, RGB, YCbCr, CMYK and
/// YCCK.
///
/// CMYK and YCCK are read as inverted ink, as Adobe's programs write them and browsers read them.
///
/// Missing data of picture rows is an error that says how much is missing. Invalid codes within complete rows, a missing end-of-image marker after complete data,
/// and extra bytes between segments are warnings, as are arithmetic coding and other processes that browsers don't decode.
package struct JPEGCoder: ImageCoder {
  package init() {}

  package func canDecode(_ format: ImageFormat) -> Bool { format == .jpeg }

  /// Reads the marker segments up to the first scan.
  package func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    try JPEGHeader(prefix, isComplete: isComplete).image
  }

  /// Decodes to upright RGBA.
  ///
  /// For a smaller size, libjpeg scales to the next larger eighth and area averaging does the rest, row by row: a baseline file is
  /// never in memory as a whole. A file with several scans has its coefficients in memory, which count.
  package func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    let jpeg = try checkedHeader(of: bytes, limits)
    let header = jpeg.image
    let stored = options.storedSize(of: header)
    let eighths = jpeg.size.fewestEighths(for: stored)
    let pixelBytes = stored.pixels * 4 * (header.orientation > 1 ? 2 : 1)
    let scalerBytes = stored == jpeg.size.eighths(eighths) ? 0 : RowScaler.bytes(to: stored)
    return try limits.spending(pixelBytes + scalerBytes + jpeg.memory) { () throws(ImageError) in
      let reader = try JPEGReader.opened(bytes, jpeg, eighths: eighths, limits: limits)
      let pixels = try reader.pixels(of: stored)
      let warnings = header.warnings + (try reader.finish())
      return DecodedImage(header: header, pixels: pixels.upright(orientation: header.orientation), warnings: warnings)
    }
  }

  /// Reads all entropy-coded data: row by row, or with several scans, using 2 bytes of memory per sample.
  package func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> ImageProof {
    let jpeg = try checkedHeader(of: bytes, limits)
    return try limits.spending(jpeg.memory) { () throws(ImageError) in
      let reader = try JPEGReader.opened(bytes, jpeg, eighths: 1, limits: limits)
      try reader.skip()
      return ImageProof(header: jpeg.image, warnings: jpeg.image.warnings + (try reader.finish()))
    }
  }

  private func checkedHeader(of bytes: UnsafeRawBufferPointer, _ limits: DecodingLimits) throws(ImageError) -> JPEGHeader {
    let header = try JPEGHeader(bytes, isComplete: true)
    try header.check(limits)
    return header
  }
}

extension JPEGHeader {
  /// Throws if the picture is too large or the header has too many segments.
  func check(_ limits: DecodingLimits) throws(ImageError) {
    try limits.check(size)
    guard segments > limits.maximumChunks else { return }
    throw .undecodable(
      "the JPEG file has more than \(limits.maximumChunks) segments before its first scan, the limit for one file"
    )
  }

  /// The memory that libjpeg needs to read the file.
  fileprivate var memory: Int {
    let memory = JPEGMemory(self)
    return memory.rows + (hasSeveralScans ? memory.coefficients : 0)
  }
}

extension JPEGCoder {
  package func canEncode(_ format: ImageFormat) -> Bool { format == .jpeg }

  /// Encodes a baseline file of an image's first frame on a white background: 4:2:0 below a quality of 90, 4:4:4 from there.
  ///
  /// If it exceeds ``EncodingOptions/maximumBytes``, the highest quality that fits is used.
  package func encode(_ image: DecodedImage, as format: ImageFormat, options: EncodingOptions) throws(ImageError) -> [UInt8] {
    guard canEncode(format) else { throw notWritten(format) }
    let pixels = image.pixels.fitting(options)
    return try options.fitting { quality throws(ImageError) in
      let encoding = CJPEGEncoding(
        width: UInt32(pixels.size.width),
        height: UInt32(pixels.size.height),
        quality: Int32(quality),
        subsamples: quality < Self.fullColorQuality ? 1 : 0,
        maximum_bytes: options.maximumBytes.map { max(0, $0) } ?? .max
      )
      return try CCodecStatus.file(of: "libjpeg") { start, count, report in
        pixels.bytes.withUnsafeBufferPointer { cjpeg_encode($0.baseAddress, encoding, &start, &count, &report) }
      }
    }
  }

  /// From this quality, chroma isn't subsampled.
  private static let fullColorQuality = 90
}

/// The memory for decoding a JPEG in bytes, except for the resulting pixels.
struct JPEGMemory {
  /// libjpeg's rows, tables, and state.
  let rows: Int
  /// The coefficients of the whole picture, 2 bytes each, which are needed to read several scans.
  let coefficients: Int

  private static let blockSide = 8
  private static let blockBytes = blockSide * blockSide * 2

  init(_ header: JPEGHeader) {
    let widest = max(1, header.components.map(\.horizontal).max() ?? 1)
    let highest = max(1, header.components.map(\.vertical).max() ?? 1)
    // A component's rows in one row of blocks, neighbouring rows for smooth upsampling, and the upsampled rows.
    rows = (header.size.width + 64) * header.components.count * (3 * Self.blockSide / 2 * highest + 8) + 512 << 10
    coefficients = header.components.reduce(0) { sum, component in
      let columns = Self.blocks(header.size.width, component.horizontal, of: widest)
      let rows = Self.blocks(header.size.height, component.vertical, of: highest)
      return sum + columns * rows * Self.blockBytes
    }
  }

  /// Blocks along one side, padded to whole MCUs (A.2).
  private static func blocks(_ length: Int, _ factor: Int, of largest: Int) -> Int {
    let factor = max(1, factor)
    let blocks = (length * factor + largest * blockSide - 1) / (largest * blockSide)
    return (blocks + factor - 1) / factor * factor
  }
}
