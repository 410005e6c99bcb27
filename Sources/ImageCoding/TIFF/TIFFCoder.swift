#if RareFormats
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
    let structure = try TIFFStructure(prefix, isComplete: isComplete)
    if isComplete {
      try structure.check(try structure.directories(structure.pages.count))
      if let damage = structure.damage { throw damage }
    }
    return structure.header
  }

  /// By the strips or tiles of the first page.
  package func statedBytes(_ prefix: UnsafeRawBufferPointer) -> Int? {
    try? TIFFStructure(prefix, isComplete: false).first.knownEnd
  }

  /// Decodes the first page to upright RGBA, not premultiplied, and the others without keeping their pixels.
  package func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    let file = try TIFFPages(bytes, firstPageOnly: options.firstFrameOnly, limits: limits)
    let header = file.header
    let target = options.storedSize(of: header)
    return try file.read(keeping: target, limits: limits) { pixels, warnings in
      DecodedImage(header: header, pixels: pixels!.upright(orientation: header.orientation), warnings: warnings)
    }
  }

  /// Decodes every strip and tile of every page.
  package func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> ImageProof {
    let file = try TIFFPages(bytes, firstPageOnly: false, limits: limits)
    let header = file.header
    return try file.read(keeping: nil, limits: limits) { _, warnings in ImageProof(header: header, warnings: warnings) }
  }
}

/// The pages of a complete file that are decoded.
private struct TIFFPages {
  let header: ImageHeader
  private let bytes: UnsafeRawBufferPointer
  private let directories: [TIFFDirectory]
  private let deadline: DecodingDeadline

  /// Throws if the file is damaged or exceeds a limit, as far as directories show it.
  init(_ bytes: UnsafeRawBufferPointer, firstPageOnly: Bool, limits: DecodingLimits) throws(ImageError) {
    self.bytes = bytes
    deadline = DecodingDeadline(limits)
    let structure = try TIFFStructure(bytes, isComplete: true)
    header = structure.header
    let count = firstPageOnly ? 1 : structure.pages.count
    guard count <= limits.maximumFrames else {
      throw .undecodable("the TIFF file has at least \(count) pages, but \(limits.maximumFrames) are allowed")
    }
    try limits.check(header.size)
    directories = try structure.directories(count)
    for directory in directories.dropFirst() {
      let size = directory.size
      guard size.width > 0, size.height > 0 else { throw .undecodable("a TIFF page of \(size.width) x \(size.height) pixels") }
      try limits.check(size)
    }
    try structure.check(directories)
    if !firstPageOnly, let damage = structure.damage { throw damage }
  }

  /// Decodes the pages and calls `body` with the pixels of the first one in the size `target`, or nil, and the warnings.
  func read<Result>(
    keeping target: ImageSize?,
    limits: DecodingLimits,
    _ body: (PixelBuffer?, [String]) -> Result
  ) throws(ImageError) -> Result {
    let largest = directories.lazy.map(\.memory).max()!
    return try limits.spending(target.map { largest + memory(of: $0) } ?? largest) { () throws(ImageError) in
      var reader = try TIFFReader.opened(bytes, pages: directories.count, maximumBytes: limits.allowedBytes, deadline: deadline)
      var pixels: PixelBuffer?
      for (index, directory) in directories.enumerated() {
        try reader.next(directory)
        if index == 0, let target { pixels = try reader.pixels(of: target) } else { try reader.skip() }
      }
      return body(pixels, reader.warnings)
    }
  }

  /// The memory for the first page's pixels: those of a band, unless it is the result's, and the result before and after it is
  /// turned.
  private func memory(of target: ImageSize) -> Int {
    let band = target == header.size ? 0 : header.size.width * 4 * directories[0].bandHeight
    let row = target.width * MemoryLayout<SIMD4<Double>>.stride
    return target.pixels * 4 * (header.orientation > 1 ? 2 : 1) + band + row
  }
}
#endif
