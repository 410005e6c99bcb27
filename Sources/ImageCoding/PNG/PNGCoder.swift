import CPNG
public import ImagePrimitives

/// PNG by libpng: all colour types and depths, interlaced or not; 16 bits a sample are scaled to 8. Of an animated PNG, its still picture.
///
/// A wrong checksum in any chunk is an error, as is missing image data. A missing IEND behind complete data is a warning.
public struct PNGCoder: ImageCoder {
  /// A coder; all are alike.
  public init() {}

  /// Whether `format` is this one.
  public func canDecode(_ format: ImageFormat) -> Bool { format == .png }

  /// Reads IHDR, and the chunks' names up to the first IDAT; of a whole file, up to the last one.
  public func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    let header = try PNGHeader(ByteView(prefix), isComplete: isComplete)
    return ImageHeader(format: .png, size: header.size, hasAlpha: header.hasAlpha)
  }

  /// Decodes to RGBA.
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
      var report = CPNGReport()
      let status = cpng_decode(start, bytes.count, .init(header.size), pixels.baseAddress, &report)
      warnings = try report.warnings(after: status)
    }
    return DecodedImage(header: header, pixels: pixels, warnings: warnings)
  }

  /// Decodes row by row.
  public func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> Proof {
    let header = try header(of: bytes, isComplete: true)
    try limits.check(header.size)
    let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    var report = CPNGReport()
    let status = cpng_prove(start, bytes.count, .init(header.size), &report)
    return Proof(header: header, warnings: try report.warnings(after: status))
  }
}

extension CPNGExpectation {
  fileprivate init(_ size: ImageSize) { self.init(width: UInt32(size.width), height: UInt32(size.height)) }
}

extension CPNGReport {
  /// What was odd, after a call that ended well; throws what another was refused for.
  fileprivate func warnings(after status: CPNGStatus) throws(ImageError) -> [String] {
    switch status {
    case CPNG_OK: return LibraryText(warnings).lines(of: "libpng")
    case CPNG_OUT_OF_MEMORY: throw ImageError(.outOfMemory, "libpng: \(LibraryText(message))")
    default: throw .undecodable("libpng: \(LibraryText(message))")
    }
  }
}
