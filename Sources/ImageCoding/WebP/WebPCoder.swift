package import Base

/// WebP by libwebp: lossy and lossless, with or without alpha, including animations; it encodes all of them too.
///
/// A file shorter than its RIFF header declares is an error, as are incomplete chunks and bitstream errors in any frame; libwebp
/// has no warnings. Data after the RIFF chunk is ignored.
package struct WebPCoder: ProgressiveImageCoder, LengthStatingCoder {
  package init() {}

  package func canDecode(_ format: ImageFormat) -> Bool { format == .webp }

  /// Reads the RIFF header, the first chunk and the other available ones. The orientation follows the picture, so a prefix may lack
  /// it.
  package func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    try WebPHeader(prefix, isComplete: isComplete).image
  }

  package func statedBytes(_ prefix: UnsafeRawBufferPointer) -> Int? {
    ByteView(prefix).littleEndian32(at: 4).map { $0 + 8 }
  }

  /// Decodes to upright RGBA; an animation's frames are composed on a transparent canvas.
  package func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    let parts = try WebPHeader(bytes, isComplete: true)
    try parts.check(limits)
    let header = parts.image
    let size = options.decodedSize(of: header.displaySize)
    guard parts.isAnimated else {
      // The decoded pixels and their rotated copy.
      let memory = parts.workingBytes + size.pixels * (header.orientation == 1 ? 4 : 8)
      return try limits.spending(memory) { () throws(ImageError) in
        let stored = options.storedSize(of: header)
        let pixels = try PixelBuffer(size: stored) { pixels throws(ImageError) in
          try WebPContainer(bytes).forEachFrame { frame throws(ImageError) in
            try frame.bitstream.decode(into: pixels, stride: stored.width * 4, scaled: stored)
            return false
          }
        }
        return DecodedImage(header: header, pixels: pixels.upright(orientation: header.orientation))
      }
    }
    let kept = options.firstFrameOnly ? 1 : header.frames
    // The canvas, a frame, the rotated canvas, and the frames that are kept.
    let canvases = 2 + (header.orientation == 1 ? 0 : 1)
    let memory = parts.workingBytes + header.size.pixels * canvases * 4 + kept * size.pixels * 4
    return try limits.spending(memory) { () throws(ImageError) in
      try animation(bytes, header: header, size: size, keepsFirstOnly: options.firstFrameOnly, limits: limits)
    }
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
    var canvas = AnimationCanvas(size: header.size)
    var frames: [DecodedImage.Frame] = []
    try container.forEachFrame { frame throws(ImageError) in
      try deadline.check()
      try canvas.draw(frame, isFirst: frames.isEmpty)
      let pixels = canvas.pixels.upright(orientation: header.orientation).reduced(to: size)
      frames.append(DecodedImage.Frame(pixels: pixels, milliseconds: frame.milliseconds))
      return !keepsFirstOnly
    }
    return DecodedImage(header: header, frames: frames, loopCount: container.loopCount)
  }

  /// Reads the whole bitstream of every frame; lossless pictures and alpha still need memory for their size.
  package func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> ImageProof {
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
    return ImageProof(header: parts.image)
  }

  package func canEncode(_ format: ImageFormat) -> Bool { format == .webp }

  /// Encodes lossy with the requested quality, or losslessly; alpha is lossless in both. An animation is encoded as an animation.
  ///
  /// To stay within a maximum size, it searches for the highest quality that fits, encoding once per step. Sides above 16,383
  /// pixels, and sizes that can't be reached, throw ``ImageError/Kind/unencodable``.
  package func encode(_ image: DecodedImage, as format: ImageFormat, options: EncodingOptions) throws(ImageError) -> [UInt8] {
    guard format == .webp else { throw notWritten(format) }
    return try WebPEncoder(options).encode(image)
  }

  /// A decoder that draws the available rows and leaves those below transparent; for an animation, the first frame once it is
  /// complete.
  ///
  /// The orientation follows the picture, so all images but the last have the stored orientation.
  package func progressiveDecoder(for format: ImageFormat, limits: DecodingLimits) -> (any ProgressiveDecoder)? {
    format == .webp ? WebPProgressiveDecoder(limits: limits) : nil
  }
}

extension WebPHeader {
  /// Throws if the file exceeds the limits, before memory is allocated.
  func check(_ limits: DecodingLimits) throws(ImageError) {
    try limits.check(size)
    try limits.check(frames: image.frames)
    guard chunks > limits.maximumChunks else { return }
    throw .undecodable("the WebP file has \(chunks) chunks, but \(limits.maximumChunks) are allowed")
  }

  /// The maximum memory that libwebp allocates for a picture of the canvas's size, besides its pixels.
  var workingBytes: Int {
    WebPBitstream.workingBytes(size, isOpaqueLossy: image.colorSpace == .ycbcr && !image.hasAlpha && !isAnimated)
  }
}

extension AnimationCanvas {
  /// Decodes a frame and draws it (RFC 9649, section 2.7.1.1). Like browsers, it ignores the file's background colour.
  mutating func draw(_ frame: WebPContainer.Frame, isFirst: Bool) throws(ImageError) {
    // libwebp's demuxer checks this, too.
    guard frame.area.clipped(to: pixels.size) == frame.area else { throw .undecodable("the WebP frame is outside its canvas") }
    let picture = try PixelBuffer(size: frame.area.size) { pixels throws(ImageError) in
      try frame.bitstream.decode(into: pixels, stride: frame.area.width * 4)
    }
    begin(frame.area, disposal: frame.isDisposed ? .fill(0) : .keep)
    draw(picture) { row, source in
      guard frame.isBlended, !isFirst else { return row.copyMemory(from: source) }
      for offset in stride(from: 0, to: row.count, by: 4) {
        let above = source.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt8>.self)
        guard above.w > 0 else { continue }
        let below = row.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt8>.self)
        row.storeBytes(of: Self.blend(above, over: below), toByteOffset: offset, as: SIMD4<UInt8>.self)
      }
    }
  }

  /// The formula of section 2.7.1.1, rounded like libwebp's animation decoder, so that both produce the same pixels.
  private static func blend(_ source: SIMD4<UInt8>, over below: SIMD4<UInt8>) -> SIMD4<UInt8> {
    guard source.w < 255 else { return source }
    let share = (UInt32(below.w) * (256 - UInt32(source.w))) >> 8
    let alpha = UInt32(source.w) + share
    let scale = (1 << 24) / alpha
    let sum = SIMD4<UInt32>(truncatingIfNeeded: source) &* UInt32(source.w) &+ SIMD4(truncatingIfNeeded: below) &* share
    var result = SIMD4<UInt8>(truncatingIfNeeded: (sum &* scale) &>> 24)
    result.w = UInt8(truncatingIfNeeded: alpha)
    return result
  }
}
