import Base

/// The canvas on which an animation's frames are composed, one after another.
struct AnimationCanvas {
  /// The treatment of a frame's area before the next one is drawn.
  enum Disposal: Equatable {
    case keep
    /// It gets one colour, RGBA in memory order.
    case fill(UInt32)
    /// Its previous contents are restored.
    case restore
  }

  /// The current contents.
  private(set) var pixels: PixelBuffer
  /// The contents before the last frame, if they will be restored.
  private var saved: PixelBuffer?
  private var last: (area: PixelRectangle, disposal: Disposal)?

  /// A canvas of one colour, by default transparent.
  init(size: ImageSize, color: UInt32 = 0) {
    pixels = PixelBuffer(size: size, bytes: [UInt8](repeating: 0, count: size.pixels * 4))
    if color != 0 { fill(PixelRectangle(size), with: color) }
  }

  /// Disposes of the last frame, and begins one in `area`, parts of which may be outside.
  mutating func begin(_ area: PixelRectangle, disposal: Disposal) {
    if let last {
      if case .fill(let color) = last.disposal { fill(last.area, with: color) }
      if let saved { pixels = saved }
    }
    last = (area, disposal)
    saved = disposal == .restore ? pixels : nil
  }

  /// Draws the picture of the begun frame, which is inside; `combine` changes a row of the canvas.
  mutating func draw(
    _ picture: PixelBuffer,
    combine: (_ row: UnsafeMutableRawBufferPointer, _ source: UnsafeRawBufferPointer) -> Void
  ) {
    guard let area = last?.area, area.size == picture.size else { return }
    let length = area.width * 4
    picture.bytes.withUnsafeBytes { source in
      for y in 0..<area.height {
        withRow(x: area.x, y: area.y + y) { row in
          combine(
            UnsafeMutableRawBufferPointer(rebasing: row[..<length]),
            UnsafeRawBufferPointer(rebasing: source[y * length..<(y + 1) * length])
          )
        }
      }
    }
  }

  /// Calls `body` with the pixels at (x, y) and to the right of it, unless they are outside.
  @inline(__always)
  mutating func withRow(x: Int, y: Int, _ body: (UnsafeMutableRawBufferPointer) -> Void) {
    let size = pixels.size
    guard x < size.width, y < size.height else { return }
    pixels.bytes.withUnsafeMutableBytes { bytes in
      body(UnsafeMutableRawBufferPointer(rebasing: bytes[(y * size.width + x) * 4..<(y + 1) * size.width * 4]))
    }
  }

  private mutating func fill(_ area: PixelRectangle, with color: UInt32) {
    guard let area = area.clipped(to: pixels.size) else { return }
    for y in area.y..<area.y + area.height {
      withRow(x: area.x, y: y) { row in
        for x in 0..<area.width { row.storeBytes(of: color, toByteOffset: x * 4, as: UInt32.self) }
      }
    }
  }
}
