#if RareFormats
package import Base

/// JPEG XL by libjxl: bare codestreams and containers, lossy, lossless and recompressed JPEG, with or without alpha, including
/// animations.
///
/// Frames are complete as displayed. Colours are as libjxl outputs them: an image in XYB is converted to the colour space that its
/// header names, or to sRGB if it has a profile; samples of other images are in their own colour space. Black of CMYK, spot colours
/// other than libjxl's rendering of them, and the preview are ignored. Data after the image is ignored, too. An image with splines,
/// which no common encoder writes, is rejected, since libjxl doesn't limit their memory.
///
/// The structure of the file is read without libjxl, which is loaded to decode pixels. libjxl decodes a section of a frame, up to
/// 1024 × 1024 pixels, in one call that can't be interrupted; ``DecodingLimits/maximumTime`` is checked between them.
package struct JPEGXLCoder: ImageCoder {
  package init() {}

  package func canDecode(_ format: ImageFormat) -> Bool { format == .jpegXL }

  /// Reads the boxes up to the codestream, the available ones after it, and the codestream's header: about 10 bytes. The
  /// orientation is that of the codestream. Only a compressed Exif box, which cjxl writes by default, needs the library; without it,
  /// the metadata are missing.
  package func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    let file = try JXLFile(prefix, isComplete: isComplete)
    guard !isComplete else { return ImageHeader(try file.image(), file.exif) }
    let metadata = try file.metadata()
    return ImageHeader(metadata, frames: 1, isAnimated: metadata.animation != nil, exif: file.exif)
  }

  /// Decodes to upright RGBA, not premultiplied.
  package func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    let deadline = DecodingDeadline(limits)
    let (file, image) = try Self.opened(bytes, limits)
    let header = ImageHeader(image, file.exif)
    let frames = options.firstFrameOnly ? 1 : header.frames
    let size = options.decodedSize(of: header.displaySize)
    let memory =
      JXLMemory(image, codestreamBytes: file.codestreamBytes).bytes + JXLMemory.bytes(of: header, frames: frames, decodedTo: size)
    return try limits.spending(memory) { () throws(ImageError) in
      try file.withJoined { codestream throws(ImageError) in
        var decoder = try JXLDecoder.opening(codestream, image, deadline: deadline)
        var kept: [DecodedImage.Frame] = []
        let durations = image.durations
        while kept.count < frames {
          let pixels = try decoder.nextPixels().upright(orientation: header.orientation).reduced(to: size)
          kept.append(DecodedImage.Frame(pixels: pixels, duration: durations[kept.count]))
        }
        guard frames > 1, let animation = image.metadata.animation else {
          return DecodedImage(header: header, pixels: kept[0].pixels)
        }
        let all = DecodedImage.Animation(frames: kept, loopCount: animation.loopCount)
        return DecodedImage(header: header, pixels: kept[0].pixels, animation: all)
      }
    }
  }

  /// Decodes every frame without keeping its pixels.
  package func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> ImageProof {
    let deadline = DecodingDeadline(limits)
    let (file, image) = try Self.opened(bytes, limits)
    try limits.spending(JXLMemory(image, codestreamBytes: file.codestreamBytes).bytes) { () throws(ImageError) in
      try file.withJoined { codestream throws(ImageError) in
        var decoder = try JXLDecoder.opening(codestream, image, deadline: deadline)
        for _ in 0..<image.displayedFrames { try decoder.skip() }
      }
    }
    return ImageProof(header: ImageHeader(image, file.exif))
  }

  /// The structure of a complete file that is within `limits`.
  private static func opened(
    _ bytes: UnsafeRawBufferPointer,
    _ limits: DecodingLimits
  ) throws(ImageError) -> (JXLFile, JXLImage) {
    let file = try JXLFile(bytes, isComplete: true)
    // Before the frames, of which a large image has more than it can have.
    try limits.check(file.metadata().size)
    let image = try file.image()
    try limits.check(frames: image.displayedFrames)
    let parts = max(file.boxes, image.frames.count - image.displayedFrames)
    guard parts <= limits.maximumChunks else {
      throw .undecodable("the JPEG XL file has \(parts) boxes or hidden frames, but \(limits.maximumChunks) are allowed")
    }
    guard !image.frames.contains(where: \.hasSplines) else {
      throw ImageError(
        .memory(maximumBytes: limits.allowedBytes),
        "the JPEG XL image draws splines, whose memory libjxl doesn't limit"
      )
    }
    return (file, image)
  }
}

extension JXLFile {
  /// The fields of the codestream that a header has.
  fileprivate func metadata() throws(ImageError) -> JXLMetadata {
    try withCodestream { bytes throws(JXLError) in
      var bits = JXLBits(ByteView(bytes))
      return try JXLMetadata(prefix: &bits)
    }
  }

  /// The structure of a complete codestream.
  fileprivate func image() throws(ImageError) -> JXLImage {
    try withCodestream { bytes throws(JXLError) in try JXLImage(bytes) }
  }

  /// Calls `body` with the complete codestream.
  fileprivate func withJoined<Result>(
    _ body: (UnsafeRawBufferPointer) throws(ImageError) -> Result
  ) throws(ImageError) -> Result {
    if let whole = wholePiece { return try body(whole) }
    return try joined.withRawBytes(body)
  }
}

extension JXLImage {
  /// The durations of the displayed frames.
  fileprivate var durations: [Duration] {
    frames.dropFirst(metadata.previewSize == nil ? 0 : 1).filter(\.isDisplayed).map { frame in
      let milliseconds = Double(frame.ticks) / (metadata.animation?.ticksPerSecond ?? 1) * 1000
      return DecodedImage.Frame.duration(milliseconds: Int(min(milliseconds.rounded(), 1e12)))
    }
  }
}

extension ImageHeader {
  fileprivate init(_ image: JXLImage, _ exif: EXIF) {
    let frames = image.displayedFrames
    self.init(image.metadata, frames: frames, isAnimated: frames > 1, exif: exif)
  }
}
#endif
