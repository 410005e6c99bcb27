import CPNG
import Glibc
public import ImagePrimitives

/// PNG by libpng: all colour types and depths, interlaced or not; 16 bits a sample are scaled to 8. Animated PNG by frames that
/// libpng reads as files of their own.
///
/// A wrong checksum in any chunk up to the picture's end, or in an animation's, is an error, as is missing image data. What is
/// wrong behind the picture is a warning, as is an animation against the specification, which is shown as a still image.
public struct PNGCoder: ImageCoder {
  public init() {}

  public func canDecode(_ format: ImageFormat) -> Bool { format == .png }

  /// Reads the chunks up to the first IDAT; of a whole file, all of them, so that an orientation behind the picture is seen, and
  /// each frame.
  public func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    ImageHeader(try PNGHeader(prefix, isComplete: isComplete), isComplete: isComplete)
  }

  /// Decodes to upright RGBA; a smaller size is the mean of areas.
  ///
  /// ``DecodedImage/pixels`` are the still picture, which is what a viewer without animations shows: the animation's first frame,
  /// or one that is no part of it, as the file has it.
  public func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    let png = try checkedHeader(of: bytes, limits)
    let header = ImageHeader(png, isComplete: true)
    let stored = options.storedSize(of: header)
    let animation = header.isAnimated && !options.firstFrameOnly ? png.animation : nil
    let memory = PNGMemory(png)
    let needed =
      memory.still(animation == nil ? stored : png.size, isTurned: header.orientation > 1)
      + (animation.map { memory.frames(of: $0, stored) } ?? 0)
    return try limits.spending(needed) { () throws(ImageError) in
      func convert(_ pixels: PixelBuffer) -> PixelBuffer { pixels.reduced(to: stored).upright(orientation: header.orientation) }
      let picture = PNGPicture(file: bytes, header: png, deadline: DecodingDeadline(limits))
      // An animation's first frame is needed in full size to draw the others on.
      let (pixels, warnings) = try picture.still(of: animation == nil ? stored : png.size)
      var image = DecodedImage(header: header, pixels: convert(pixels), warnings: png.warnings + warnings)
      if let animation {
        let frames = try picture.frames(of: animation, still: pixels, convert: convert)
        image.animation = Animation(frames: frames, loopCount: animation.loopCount)
      }
      return image
    }
  }

  /// Decodes row by row, every frame.
  public func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> Proof {
    let png = try checkedHeader(of: bytes, limits)
    let header = ImageHeader(png, isComplete: true)
    let animation = header.isAnimated ? png.animation : nil
    let memory = PNGMemory(png)
    return try limits.spending(memory.rows + (animation.map { memory.files(of: $0) } ?? 0)) { () throws(ImageError) in
      let picture = PNGPicture(file: bytes, header: png, deadline: DecodingDeadline(limits))
      let warnings = try picture.proveStill()
      if let animation { try picture.prove(animation) }
      return Proof(header: header, warnings: png.warnings + warnings)
    }
  }

  private func checkedHeader(of bytes: UnsafeRawBufferPointer, _ limits: DecodingLimits) throws(ImageError) -> PNGHeader {
    let header = try PNGHeader(bytes, isComplete: true)
    try header.check(limits, bytes)
    return header
  }
}

extension PNGCoder {
  public func canEncode(_ format: ImageFormat) -> Bool { format == .png }

  /// Writes an image's first frame without loss: grey or RGB, with alpha or not, whatever is the least that holds its pixels.
  ///
  /// There is no quality to lower, so that what is larger than ``EncodingOptions/maximumBytes`` throws
  /// ``ImageError/Kind/unencodable``.
  public func encode(_ image: DecodedImage, as format: ImageFormat, options: EncodingOptions) throws(ImageError) -> [UInt8] {
    guard canEncode(format) else { throw notWritten(format) }
    let pixels = image.pixels.fitting(options)
    var start: UnsafeMutablePointer<UInt8>?
    var count = 0
    var report = CPNGReport()
    let status = pixels.bytes.withUnsafeBufferPointer {
      cpng_encode(
        $0.baseAddress,
        UInt32(pixels.size.width),
        UInt32(pixels.size.height),
        options.maximumBytes.map { max(0, $0) } ?? .max,
        &start,
        &count,
        &report
      )
    }
    defer { free(start) }
    switch status {
    case CPNG_OK: return Array(UnsafeBufferPointer(start: start, count: count))
    case CPNG_TOO_LARGE: throw options.tooLarge("as PNG, which has no quality to lower")
    case CPNG_OUT_OF_MEMORY: throw ImageError(.outOfMemory, "libpng: \(LibraryText(report.message))")
    default: throw ImageError(.unencodable, "libpng: \(LibraryText(report.message))")
    }
  }
}

/// What decoding a PNG holds, in bytes.
struct PNGMemory {
  /// libpng's rows of up to 8 bytes a pixel, zlib's window, and state.
  let rows: Int
  private let header: PNGHeader
  private let canvas: Int

  init(_ header: PNGHeader) {
    self.header = header
    rows = header.size.width * 8 * 5 + 512 << 10
    canvas = header.size.pixels * 4
  }

  /// To decode the still picture to `target`, and turn it; an interlaced one has to be whole before it is reduced.
  func still(_ target: ImageSize, isTurned: Bool) -> Int {
    let result = target.pixels * 4
    let whole = header.isInterlaced && target != header.size ? canvas : 0
    return rows + whole + result * (isTurned ? 2 : 1) + target.width * MemoryLayout<SIMD4<Double>>.stride
  }

  /// To decode an animation's frames to `target` besides: the canvas, the one to come back to, the frame's own picture, and all
  /// that is kept.
  func frames(of animation: PNGAnimation, _ target: ImageSize) -> Int {
    let (kept, overflow) = (target.pixels * 4).multipliedReportingOverflow(by: animation.frames.count + 2)
    let largest = animation.frames.lazy.map { $0.size.pixels * 4 }.max() ?? 0
    return overflow ? .max / 2 : kept + canvas * 2 + largest + files(of: animation)
  }

  /// To prove an animation's frames besides: the largest one's file.
  func files(of animation: PNGAnimation) -> Int {
    (animation.frames.lazy.map(\.data.count).max() ?? 0) + 4096
  }
}
