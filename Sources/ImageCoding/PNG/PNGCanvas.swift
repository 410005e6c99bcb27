import ImagePrimitives

/// What an animated PNG shows: frames are drawn one after another as their disposal and blending ask (PNG specification, third
/// edition, section 11.3.6.2).
struct PNGCanvas {
  /// What is shown now; transparent at first.
  private(set) var pixels: PixelBuffer
  /// What was there before the last frame, where it is to come back.
  private var saved: PixelBuffer?
  private var last: PNGAnimation.Frame?

  init(size: ImageSize) {
    pixels = PixelBuffer(size: size, bytes: [UInt8](repeating: 0, count: size.pixels * 4))
  }

  /// Disposes of the last frame, and draws the next one.
  mutating func draw(_ frame: PNGAnimation.Frame, _ picture: PixelBuffer) {
    var frame = frame
    if let last { dispose(of: last) }
    // There is nothing to come back to before the first frame.
    if last == nil, frame.disposal == .previous { frame.disposal = .background }
    saved = frame.disposal == .previous ? pixels : nil
    last = frame
    let rowLength = frame.size.width * 4
    let width = pixels.size.width
    picture.bytes.withUnsafeBytes { source in
      pixels.bytes.withUnsafeMutableBytes { target in
        for row in 0..<frame.size.height {
          let source = UnsafeRawBufferPointer(rebasing: source[row * rowLength..<(row + 1) * rowLength])
          let start = ((frame.y + row) * width + frame.x) * 4
          let target = UnsafeMutableRawBufferPointer(rebasing: target[start..<start + rowLength])
          if frame.blending == .source { target.copyMemory(from: source) } else { target.blend(source) }
        }
      }
    }
  }

  private mutating func dispose(of frame: PNGAnimation.Frame) {
    switch frame.disposal {
    case .none: break
    case .previous: if let saved { pixels = saved }
    case .background:
      let width = pixels.size.width
      pixels.bytes.withUnsafeMutableBytes { target in
        for row in frame.y..<frame.y + frame.size.height {
          let start = (row * width + frame.x) * 4
          UnsafeMutableRawBufferPointer(rebasing: target[start..<start + frame.size.width * 4]).initializeMemory(
            as: UInt8.self,
            repeating: 0
          )
        }
      }
    }
  }
}

extension UnsafeMutableRawBufferPointer {
  /// Lays RGBA pixels over those here, neither premultiplied (section 13.16, "Alpha channel processing").
  fileprivate func blend(_ source: UnsafeRawBufferPointer) {
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
