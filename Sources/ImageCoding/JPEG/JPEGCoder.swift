import CJPEG
public import ImagePrimitives

/// JPEG by libjpeg-turbo: baseline and progressive, Huffman and arithmetic coding, 8 bits a sample, grey, RGB, YCbCr, CMYK and YCCK.
///
/// Missing or corrupt picture data is an error. An end-of-image marker that is missing behind complete data, and bytes too many between
/// segments, are warnings.
public struct JPEGCoder: ImageCoder {
  /// A coder; all are alike.
  public init() {}

  /// Whether `format` is this one.
  public func canDecode(_ format: ImageFormat) -> Bool { format == .jpeg }

  /// Reads the markers up to the frame header, and the EXIF orientation on the way.
  public func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    let header = try JPEGHeader(ByteView(prefix), isComplete: isComplete)
    return ImageHeader(format: .jpeg, size: header.size, orientation: header.orientation)
  }

  /// Decodes to upright RGBA; CMYK is taken as inverted, as Adobe writes it.
  public func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    let header = try header(of: bytes, isComplete: true)
    try limits.check(header.size)
    let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    var warnings: [String] = []
    let pixels = try PixelBuffer(size: header.size) { pixels throws(ImageError) in
      var report = CJPEGReport()
      let status = cjpeg_decode(start, bytes.count, .init(header.size, limits), pixels.baseAddress, &report)
      warnings = try report.warnings(after: status)
    }
    return DecodedImage(header: header, pixels: pixels.upright(orientation: header.orientation), warnings: warnings)
  }

  /// Reads all entropy-coded data: row by row, or, of several scans, with 2 bytes a sample in memory.
  public func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> Proof {
    let header = try header(of: bytes, isComplete: true)
    try limits.check(header.size)
    let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    var report = CJPEGReport()
    let status = cjpeg_prove(start, bytes.count, .init(header.size, limits), &report)
    return Proof(header: header, warnings: try report.warnings(after: status))
  }
}

extension CJPEGExpectation {
  fileprivate init(_ size: ImageSize, _ limits: DecodingLimits) {
    self.init(width: UInt32(size.width), height: UInt32(size.height), maximum_scans: UInt32(clamping: limits.scans(for: size)))
  }
}

extension CJPEGReport {
  /// What was odd, after a call that ended well; throws what another was refused for.
  fileprivate func warnings(after status: CJPEGStatus) throws(ImageError) -> [String] {
    switch status {
    case CJPEG_OK: return LibraryText(warnings).lines(of: "libjpeg")
    case CJPEG_OUT_OF_MEMORY: throw ImageError(.outOfMemory, "libjpeg: \(LibraryText(message))")
    default: throw .undecodable("libjpeg: \(LibraryText(message))")
    }
  }
}
