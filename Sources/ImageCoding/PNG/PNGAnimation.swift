import ImagePrimitives

/// The animation of a PNG, as its control chunks tell it (PNG specification, third edition, sections 4.9 and 11.3.6).
struct PNGAnimation {
  /// What becomes of a frame's place before the next one is drawn.
  enum Disposal: UInt8 { case none, background, previous }
  /// How a frame is laid on what is there.
  enum Blending: UInt8 { case source, over }

  struct Frame {
    var size: ImageSize
    var x: Int
    var y: Int
    var duration: Duration
    var disposal: Disposal
    var blending: Blending
    /// The file's bytes among which its IDAT or fdAT chunks are.
    var data: Range<Int>
  }

  /// At least one.
  var frames: [Frame] = []
  /// 0: for ever.
  var loopCount = 0
  /// Whether the still picture is its first frame; else it is none of them.
  var beginsWithStill = false

  enum Reading {
    case animation(PNGAnimation)
    /// Against the specification: the still picture is what there is to show.
    case broken(String)
  }
}

extension PNGAnimation {
  /// Reads the control chunks of a whole file that has an acTL chunk; throws where a control chunk is damaged, or the file ends
  /// before its last frame.
  static func read(_ file: UnsafeRawBufferPointer, canvas: ImageSize) throws(ImageError) -> Reading {
    var parser = PNGAnimationParser(ByteView(file), canvas: canvas)
    for chunk in PNGChunks(file) {
      let isControl = chunk.isNamed("acTL") || chunk.isNamed("fcTL")
      if isControl, !chunk.isSound {
        throw .undecodable("the PNG file's \(chunk.name) chunk at byte \(chunk.offset) has a wrong checksum (CRC)")
      }
      if let problem = parser.read(chunk) { return .broken(problem) }
    }
    return try parser.finish()
  }
}

/// Checks the order of the chunks while they come.
struct PNGAnimationParser {
  private let bytes: ByteView
  private let canvas: ImageSize
  private var animation = PNGAnimation()
  private var declaredFrames: Int?
  private var nextSequenceNumber = 0
  private var hasStill = false
  private var hasEnd = false

  init(_ bytes: ByteView, canvas: ImageSize) {
    self.bytes = bytes
    self.canvas = canvas
  }

  /// Takes the next chunk; returns what is wrong.
  mutating func read(_ chunk: PNGChunk) -> String? {
    if chunk.isNamed("acTL") { return readAnimationControl(chunk) }
    if chunk.isNamed("fcTL") { return readFrameControl(chunk) }
    if chunk.isNamed("fdAT") { return readFrameData(chunk) }
    if chunk.isNamed("IDAT") {
      hasStill = true
      if animation.beginsWithStill { extendFrame(by: chunk) }
    }
    if chunk.isNamed("IEND") { hasEnd = true }
    return nil
  }

  /// The animation, once all chunks have been taken.
  func finish() throws(ImageError) -> PNGAnimation.Reading {
    let declared = declaredFrames ?? 0
    let whole = animation.frames.last.map { !$0.data.isEmpty } ?? false
    if whole, animation.frames.count == declared { return .animation(animation) }
    let complete = animation.frames.count - (whole ? 0 : 1)
    guard hasEnd || complete >= declared else {
      throw .undecodable("the PNG file is cut: it has \(max(0, complete)) of \(declared) frames, and no IEND chunk")
    }
    return .broken("it has \(max(0, complete)) frames, and declares \(declared)")
  }

  private mutating func readAnimationControl(_ chunk: PNGChunk) -> String? {
    guard declaredFrames == nil, !hasStill else { return "an acTL chunk that is not the first, or behind the picture" }
    guard chunk.data.count == 8, let frames = bytes.bigEndian32(at: chunk.data.lowerBound),
      let plays = bytes.bigEndian32(at: chunk.data.lowerBound + 4), frames > 0
    else { return "an acTL chunk without frames" }
    declaredFrames = frames
    animation.loopCount = plays
    return nil
  }

  private mutating func readFrameControl(_ chunk: PNGChunk) -> String? {
    let start = chunk.data.lowerBound
    guard chunk.data.count == 26, takeSequenceNumber(at: start) else { return Self.sequenceError(chunk) }
    if let last = animation.frames.last, last.data.isEmpty { return "a frame without data before byte \(chunk.offset)" }
    guard let width = bytes.bigEndian32(at: start + 4), let height = bytes.bigEndian32(at: start + 8),
      let x = bytes.bigEndian32(at: start + 12), let y = bytes.bigEndian32(at: start + 16),
      width > 0, height > 0, x + width <= canvas.width, y + height <= canvas.height,
      hasStill || (width == canvas.width && height == canvas.height)
    else { return "a frame that lies outside the canvas, at byte \(chunk.offset)" }
    guard let disposal = bytes.byte(at: start + 24).flatMap(PNGAnimation.Disposal.init),
      let blending = bytes.byte(at: start + 25).flatMap(PNGAnimation.Blending.init)
    else { return "a frame of unknown disposal or blending at byte \(chunk.offset)" }
    if !hasStill { animation.beginsWithStill = true }
    let frame = PNGAnimation.Frame(
      size: ImageSize(width: width, height: height),
      x: x,
      y: y,
      duration: duration(at: start + 20),
      disposal: disposal,
      blending: blending,
      data: chunk.end..<chunk.end
    )
    animation.frames.append(frame)
    return nil
  }

  private mutating func readFrameData(_ chunk: PNGChunk) -> String? {
    guard chunk.data.count >= 4, takeSequenceNumber(at: chunk.data.lowerBound) else { return Self.sequenceError(chunk) }
    let frames = animation.frames.count
    guard hasStill, frames > (animation.beginsWithStill ? 1 : 0) else {
      return "an fdAT chunk of no frame at byte \(chunk.offset)"
    }
    extendFrame(by: chunk)
    return nil
  }

  private mutating func extendFrame(by chunk: PNGChunk) {
    guard let last = animation.frames.indices.last else { return }
    animation.frames[last].data = animation.frames[last].data.lowerBound..<chunk.end
  }

  private mutating func takeSequenceNumber(at offset: Int) -> Bool {
    defer { nextSequenceNumber += 1 }
    return bytes.bigEndian32(at: offset) == nextSequenceNumber
  }

  private static func sequenceError(_ chunk: PNGChunk) -> String {
    "an \(chunk.name) chunk cut short or out of sequence at byte \(chunk.offset)"
  }

  /// A fraction of a second, whose denominator of 0 means 100.
  private func duration(at offset: Int) -> Duration {
    let numerator = bytes.bigEndian16(at: offset) ?? 0
    let denominator = bytes.bigEndian16(at: offset + 2) ?? 0
    let milliseconds = Double(numerator) * 1000 / Double(denominator == 0 ? 100 : denominator)
    return Animation.Frame.duration(milliseconds: Int(milliseconds.rounded()))
  }
}
