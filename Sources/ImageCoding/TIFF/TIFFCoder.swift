#if LoadedFormats
package import Base

/// TIFF by libtiff, classic and BigTIFF: strips and tiles, joint and separate planes, compressed by CCITT fax, LZW, Deflate,
/// PackBits, JPEG, Zstandard, LZMA or WebP, as far as the installed libtiff supports them.
///
/// Grey, palette, RGB, CMYK, YCbCr and CIE L\*a\*b\* are converted to RGBA without applying profiles. Samples have 1 to 16 bits, or
/// 32; floating-point numbers from 0 to 1 and positive integers cover black to white. For other colours, samples and compressions,
/// such as camera data, JBIG and the JPEG of TIFF 6.0, it throws ``ImageError/Kind/unavailable``, since the image may be good.
///
/// All pages are verified, but only the first one is returned. Reduced images inside of pages (SubIFDs) are ignored, as are unknown
/// tags. Invalid codes in fax and JPEG data are warnings; missing pixels are errors. ``DecodingLimits/maximumFrames`` limits the
/// number of pages and ``DecodingLimits/maximumPixels`` the size of each; ``DecodingLimits/maximumTime`` is checked between strips
/// or tiles.
package struct TIFFCoder: LengthStatingCoder {
  package init() {}

  package func canDecode(_ format: ImageFormat) -> Bool { format == .tiff }

  /// Reads the first directory, which many encoders write after the picture, and the positions of the available others; for a
  /// complete file also the positions and lengths of all strips and tiles.
  package func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    try TIFFFile(prefix, isComplete: isComplete).header
  }

  /// By the strips or tiles of the first page.
  package func statedBytes(_ prefix: UnsafeRawBufferPointer) -> Int? {
    (try? TIFFFile(prefix, isComplete: false).knownEnd).flatMap { $0 > 0 ? $0 : nil }
  }

  /// Decodes the first page to upright RGBA, not premultiplied, and the others without keeping their pixels.
  package func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    let file = try TIFFFile(bytes, isComplete: true, firstPageOnly: options.firstFrameOnly, limits: limits)
    let header = file.header
    let target = options.storedSize(of: header)
    // The rows of a band, unless they are the result's, and the result before and after it is turned.
    let band = target == header.size ? 0 : header.size.width * 4 * file.bandHeight + RowScaler.bytes(to: target)
    let memory = file.memory + target.pixels * 4 * (header.orientation > 1 ? 2 : 1) + band
    return try limits.spending(memory) { () throws(ImageError) in
      let (pixels, warnings) = try read(bytes, pages: options.firstFrameOnly ? 1 : header.frames, keeping: target, limits)
      return DecodedImage(header: header, pixels: pixels!.upright(orientation: header.orientation), warnings: warnings)
    }
  }

  /// Decodes every strip and tile of every page.
  package func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> ImageProof {
    let file = try TIFFFile(bytes, isComplete: true, limits: limits)
    return try limits.spending(file.memory) { () throws(ImageError) in
      let (_, warnings) = try read(bytes, pages: file.header.frames, keeping: nil, limits)
      return ImageProof(header: file.header, warnings: warnings)
    }
  }

  /// Decodes the pages; returns the pixels of the first one in the size `target`, unless nil, and the warnings.
  private func read(
    _ bytes: UnsafeRawBufferPointer,
    pages: Int,
    keeping target: ImageSize?,
    _ limits: DecodingLimits
  ) throws(ImageError) -> (PixelBuffer?, [String]) {
    let deadline = DecodingDeadline(limits)
    var reader = try TIFFReader(bytes, isComplete: true, pages: pages, maximumBytes: limits.allowedBytes, deadline: deadline)
    var pixels: PixelBuffer?
    for number in 0..<pages {
      try reader.next()
      if number == 0, let target { pixels = try reader.pixels(of: target) } else { try reader.skip() }
    }
    return (pixels, reader.warnings)
  }
}
#endif
