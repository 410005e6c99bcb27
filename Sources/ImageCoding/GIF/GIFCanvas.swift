import ImagePrimitives

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
