import CPNG
import CLoading
package import Base

extension PNGCoder: ProgressiveImageCoder {
  /// Draws the available rows and leaves others transparent; of an interlaced file it draws each pass, with its pixels enlarged
  /// over missing ones. Of an animated file, it decodes the still picture.
  package func progressiveDecoder(for format: ImageFormat, limits: DecodingLimits) -> (any ProgressiveDecoder)? {
    canDecode(format) ? PNGProgressiveDecoder(limits) : nil
  }
}

/// Decodes an arriving PNG by libpng.
///
/// `@unchecked Sendable`: calls are sequential, as ``ProgressiveDecoder`` requires.
final class PNGProgressiveDecoder: ProgressiveDecoder, @unchecked Sendable {
  private let limits: DecodingLimits
  private var arriving: ArrivingHeader? = ArrivingHeader()
  private var header: ImageHeader?
  private var decoder: OpaquePointer?
  private var time: SpentTime
  /// The state of the last returned image.
  private var shown = Shown(rows: 0, orientation: 1)

  private struct Shown: Equatable {
    var rows: UInt64
    var orientation: Int
  }

  init(_ limits: DecodingLimits) {
    self.limits = limits
    time = SpentTime(limits)
  }

  deinit { if let decoder { cpng_progressive_destroy(decoder) } }

  func append(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
    if decoder != nil { return try decode(bytes) }
    let png = try arriving?.append(bytes) { bytes throws(ImageError) in try PNGHeader(bytes, isComplete: false) }
    guard let png, let first = arriving?.bytes else { return }
    arriving = nil
    try first.withRawBytes { bytes throws(ImageError) in
      try begin(png, bytes)
      try decode(bytes)
    }
  }

  func image() throws(ImageError) -> DecodedImage? {
    guard let decoder, var header, let start = cpng_progressive_pixels(decoder) else { return nil }
    header.orientation = orientation(of: decoder)
    let now = Shown(rows: cpng_progressive_drawn_rows(decoder), orientation: header.orientation)
    guard now.rows > 0, now != shown else { return nil }
    shown = now
    let pixels = Array(UnsafeBufferPointer(start: start, count: header.size.pixels * 4))
    let picture = PixelBuffer(size: header.size, bytes: pixels)
    let warnings = LibraryText(cpng_progressive_report(decoder).pointee.warnings).lines(of: "libpng")
    return DecodedImage(header: header, pixels: picture.upright(orientation: header.orientation), warnings: warnings)
  }

  private func begin(_ png: PNGHeader, _ bytes: UnsafeRawBufferPointer) throws(ImageError) {
    try png.check(limits, bytes)
    // The picture here, the one that was returned, and its rotated copy.
    try limits.check(bytes: PNGMemory(png).rows + png.size.pixels * 4 * 3)
    let expected = CPNGExpectation(width: UInt32(png.size.width), height: UInt32(png.size.height), deadline: 0)
    guard let decoder = cpng_progressive_create(expected) else {
      throw ImageError(.outOfMemory, "libpng: no memory for its state")
    }
    self.decoder = decoder
    header = png.image
  }

  private func decode(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
    guard let decoder else { return }
    let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    try time.spend { deadline throws(ImageError) in
      let status = cpng_progressive_append(decoder, start, bytes.count, deadline.nanoseconds)
      try status.check(cpng_progressive_report(decoder).pointee, of: "libpng", deadline)
    }
  }

  /// The orientation in the eXIf chunk, which may follow the picture.
  private func orientation(of decoder: OpaquePointer) -> Int {
    var count = 0
    guard let start = cpng_progressive_exif(decoder, &count) else { return 1 }
    return EXIF(tiff: ByteView(UnsafeRawBufferPointer(start: start, count: count)), 0..<count).orientation ?? 1
  }
}
