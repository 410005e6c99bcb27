public import ImagePrimitives

/// WebP by libwebp: lossy and lossless, with or without alpha, and all frames of an animation; written as either, too.
///
/// A file shorter than its RIFF header declares is an error, as is a chunk that is not whole, and any fault in the bitstream of
/// any frame; libwebp knows no warnings. What stands behind the RIFF chunk does not matter.
public struct WebPCoder: ImageCoder {
  public init() {}

  public func canDecode(_ format: ImageFormat) -> Bool { format == .webp }

  /// Reads the RIFF header and the first chunk, and the others that are there: the orientation comes behind the picture, so that
  /// a prefix does not tell it.
  public func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    ImageHeader(try WebPHeader(prefix, isComplete: isComplete), isComplete: isComplete)
  }

  /// Decodes to upright RGBA; an animation's frames lie on a transparent canvas, whole as they are shown.
  public func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    let parts = try WebPHeader(bytes, isComplete: true)
    try parts.check(limits)
    let header = ImageHeader(parts, isComplete: true)
    let size = options.decodedSize(of: header.displaySize)
    guard parts.isAnimated else {
      // As libwebp makes them, and turned.
      let memory = parts.workingBytes + size.pixels * (header.orientation == 1 ? 4 : 8)
      return try limits.spending(memory) { () throws(ImageError) in try still(bytes, header: header, size: size) }
    }
    let kept = options.firstFrameOnly ? 1 : header.frames
    // The canvas, a frame to lay over it, the canvas turned, and all that is kept.
    let canvases = 1 + (kept > 1 ? 1 : 0) + (header.orientation == 1 ? 0 : 1)
    let memory = parts.workingBytes + header.size.pixels * canvases * 4 + kept * size.pixels * 4
    return try limits.spending(memory) { () throws(ImageError) in
      try animation(bytes, header: header, size: size, keepsFirstOnly: options.firstFrameOnly, limits: limits)
    }
  }

  private func still(_ bytes: UnsafeRawBufferPointer, header: ImageHeader, size: ImageSize) throws(ImageError) -> DecodedImage {
    let stored = header.orientation >= 5 ? ImageSize(width: size.height, height: size.width) : size
    let pixels = try PixelBuffer(size: stored) { pixels throws(ImageError) in
      try WebPContainer(bytes).forEachFrame { frame throws(ImageError) in
        try frame.bitstream.decode(into: pixels, stride: stored.width * 4, scaled: stored)
        return false
      }
    }
    return DecodedImage(header: header, pixels: pixels.upright(orientation: header.orientation))
  }

  private func animation(
    _ bytes: UnsafeRawBufferPointer,
    header: ImageHeader,
    size: ImageSize,
    keepsFirstOnly: Bool,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    let deadline = DecodingDeadline(limits)
    let container = try WebPContainer(bytes)
    var canvas = WebPCanvas(size: header.size)
    var frames: [Animation.Frame] = []
    try container.forEachFrame { frame throws(ImageError) in
      try deadline.check()
      try canvas.draw(frame)
      frames.append(
        Animation.Frame(
          pixels: canvas.pixels.upright(orientation: header.orientation).reduced(to: size),
          duration: Animation.Frame.duration(milliseconds: frame.milliseconds)
        )
      )
      return !keepsFirstOnly
    }
    return DecodedImage(
      header: header,
      pixels: frames[0].pixels,
      animation: frames.count > 1 ? Animation(frames: frames, loopCount: container.loopCount) : nil
    )
  }

  /// Reads the whole bitstream of every frame; lossless pictures and alpha still need their size in memory.
  public func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> Proof {
    let parts = try WebPHeader(bytes, isComplete: true)
    try parts.check(limits)
    let deadline = DecodingDeadline(limits)
    try limits.spending(parts.workingBytes) { () throws(ImageError) in
      try WebPContainer(bytes).forEachFrame { frame throws(ImageError) in
        try deadline.check()
        try frame.bitstream.prove()
        return true
      }
    }
    return Proof(header: ImageHeader(parts, isComplete: true))
  }

  public func canEncode(_ format: ImageFormat) -> Bool { format == .webp }

  /// Encodes with loss at the quality asked for, or without any; alpha is kept whole in both. An animation is written as one.
  ///
  /// Where a maximum of bytes asks for it, the quality is searched that fits, with an attempt at each step. Sides above 16,383
  /// pixels, and sizes in bytes that cannot be kept, throw ``ImageError/Kind/unencodable``.
  public func encode(
    _ image: DecodedImage,
    as format: ImageFormat,
    options: EncodingOptions
  ) throws(ImageError) -> [UInt8] {
    guard format == .webp else { throw notWritten(format) }
    return try WebPEncoder(options).encode(image)
  }

  /// A decoder that shows the rows that are there, those below being transparent; of an animation, the first frame once all of it
  /// is there.
  ///
  /// The orientation comes behind the picture, so that all images but the last one are as stored.
  public func progressiveDecoder(for format: ImageFormat, limits: DecodingLimits) -> (any ProgressiveDecoder)? {
    format == .webp ? WebPProgressiveDecoder(limits: limits) : nil
  }
}

extension WebPHeader {
  /// Refuses what goes beyond the limits, before anything is allocated for it.
  func check(_ limits: DecodingLimits) throws(ImageError) {
    try limits.check(size)
    try limits.check(frames: frames)
    guard chunks > limits.maximumChunks else { return }
    throw .undecodable("the WebP file has \(chunks) chunks, and \(limits.maximumChunks) are allowed")
  }

  /// What libwebp allocates for a picture as large as the canvas at most, beside its pixels.
  var workingBytes: Int {
    WebPBitstream.workingBytes(size, isOpaqueLossy: colorSpace == .ycbcr && !hasAlpha && !isAnimated)
  }
}

extension ImageHeader {
  init(_ header: WebPHeader, isComplete: Bool) {
    self.init(
      format: .webp,
      size: header.size,
      frames: header.frames,
      isAnimated: isComplete ? header.frames > 1 : header.isAnimated,
      hasAlpha: header.hasAlpha,
      orientation: header.orientation,
      colorSpace: header.colorSpace,
      profile: header.profile
    )
  }
}
