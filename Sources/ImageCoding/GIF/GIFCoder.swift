package import Base

/// Decodes GIF by giflib: GIF87a and GIF89a, interlaced or not, with all frames of an animation.
///
/// Frames are composed as they specify. A first frame larger than the screen enlarges it; parts of later frames outside it are
/// dropped, as in browsers. An image whose first frame has a transparent colour starts transparent, others in the screen's
/// background colour. An animation is shown as often as the file says, or once if it doesn't.
///
/// Invalid codes and truncated pictures, in any frame of more than 1 pixel, are errors. A frame without codes, or of 0 pixels, shows
/// nothing. A file that lacks its trailer, or has something other than a block after a frame, ends there with a warning.
package struct GIFCoder: ImageCoder {
  package init() {}

  package func canDecode(_ format: ImageFormat) -> Bool { format == .gif }

  /// Reads all blocks up to the first frame, which affects the size, and the available ones after it.
  package func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    ImageHeader(try GIFHeader(ByteView(prefix), isComplete: isComplete), isComplete: isComplete)
  }

  /// Decodes to RGBA, each frame complete as displayed.
  package func decode(
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
    // The canvas, its previous state, and the frames that are kept.
    let memory = header.size.pixels * 8 + (isStill ? 1 : header.frames) * size.pixels * 4 + GIFStream.tablesInBytes
    let deadline = DecodingDeadline(limits)
    return try limits.spending(memory) { () throws(ImageError) in
      var stream = try GIFStream(bytes)
      var canvas = GIFCanvas(size: header.size, background: parts.beginsTransparent ? 0 : stream.background)
      var frames: [DecodedImage.Frame] = []
      while let frame = try stream.nextFrame(limits: limits) {
        let hasPixels = try stream.checkCodes(deadline: deadline)
        let palette = stream.palette(frame)
        canvas.begin(frame)
        if hasPixels {
          try stream.readRows(deadline: deadline) { y, row in canvas.draw(row, y: y, of: frame, palette) }
        } else {
          stream.skipPicture()
        }
        frames.append(
          DecodedImage.Frame(
            pixels: canvas.pixels.reduced(to: size),
            duration: DecodedImage.Frame.duration(milliseconds: frame.control.centiseconds * 10)
          )
        )
        if options.firstFrameOnly { break }
        canvas.dispose(frame)
      }
      return DecodedImage(
        header: header,
        pixels: frames[0].pixels,
        animation: isStill ? nil : DecodedImage.Animation(frames: frames, loopCount: stream.loopCount),
        warnings: stream.warnings
      )
    }
  }

  /// Checks every frame's codes without producing pixels.
  package func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> ImageProof {
    let header = try header(of: bytes, isComplete: true)
    try limits.check(header.size)
    try limits.check(frames: header.frames)
    let deadline = DecodingDeadline(limits)
    return try limits.spending(GIFStream.tablesInBytes) { () throws(ImageError) in
      var stream = try GIFStream(bytes)
      while try stream.nextFrame(limits: limits) != nil {
        _ = try stream.checkCodes(deadline: deadline)
        stream.skipPicture()
      }
      return ImageProof(header: header, warnings: stream.warnings)
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

/// The screen on which frames are composed.
struct GIFCanvas {
  /// The current contents.
  var pixels: PixelBuffer { PixelBuffer(size: size, bytes: bytes) }

  private let size: ImageSize
  private var bytes: [UInt8]
  private let background: UInt32
  /// The contents before a frame that will be removed again.
  private var saved: [UInt8] = []

  /// A screen of one colour, RGBA in memory order.
  init(size: ImageSize, background: UInt32) {
    self.size = size
    self.background = background
    bytes = Array(repeating: 0, count: size.pixels * 4)
    if background != 0 { fill(0..<size.width, 0..<size.height, with: background) }
  }

  mutating func begin(_ frame: GIFStream.Frame) {
    if frame.control.disposal == .previous { saved = bytes }
  }

  /// Draws row `y` of a frame, counted from its top; pixels outside the screen are dropped, and a colour of 0 leaves the existing
  /// pixel.
  mutating func draw(_ indices: UnsafeBufferPointer<UInt8>, y: Int, of frame: GIFStream.Frame, _ palette: [UInt32]) {
    let row = frame.top + y
    let visible = min(indices.count, size.width - frame.left)
    guard row < size.height, visible > 0 else { return }
    let start = (row * size.width + frame.left) * 4
    bytes.withUnsafeMutableBytes { bytes in
      palette.withUnsafeBufferPointer { palette in
        for x in 0..<visible {
          let color = palette[Int(indices[x])]
          if color != 0 { bytes.storeBytes(of: color, toByteOffset: start + x * 4, as: UInt32.self) }
        }
      }
    }
  }

  /// Disposes of a frame before the next one is drawn.
  mutating func dispose(_ frame: GIFStream.Frame) {
    switch frame.control.disposal {
    case .keep: break
    case .previous:
      bytes = saved
      saved = []
    case .background:
      // If a frame has a transparent colour, browsers and other programs make its area transparent.
      let color = frame.control.transparentIndex == nil ? background : 0
      let right = min(size.width, frame.left + frame.size.width)
      let bottom = min(size.height, frame.top + frame.size.height)
      guard frame.left < right, frame.top < bottom else { return }
      fill(frame.left..<right, frame.top..<bottom, with: color)
    }
  }

  private mutating func fill(_ columns: Range<Int>, _ rows: Range<Int>, with color: UInt32) {
    bytes.withUnsafeMutableBytes { bytes in
      for y in rows {
        for x in columns { bytes.storeBytes(of: color, toByteOffset: (y * size.width + x) * 4, as: UInt32.self) }
      }
    }
  }
}
