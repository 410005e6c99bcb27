import Base

/// The animation of a PNG, as described by its control chunks (PNG specification, third edition, sections 4.9 and 11.3.6).
struct PNGAnimation {
  struct Frame {
    var area: PixelRectangle
    var duration: Duration
    var disposal: AnimationCanvas.Disposal
    /// Whether it is blended with the canvas rather than replacing it.
    var isBlended: Bool
    /// The range of the file that contains its IDAT or fdAT chunks.
    var data: Range<Int>
  }

  var frames: [Frame] = []
  /// How often it is shown; 0: forever.
  var loopCount = 0
  /// Whether the still picture is the first frame; otherwise it isn't part of the animation.
  var beginsWithStill = false

  /// Reads the control chunks of a complete file with an acTL chunk, or says how they violate the specification, so that the still picture
  /// is shown instead; throws if the file ends before the last frame.
  static func read(
    _ file: UnsafeRawBufferPointer,
    canvas: ImageSize
  ) throws(ImageError) -> (animation: PNGAnimation?, problem: String) {
    var parser = PNGAnimationParser(ByteView(file), canvas: canvas)
    for chunk in PNGChunks(file) {
      let isOfAnimation = chunk.isNamed("acTL") || chunk.isNamed("fcTL") || chunk.isNamed("fdAT")
      if isOfAnimation, chunk.isComplete, !chunk.isValid {
        return (nil, "its \(chunk.name) chunk at byte \(chunk.offset) has a wrong checksum (CRC)")
      }
      if let problem = parser.read(chunk) { return (nil, problem) }
    }
    return try parser.finish()
  }
}

/// Checks the order of chunks as they are read.
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

  /// Reads the next chunk; returns a description of any violation.
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

  /// The animation, after all chunks.
  func finish() throws(ImageError) -> (animation: PNGAnimation?, problem: String) {
    let declared = declaredFrames ?? 0
    let whole = animation.frames.last.map { !$0.data.isEmpty } ?? false
    if whole, animation.frames.count == declared { return (animation, "") }
    let complete = animation.frames.count - (whole ? 0 : 1)
    guard hasEnd || complete >= declared else {
      throw .undecodable("the PNG file is truncated: it has \(max(0, complete)) of \(declared) frames and no IEND chunk")
    }
    return (nil, "it has \(max(0, complete)) frames but declares \(declared)")
  }

  private mutating func readAnimationControl(_ chunk: PNGChunk) -> String? {
    guard declaredFrames == nil, !hasStill else { return "an acTL chunk that isn't the first, or follows the picture" }
    guard chunk.data.count == 8, let frames = bytes.bigEndian32(at: chunk.data.lowerBound),
      let plays = bytes.bigEndian32(at: chunk.data.lowerBound + 4), (1...PNGChunk.largestNumber).contains(frames)
    else { return "an acTL chunk without a valid number of frames" }
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
    else { return "a frame outside the canvas at byte \(chunk.offset)" }
    guard let disposal = bytes.byte(at: start + 24), disposal < 3, let blending = bytes.byte(at: start + 25), blending < 2 else {
      return "a frame with unknown disposal or blending at byte \(chunk.offset)"
    }
    if !hasStill { animation.beginsWithStill = true }
    let frame = PNGAnimation.Frame(
      area: PixelRectangle(x: x, y: y, width: width, height: height),
      duration: duration(at: start + 20),
      disposal: [.keep, .fill(0), .restore][Int(disposal)],
      isBlended: blending == 1,
      data: chunk.end..<chunk.end
    )
    animation.frames.append(frame)
    return nil
  }

  private mutating func readFrameData(_ chunk: PNGChunk) -> String? {
    guard chunk.data.count >= 4, takeSequenceNumber(at: chunk.data.lowerBound) else { return Self.sequenceError(chunk) }
    let frames = animation.frames.count
    guard hasStill, frames > (animation.beginsWithStill ? 1 : 0) else {
      return "an fdAT chunk without a frame at byte \(chunk.offset)"
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
    "an \(chunk.name) chunk truncated or out of sequence at byte \(chunk.offset)"
  }

  /// A fraction of a second; a denominator of 0 means 100.
  private func duration(at offset: Int) -> Duration {
    let numerator = bytes.bigEndian16(at: offset) ?? 0
    let denominator = bytes.bigEndian16(at: offset + 2) ?? 0
    let milliseconds = Double(numerator) * 1000 / Double(denominator == 0 ? 100 : denominator)
    return DecodedImage.Frame.duration(milliseconds: Int(milliseconds.rounded()))
  }
}

/// A frame of an animated PNG as a separate PNG file, since libpng doesn't support animations: IHDR with the frame's size, the
/// file's PLTE and tRNS, and the content of its fdAT chunks as IDAT.
struct PNGFrameFile {
  private(set) var bytes: [UInt8] = []

  /// Creates the file of `frame`, which isn't the still picture.
  init(_ frame: PNGAnimation.Frame, of file: UnsafeRawBufferPointer) {
    bytes.reserveCapacity(frame.data.count + 2048)
    bytes += file[..<8]
    var header = Array(file[16..<29])
    header.replaceSubrange(0..<8, with: Self.bigEndian(frame.area.width) + Self.bigEndian(frame.area.height))
    header.withRawBytes { append("IHDR", $0) }
    for chunk in PNGChunks(file) {
      if chunk.isNamed("IDAT") { break }
      if chunk.isNamed("PLTE") || chunk.isNamed("tRNS") { bytes += chunk.whole }
    }
    let data = UnsafeRawBufferPointer(rebasing: file[..<frame.data.upperBound])
    for chunk in PNGChunks(data, from: frame.data.lowerBound) where chunk.isNamed("fdAT") {
      append("IDAT", UnsafeRawBufferPointer(rebasing: chunk.content.dropFirst(4)))
    }
    append("IEND", UnsafeRawBufferPointer(start: nil, count: 0))
  }

  private mutating func append(_ name: StaticString, _ content: UnsafeRawBufferPointer) {
    bytes += Self.bigEndian(content.count)
    let start = bytes.count
    bytes += UnsafeBufferPointer(start: name.utf8Start, count: 4)
    bytes += content
    let sum = bytes.withRawBytes { PNGChunk.checksum(of: UnsafeRawBufferPointer(rebasing: $0[start...])) }
    bytes += Self.bigEndian(Int(sum))
  }

  private static func bigEndian(_ number: Int) -> [UInt8] {
    withUnsafeBytes(of: UInt32(number).bigEndian, Array.init)
  }
}

extension UnsafeMutableRawBufferPointer {
  /// Blends RGBA pixels over these, neither premultiplied (section 13.16, "Alpha channel processing").
  func blend(_ source: UnsafeRawBufferPointer) {
    for offset in stride(from: 0, to: count, by: 4) {
      let alpha = Int(source[offset + 3])
      let below = Int(self[offset + 3]) * (255 - alpha)
      if alpha == 0 { continue }
      let above = alpha * 255
      let sum = above + below
      for channel in offset..<offset + 3 {
        self[channel] = UInt8((Int(source[channel]) * above + Int(self[channel]) * below + sum / 2) / sum)
      }
      self[offset + 3] = UInt8((sum + 127) / 255)
    }
  }
}
