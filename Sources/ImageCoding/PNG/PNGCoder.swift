import CLoading
import CPNG
package import Base

/// PNG by libpng: all colour types and depths, interlaced or not; 16-bit samples are reduced to 8. Frames of animated PNG are read
/// by libpng as separate files.
///
/// A wrong checksum in a critical chunk up to the end of the picture is an error, as is missing image data. Errors after the picture
/// and wrong checksums in ancillary chunks, which are ignored, are warnings, as are animations that violate the specification or
/// have a wrong checksum, which are decoded as still images.
package struct PNGCoder: ImageCoder {
  package init() {}

  package func canDecode(_ format: ImageFormat) -> Bool { format == .png }

  /// Reads the chunks up to the first IDAT; for a complete file all chunks, to find frames and an orientation after the picture.
  package func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    try PNGHeader(prefix, isComplete: isComplete).image
  }

  /// Decodes to upright RGBA; a smaller size is averaged by area.
  ///
  /// ``DecodedImage/pixels`` are the still picture, which viewers without animation show: depending on the file, the animation's
  /// first frame or a separate picture.
  package func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    let png = try checkedHeader(of: bytes, limits)
    let header = png.image
    let stored = options.storedSize(of: header)
    let animation = header.isAnimated && !options.firstFrameOnly ? png.animation : nil
    let memory = PNGMemory(png)
    let needed =
      memory.still(animation == nil ? stored : png.size, isTurned: header.orientation > 1)
      + (animation.map { memory.frames(of: $0, stored) } ?? 0)
    return try limits.spending(needed) { () throws(ImageError) in
      func convert(_ pixels: PixelBuffer) -> PixelBuffer { pixels.reduced(to: stored).upright(orientation: header.orientation) }
      let picture = PNGPicture(file: bytes, header: png, deadline: DecodingDeadline(limits))
      // The first frame of an animation is needed in full size to draw the others on.
      let (pixels, warnings) = try picture.still(of: animation == nil ? stored : png.size)
      var image = DecodedImage(header: header, pixels: convert(pixels), warnings: header.warnings + warnings)
      if let animation {
        let frames = try picture.frames(of: animation, still: pixels, convert: convert)
        image.animation = DecodedImage.Animation(frames: frames, loopCount: animation.loopCount)
      }
      return image
    }
  }

  /// Decodes every frame row by row.
  package func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> ImageProof {
    let png = try checkedHeader(of: bytes, limits)
    let header = png.image
    let animation = header.isAnimated ? png.animation : nil
    let memory = PNGMemory(png)
    return try limits.spending(memory.rows + (animation.map { memory.files(of: $0) } ?? 0)) { () throws(ImageError) in
      let picture = PNGPicture(file: bytes, header: png, deadline: DecodingDeadline(limits))
      let warnings = try picture.proveStill()
      if let animation { try picture.prove(animation) }
      return ImageProof(header: header, warnings: header.warnings + warnings)
    }
  }

  private func checkedHeader(of bytes: UnsafeRawBufferPointer, _ limits: DecodingLimits) throws(ImageError) -> PNGHeader {
    let header = try PNGHeader(bytes, isComplete: true)
    try header.check(limits, bytes)
    return header
  }
}

extension PNGCoder {
  package func canEncode(_ format: ImageFormat) -> Bool { format == .png }

  /// Encodes an image's first frame losslessly: as grey or RGB, with or without alpha, in the smallest form that holds its pixels.
  ///
  /// There is no quality to lower, so a file larger than ``EncodingOptions/maximumBytes`` throws ``ImageError/Kind/unencodable``.
  package func encode(_ image: DecodedImage, as format: ImageFormat, options: EncodingOptions) throws(ImageError) -> [UInt8] {
    guard canEncode(format) else { throw notWritten(format) }
    let pixels = image.pixels.fitting(options)
    let maximum = options.maximumBytes.map { max(0, $0) } ?? .max
    let (width, height) = (UInt32(pixels.size.width), UInt32(pixels.size.height))
    let file = try CCodecStatus.file(of: "libpng") { start, count, report in
      pixels.bytes.withUnsafeBufferPointer { cpng_encode($0.baseAddress, width, height, maximum, &start, &count, &report) }
    }
    guard let file else { throw options.tooLarge("as PNG, which has no quality to lower") }
    return file
  }
}

/// The memory for decoding a PNG, in bytes.
struct PNGMemory {
  /// libpng's rows of up to 8 bytes per pixel, zlib's window, and state.
  let rows: Int
  private let header: PNGHeader
  private let canvas: Int

  init(_ header: PNGHeader) {
    self.header = header
    rows = Self.rows(header.size.width)
    canvas = header.size.pixels * 4
  }

  /// ``rows`` of a picture of that width.
  static func rows(_ width: Int) -> Int { width * 8 * 5 + 512 << 10 }

  /// For decoding the still picture to `target` and rotating it; an interlaced one must be complete before it is reduced.
  func still(_ target: ImageSize, isTurned: Bool) -> Int {
    let result = target.pixels * 4
    let whole = header.isInterlaced && target != header.size ? canvas : 0
    return rows + whole + result * (isTurned ? 2 : 1) + RowScaler.bytes(to: target)
  }

  /// Additional memory for decoding an animation's frames to `target`: the canvas, its saved copy, the frame's own picture, and the
  /// frames that are kept.
  func frames(of animation: PNGAnimation, _ target: ImageSize) -> Int {
    let kept = (target.pixels * 4).saturated(times: animation.frames.count + 2)
    let largest = animation.frames.lazy.map { $0.area.size.pixels * 4 }.max() ?? 0
    return kept + canvas * 2 + largest + files(of: animation)
  }

  /// Additional memory for verifying an animation's frames: the file of the largest one.
  func files(of animation: PNGAnimation) -> Int {
    (animation.frames.lazy.map(\.data.count).max() ?? 0) + 4096
  }
}
