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

/// Follows the codes of a picture (variable-length LZW: GIF89a, appendix F) and counts the pixels they stand for, making none.
///
/// A code stands for a pixel, or for an entry of a table that grows by one with every code: what the code before stood for, and
/// one pixel more. So the lengths of entries are all that has to be kept.
struct GIFCodeCheck {
  /// Pixels until now.
  private(set) var pixels = 0
  /// How many pixels each code of the table stands for.
  private var lengths: [Int32]
  private let clearCode: Int
  /// The code of the next entry; 4,096 in a full table, which grows no more.
  private var next: Int
  /// How many pixels the code before stood for; 0 where there is none since the table was cleared.
  private var lastLength: Int32 = 0

  /// A check of codes that begin with `codeSize` bits for a pixel, 0…8.
  init(codeSize: Int) {
    clearCode = 1 << codeSize
    next = clearCode + 2
    lengths = Array(repeating: 1, count: Self.tableSize)
  }

  /// Takes the next code, other than the one that ends the picture; false where it stands for nothing.
  mutating func append(_ code: Int) -> Bool {
    if code == clearCode {
      next = clearCode + 2
      lastLength = 0
      return true
    }
    if lastLength == 0 {
      guard code < clearCode else { return false }
      lastLength = 1
    } else {
      // The entry that this very code brings may be the one that it stands for.
      guard code <= next, code < Self.tableSize else { return false }
      if next < Self.tableSize {
        lengths[next] = lastLength + 1
        next += 1
      }
      lastLength = lengths[code]
    }
    pixels += Int(lastLength)
    return true
  }

  /// Codes have at most 12 bits.
  private static let tableSize = 1 << 12
}
