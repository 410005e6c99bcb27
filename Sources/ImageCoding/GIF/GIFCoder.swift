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
  public init() {}

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

/// The screen on which frames are drawn one over another.
struct GIFCanvas {
  /// What it shows now.
  var pixels: PixelBuffer { PixelBuffer(size: size, bytes: bytes) }

  private let size: ImageSize
  private var bytes: [UInt8]
  private let background: UInt32
  /// What it showed before a frame that is to be taken away again.
  private var saved: [UInt8] = []

  /// A screen of one colour, RGBA in the order of memory.
  init(size: ImageSize, background: UInt32) {
    self.size = size
    self.background = background
    bytes = Array(repeating: 0, count: size.pixels * 4)
    if background != 0 { fill(0..<size.width, 0..<size.height, with: background) }
  }

  /// Begins to draw a frame.
  mutating func begin(_ frame: GIFStream.Frame) {
    if frame.control.disposal == .previous { saved = bytes }
  }

  /// Draws a row of a frame's pixels, `y` from its top; what lies outside of the screen is dropped, and a colour of 0 leaves what
  /// is there.
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

  /// Makes room for the next frame.
  mutating func dispose(_ frame: GIFStream.Frame) {
    switch frame.control.disposal {
    case .keep: break
    case .previous:
      bytes = saved
      saved = []
    case .background:
      // Where a frame has a transparent colour, browsers and others make its area transparent.
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
