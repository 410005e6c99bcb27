#if LoadedFormats
import CAVIF
package import Base

/// AVIF by libavif: still images, grids and sequences, 8 to 12 bits per sample, with or without alpha.
///
/// It reads the same files as strictly as Pillow's plug-in: `clap` and `pixi` boxes may be wrong or missing, and a clean aperture
/// (`clap`) crops nothing; rotation (`irot`) and mirroring (`imir`) are applied. libavif reports no warnings; before version 1.0 it
/// lets dav1d print its warnings to standard error.
///
/// A frame is decoded in one call that can't be interrupted, so ``DecodingLimits/maximumTime`` is checked between frames.
package struct AVIFCoder: ImageCoder {
  package init() {}

  package func canDecode(_ format: ImageFormat) -> Bool { format == .avif }

  /// Reads the boxes `ftyp`, `meta` and, for a sequence, `moov`, at any position, and if only the picture states its colours, its
  /// first bytes.
  package func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    try AVIFDecoder.opening(prefix, isComplete: isComplete).header
  }

  /// Decodes to upright RGBA, not premultiplied.
  package func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    let deadline = DecodingDeadline(limits)
    let decoder = try AVIFDecoder.opening(bytes, within: limits)
    let header = decoder.header
    let frames = options.firstFrameOnly ? 1 : header.frames
    let size = options.decodedSize(of: header.displaySize)
    let memory = decoder.memory + AVIFMemory.bytes(of: header, frames: frames, decodedTo: size)
    return try limits.spending(memory) { () throws(ImageError) in
      var kept: [DecodedImage.Frame] = []
      while kept.count < frames {
        if frames > 1 { try deadline.check() }
        let pixels = try decoder.nextPixels(size)
        kept.append(DecodedImage.Frame(pixels: pixels, milliseconds: decoder.frameMilliseconds))
      }
      return DecodedImage(header: header, frames: kept, loopCount: decoder.loopCount)
    }
  }

  /// Decodes every frame without converting it to pixels.
  package func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> ImageProof {
    let deadline = DecodingDeadline(limits)
    let decoder = try AVIFDecoder.opening(bytes, within: limits)
    let header = decoder.header
    try limits.spending(decoder.memory) { () throws(ImageError) in
      for _ in 0..<header.frames {
        try deadline.check()
        try decoder.next()
        try decoder.checkColors()
      }
    }
    return ImageProof(header: header)
  }

  /// True for AVIF unless libavif is installed without an encoder.
  package func canEncode(_ format: ImageFormat) -> Bool { format == .avif && AVIFEncoder.isSupported }

  /// Encodes lossy with the requested quality, with subsampled chroma below 90, or losslessly; alpha is lossless in both. An animation
  /// is encoded as an animation, which is shown forever.
  ///
  /// To stay within a maximum size, it searches for the highest quality that fits, encoding once per step. Sides above 65,536 pixels,
  /// and sizes that can't be reached, throw ``ImageError/Kind/unencodable``.
  package func encode(_ image: DecodedImage, as format: ImageFormat, options: EncodingOptions) throws(ImageError) -> [UInt8] {
    guard format == .avif else { throw notWritten(format) }
    return try AVIFEncoder(options).encode(image)
  }
}

/// The memory that libavif and dav1d use to decode the frames of a file, if they match its header.
enum AVIFMemory {
  /// The pixels that a coded frame may have beyond those of the header: the cells of a grid extend beyond its right and lower
  /// edges.
  private static let sparePixels = 512 * 512
  /// Tables and rows of one dav1d instance, of which there is one per item of a grid.
  private static let bytesPerDecoder = 2 << 20
  /// Frames of a sequence that later ones may refer to (AV1 specification, section 3: `NUM_REF_FRAMES`), the current one, and the
  /// last one.
  private static let framesOfSequence = 10
  /// A still frame, and the grid that it is copied to or its scaled copy.
  private static let framesOfStill = 2

  /// The maximum number of bytes for a file of `items` items.
  static func bytes(of header: ImageHeader, format: avifPixelFormat, depth: Int, items: Int) -> Int {
    let halfSamples =
      switch format {
      case AVIF_PIXEL_FORMAT_YUV400: 2
      case AVIF_PIXEL_FORMAT_YUV420: 3
      case AVIF_PIXEL_FORMAT_YUV422: 4
      default: 6
      }
    let sampleBytes = depth > 8 ? 2 : 1
    // Alpha is monochrome but may be coded with subsampled chroma planes.
    let frameBytes = (halfSamples + (header.hasAlpha ? 3 : 0)) * sampleBytes
    let frames = header.isAnimated ? framesOfSequence : framesOfStill
    // Besides samples, dav1d stores motion vectors, segments and filter levels.
    let bytesPerPixel = (frameBytes * frames + 1) / 2 + (header.hasAlpha ? 2 : 1)
    let decoders = max(1, items) + (header.hasAlpha ? 1 : 0)
    return framePixels(of: header.size).saturated(times: bytesPerPixel) + decoders * bytesPerDecoder
  }

  /// The maximum number of pixels of a coded frame.
  static func framePixels(of size: ImageSize) -> Int { min(size.pixels, .max / 2) + sparePixels }

  /// The size of the pixels that a decode keeps for `frames` frames, and of intermediate ones, in bytes.
  static func bytes(of header: ImageHeader, frames: Int, decodedTo size: ImageSize) -> Int {
    let steps = (header.orientation == 1 ? 0 : 1) + (size == header.displaySize ? 0 : 1)
    return (size.pixels * 4).saturated(times: frames) + header.size.pixels * 4 * steps
  }
}
#endif
