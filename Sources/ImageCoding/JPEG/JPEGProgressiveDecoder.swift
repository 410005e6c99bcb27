import CJPEG
public import ImagePrimitives

extension JPEGCoder {
  /// Of a baseline file it draws the rows that are there, the others transparent; of a progressive one each scan that is whole,
  /// and of the first one rows. Of an arithmetically coded one it makes no image: libjpeg reads those only at once. What stands
  /// right before an end-of-image marker that is missing is not drawn: more might come.
  ///
  /// It keeps the coefficients of the whole picture, 2 bytes each, and counts them against ``DecodingLimits/maximumBytes``; of
  /// the shared budget it takes nothing, since it lives as long as a transfer does.
  public func progressiveDecoder(for format: ImageFormat, limits: DecodingLimits) -> (any ProgressiveDecoder)? {
    canDecode(format) ? JPEGProgressiveDecoder(limits) : nil
  }
}

/// A JPEG that libjpeg reads while it arrives.
///
/// Unchecked: its calls come one after another, as ``ProgressiveDecoder`` says.
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
      try status.check(cjpeg_progressive_report(decoder), deadline)
    }
    guard hasChanged != 0 else { return nil }
    let warnings = LibraryText(cjpeg_progressive_report(decoder).pointee.warnings).lines(of: "libjpeg")
    let picture = PixelBuffer(size: header.size, bytes: pixels)
    return DecodedImage(header: header, pixels: picture.upright(orientation: header.orientation), warnings: warnings)
  }

  private func begin(_ jpeg: JPEGHeader) throws(ImageError) {
    try jpeg.check(limits)
    // libjpeg's arithmetic decoder cannot stop where bytes do and go on later.
    if jpeg.isArithmetic { return }
    let memory = JPEGMemory(jpeg)
    let pixelBytes = jpeg.size.pixels * 4
    // The picture here, the one that was handed out, and that one turned.
    try limits.check(bytes: memory.rows + memory.coefficients + pixelBytes * (jpeg.orientation > 1 ? 3 : 2))
    guard let decoder = cjpeg_progressive_create(CJPEGExpectation(jpeg.size, limits)) else {
      throw ImageError(.outOfMemory, "libjpeg: no memory for its state")
    }
    self.decoder = decoder
    pixels = [UInt8](repeating: 0, count: pixelBytes)
    header = ImageHeader(jpeg)
  }

  private func decode(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
    guard let decoder else { return }
    let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    try time.spend { deadline throws(ImageError) in
      let status = cjpeg_progressive_append(decoder, start, bytes.count, deadline.nanoseconds)
      try status.check(cjpeg_progressive_report(decoder), deadline)
    }
  }
}
