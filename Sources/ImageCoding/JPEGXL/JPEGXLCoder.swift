#if LoadedFormats
package import Base

/// JPEG XL by libjxl: bare codestreams and containers, lossy, lossless and recompressed JPEG, with or without alpha, including
/// animations.
///
/// Frames are complete as displayed. Colours are as libjxl outputs them: an image in XYB is converted to the colour space that its
/// header names, or to sRGB if it has a profile; samples of other images are in their own colour space. Black of CMYK, spot colours
/// other than libjxl's rendering of them, and the preview are ignored. Data after the image is ignored, too.
///
/// libjxl skips the pixels to read the structure of a file, and so doesn't notice that those of the last frame are truncated.
/// ``DecodingLimits/maximumTime`` is checked between frames and when libjxl allocates memory.
package struct JPEGXLCoder: ImageCoder {
  package init() {}

  package func canDecode(_ format: ImageFormat) -> Bool { format == .jpegXL }

  /// Reads the boxes, and the codestream's header with its profile. The orientation is that of the codestream.
  package func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    try JXLStructure(prefix, isComplete: isComplete, limits: nil).header
  }

  /// Decodes to upright RGBA, not premultiplied.
  package func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    let file = try JXLStructure(bytes, isComplete: true, limits: limits)
    let header = file.header
    let frames = options.firstFrameOnly ? 1 : header.frames
    let size = options.decodedSize(of: header.displaySize)
    return try limits.spending(file.memory(frames: frames, decodedTo: size)) { () throws(ImageError) in
      let decoder = try JXLDecoder.opened(bytes, limits, events: [JXLDecoder.wholeFrames])
      var kept: [DecodedImage.Frame] = []
      while kept.count < frames {
        let pixels = try PixelBuffer(size: header.size) { pixels throws(ImageError) in try decoder.decodeFrame(into: pixels) }
        let shown = pixels.upright(orientation: header.orientation).reduced(to: size)
        kept.append(DecodedImage.Frame(pixels: shown, milliseconds: file.durations[kept.count]))
      }
      return DecodedImage(header: header, frames: kept, loopCount: file.loopCount)
    }
  }

  /// Decodes every frame without keeping its pixels.
  package func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> ImageProof {
    let file = try JXLStructure(bytes, isComplete: true, limits: limits)
    try limits.spending(file.memory(frames: 0, decodedTo: file.header.size)) { () throws(ImageError) in
      let decoder = try JXLDecoder.opened(bytes, limits, events: [JXLDecoder.wholeFrames])
      for _ in file.durations { try decoder.decodeFrame(into: nil) }
    }
    return ImageProof(header: file.header)
  }
}

extension JXLStructure {
  /// Tables, and rows of the group that is being decoded.
  private static let baseBytes = 8 << 20
  /// Planes of blocks, and the output of filters between groups.
  private static let bytesPerPixel = 4
  /// Integer samples of a channel; 12.5 bytes per pixel were measured for RGB, with libjxl 0.7.
  private static let bytesPerSample = 5
  /// A channel in floating point that is blended or kept, and its copy.
  private static let bytesPerKeptSample = 8

  /// An estimate of the bytes that libjxl needs for usual images, and of those of the pixels of `frames` frames. It is reserved
  /// before decoding; ``JXLDecoder`` limits what libjxl really takes.
  fileprivate func memory(frames: Int, decodedTo size: ImageSize) -> Int {
    let isSimple = header.frames == 1
    let perPixel =
      Self.bytesPerPixel + (isIntegral ? channels * Self.bytesPerSample : 0) + (isSimple ? 0 : channels * Self.bytesPerKeptSample)
    let steps = frames == 0 ? 0 : 1 + (header.orientation == 1 ? 0 : 1) + (size == header.displaySize ? 0 : 1)
    return Self.baseBytes + (header.size.pixels * (perPixel + steps * 4)) + size.pixels * 4 * frames
  }
}
#endif
