public import ImagePrimitives

/// GIF by giflib: GIF87a and GIF89a, interlaced or not, with all frames of an animation; it is not written.
///
/// Frames are shown over one another as they say. A first frame larger than the screen enlarges it; what later ones have outside
/// of it is dropped, as in browsers. An image whose first frame names a transparent colour begins transparent, and others in the
/// screen's background colour. How often an animation is shown is the number in the file, and once where there is none.
///
/// Any code without a meaning, and a picture that is cut, in whatever frame, are errors. A file without its trailer, or one that
/// goes on with something that is no block, ends there with a warning.
public struct GIFCoder: ImageCoder {
  /// A coder; all are alike.
  public init() {}

  /// Whether `format` is this one.
  public func canDecode(_ format: ImageFormat) -> Bool { format == .gif }

  /// Reads all blocks up to the first frame, of which the size depends, and those behind it that are there.
  public func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    ImageHeader(try GIFHeader(ByteView(prefix), isComplete: isComplete), isComplete: isComplete)
  }

  /// Decodes to RGBA, each frame whole as it is shown.
  public func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    let parts = try GIFHeader(ByteView(bytes), isComplete: true)
    let header = ImageHeader(parts, isComplete: true)
    try limits.check(header.size)
    let isStill = options.firstFrameOnly || header.frames == 1
    try limits.check(frames: header.frames)
    let size = options.decodedSize(of: header.size)
    // The canvas, what it showed before, and all that is kept of it.
    let memory = header.size.pixels * 8 + (isStill ? 1 : header.frames) * size.pixels * 4 + GIFStream.tablesInBytes
    let deadline = DecodingDeadline(limits)
    return try limits.spending(memory) { () throws(ImageError) in
      var stream = try GIFStream(bytes)
      var canvas = GIFCanvas(size: header.size, background: parts.beginsTransparent ? 0 : stream.background)
      var frames: [Animation.Frame] = []
      while let frame = try stream.nextFrame(limits: limits) {
        try stream.checkCodes(deadline: deadline)
        let palette = stream.palette(frame)
        canvas.begin(frame)
        try stream.readRows(deadline: deadline) { y, row in canvas.draw(row, y: y, of: frame, palette) }
        frames.append(
          Animation.Frame(
            pixels: canvas.pixels.reduced(to: size),
            duration: Animation.Frame.duration(milliseconds: frame.control.centiseconds * 10)
          )
        )
        if options.firstFrameOnly { break }
        canvas.dispose(frame)
      }
      return DecodedImage(
        header: header,
        pixels: frames[0].pixels,
        animation: isStill ? nil : Animation(frames: frames, loopCount: stream.loopCount),
        warnings: stream.warnings
      )
    }
  }

  /// Follows every frame's codes, and makes no pixel of them.
  public func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> Proof {
    let header = try header(of: bytes, isComplete: true)
    try limits.check(header.size)
    try limits.check(frames: header.frames)
    let deadline = DecodingDeadline(limits)
    return try limits.spending(GIFStream.tablesInBytes) { () throws(ImageError) in
      var stream = try GIFStream(bytes)
      while try stream.nextFrame(limits: limits) != nil {
        try stream.checkCodes(deadline: deadline)
        stream.skipPicture()
      }
      return Proof(header: header, warnings: stream.warnings)
    }
  }
}

extension ImageHeader {
  fileprivate init(_ header: GIFHeader, isComplete: Bool) {
    self.init(
      format: .gif,
      size: header.size,
      frames: header.frames,
      isAnimated: header.frames > 1 || !isComplete && header.hasLoopCount,
      hasAlpha: header.hasAlpha,
      colorSpace: .indexed,
      profile: header.profile
    )
  }
}
