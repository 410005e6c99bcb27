package import Base

/// BMP: Windows and OS/2 bitmaps with 1 to 32 bits per pixel, uncompressed, run-length coded, or with colour masks, stored from
/// bottom or top.
///
/// It is as strict as Pillow, with these exceptions: all masks of contiguous bits are read, 2 bits per pixel, OS/2 headers of 16
/// bytes, and rows that run-length codes leave empty. Alpha counts only if a mask states it. Embedded JPEG and PNG images, and
/// Huffman and 24-bit run-length coding of OS/2 aren't supported.
///
/// All pixels must be in the file. Missing end codes after the last pixel, and pixels that run-length codes skip, aren't errors
/// (Microsoft: Bitmap Compression); codes that end before the last row does are.
package struct BMPCoder: LengthStatingCoder {
  package init() {}

  package func canDecode(_ format: ImageFormat) -> Bool { format == .bmp }

  /// Reads the file header, the bitmap's header, and its colour masks.
  package func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    let header = try BMPHeader(prefix, isComplete: isComplete)
    if isComplete { try header.checkPixels(in: prefix) }
    return header.image
  }

  package func statedBytes(_ prefix: UnsafeRawBufferPointer) -> Int? {
    try? BMPHeader(prefix, isComplete: false).lastPixelEnd
  }

  /// Decodes to RGBA; a smaller size is averaged by area, row by row.
  package func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    let header = try checkedHeader(of: bytes, limits)
    let target = options.decodedSize(of: header.size)
    return try limits.spending(BMPPixels.memory(header, target)) { () throws(ImageError) in
      var picture = BMPPixels(header, bytes)
      let pixels = try picture.pixels(of: target, deadline: DecodingDeadline(limits))
      return DecodedImage(header: header.image, pixels: pixels, warnings: picture.warnings)
    }
  }

  /// Reads all run-length codes; pixels without them are valid whatever their bits are.
  package func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> ImageProof {
    let header = try checkedHeader(of: bytes, limits)
    guard header.hasRuns else { return ImageProof(header: header.image) }
    let deadline = DecodingDeadline(limits)
    var runs = BMPRuns(header, bytes)
    for index in 0..<header.size.height {
      if index % 64 == 0 { try deadline.check() }
      try runs.readRow(index, into: nil)
    }
    return ImageProof(header: header.image, warnings: runs.warnings)
  }

  private func checkedHeader(of bytes: UnsafeRawBufferPointer, _ limits: DecodingLimits) throws(ImageError) -> BMPHeader {
    let header = try BMPHeader(bytes, isComplete: true)
    try limits.check(header.size)
    try header.checkPixels(in: bytes)
    return header
  }
}
