import CJPEG
import CLoading
package import Base

extension JPEGCoder: ProgressiveImageCoder {
  /// For a baseline file, draws the available rows and leaves others transparent; for a progressive one, draws complete scans, and
  /// rows of the first scan. It creates no images of arithmetically coded files, which libjpeg can't read incrementally. Data right
  /// before a missing end-of-image marker isn't drawn, since more might follow.
  ///
  /// It keeps the coefficients of the whole picture, 2 bytes each, which count against ``DecodingLimits/maximumBytes``, but not
  /// against the shared budget, since it lives as long as the transfer.
  package func progressiveDecoder(for format: ImageFormat, limits: DecodingLimits) -> (any ProgressiveDecoder)? {
    canDecode(format) ? JPEGProgressiveDecoder(limits) : nil
  }
}

/// Decodes an arriving JPEG by libjpeg.
///
/// `@unchecked Sendable`: calls are sequential, as ``ProgressiveDecoder`` requires.
final class JPEGProgressiveDecoder: ProgressiveDecoder, @unchecked Sendable {
  private let limits: DecodingLimits
  private var arriving: ArrivingHeader? = ArrivingHeader()
  private var header: ImageHeader?
  private var pixels: [UInt8] = []
  private var decoder: OpaquePointer?
  private var time: SpentTime

  init(_ limits: DecodingLimits) {
    self.limits = limits
    time = SpentTime(limits)
  }

  deinit { if let decoder { cjpeg_progressive_destroy(decoder) } }

  func append(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
    if decoder != nil { return try decode(bytes) }
    let jpeg = try arriving?.append(bytes) { bytes throws(ImageError) in try JPEGHeader(bytes, isComplete: false) }
    guard let jpeg, let first = arriving?.bytes else { return }
    arriving = nil
    try begin(jpeg)
    try first.withRawBytes { bytes throws(ImageError) in try decode(bytes) }
  }

  func image() throws(ImageError) -> DecodedImage? {
    guard let decoder, let header else { return nil }
    var hasChanged: Int32 = 0
    try time.spend { deadline throws(ImageError) in
      let status = pixels.withUnsafeMutableBufferPointer {
        cjpeg_progressive_draw(decoder, $0.baseAddress, &hasChanged, deadline.nanoseconds)
      }
      try status.check(cjpeg_progressive_report(decoder).pointee, of: "libjpeg", deadline)
    }
    guard hasChanged != 0 else { return nil }
    let warnings = LibraryText(cjpeg_progressive_report(decoder).pointee.warnings).lines(of: "libjpeg")
    let picture = PixelBuffer(size: header.size, bytes: pixels)
    return DecodedImage(header: header, pixels: picture.upright(orientation: header.orientation), warnings: warnings)
  }

  private func begin(_ jpeg: JPEGHeader) throws(ImageError) {
    try jpeg.check(limits)
    // libjpeg's arithmetic decoder can't suspend and resume.
    if jpeg.isArithmetic { return }
    let memory = JPEGMemory(jpeg)
    let pixelBytes = jpeg.size.pixels * 4
    // The picture here, the one that was returned, and its rotated copy.
    try limits.check(bytes: memory.rows + memory.coefficients + pixelBytes * (jpeg.image.orientation > 1 ? 3 : 2))
    guard let decoder = cjpeg_progressive_create(CJPEGExpectation(jpeg.size, limits)) else {
      throw ImageError(.outOfMemory, "libjpeg: no memory for its state")
    }
    self.decoder = decoder
    pixels = [UInt8](repeating: 0, count: pixelBytes)
    header = jpeg.image
  }

  private func decode(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
    guard let decoder else { return }
    let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    try time.spend { deadline throws(ImageError) in
      let status = cjpeg_progressive_append(decoder, start, bytes.count, deadline.nanoseconds)
      try status.check(cjpeg_progressive_report(decoder).pointee, of: "libjpeg", deadline)
    }
  }
}
