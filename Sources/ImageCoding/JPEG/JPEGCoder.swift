public import ImagePrimitives

/// JPEG by libjpeg-turbo: baseline and progressive, Huffman and arithmetic coding, 8 bits a sample, grey, RGB, YCbCr, CMYK and
/// YCCK.
///
/// CMYK and YCCK are taken as inverted ink, as Adobe's programs write them and browsers read them.
///
/// Rows of the picture without data are an error. Wrong codes within complete rows, an end-of-image marker that is missing behind
/// complete data, and bytes too many between segments are warnings.
public struct JPEGCoder: ImageCoder {
  /// A coder; all are alike.
  public init() {}

  /// Whether `format` is this one.
  public func canDecode(_ format: ImageFormat) -> Bool { format == .jpeg }

  /// Reads the marker segments up to the first scan.
  public func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    ImageHeader(try JPEGHeader(prefix, isComplete: isComplete))
  }

  /// Decodes to upright RGBA.
  ///
  /// A smaller size comes from libjpeg's own scaling to the eighth above it, and the mean of areas from there, row by row: a
  /// baseline file is never in memory as a whole. One of several scans has its coefficients there, which count.
  public func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    let jpeg = try checkedHeader(of: bytes, limits)
    let header = ImageHeader(jpeg)
    let stored = options.storedSize(of: header)
    let eighths = jpeg.size.fewestEighths(for: stored)
    let pixelBytes = stored.pixels * 4 * (header.orientation > 1 ? 2 : 1)
    let scalerBytes = stored == jpeg.size.eighths(eighths) ? 0 : stored.width * MemoryLayout<SIMD4<Double>>.stride
    return try limits.spending(pixelBytes + scalerBytes + jpeg.memory) { () throws(ImageError) in
      let reader = try JPEGReader.opened(bytes, jpeg, eighths: eighths, limits: limits)
      let pixels = try PixelBuffer(size: stored) { pixels throws(ImageError) in try reader.read(into: pixels, of: stored) }
      let warnings = try reader.finish()
      return DecodedImage(header: header, pixels: pixels.upright(orientation: header.orientation), warnings: warnings)
    }
  }

  /// Reads all entropy-coded data: row by row, or, of several scans, with 2 bytes a sample in memory.
  public func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> Proof {
    let jpeg = try checkedHeader(of: bytes, limits)
    return try limits.spending(jpeg.memory) { () throws(ImageError) in
      let reader = try JPEGReader.opened(bytes, jpeg, eighths: 1, limits: limits)
      try reader.skip()
      return Proof(header: ImageHeader(jpeg), warnings: try reader.finish())
    }
  }

  private func checkedHeader(of bytes: UnsafeRawBufferPointer, _ limits: DecodingLimits) throws(ImageError) -> JPEGHeader {
    let header = try JPEGHeader(bytes, isComplete: true)
    try header.check(limits)
    return header
  }
}

extension JPEGHeader {
  /// Refuses a picture that is too large, and a header in too many pieces.
  func check(_ limits: DecodingLimits) throws(ImageError) {
    try limits.check(size)
    guard segments > limits.maximumChunks else { return }
    throw .undecodable("the JPEG file has more than \(limits.maximumChunks) segments, which are allowed, before its first scan")
  }

  /// What libjpeg holds to read the file.
  fileprivate var memory: Int {
    let memory = JPEGMemory(self)
    return memory.rows + (hasSeveralScans ? memory.coefficients : 0)
  }
}
