import Base

/// The canvas on which an animation's frames are composed (RFC 9649, section 2.7.1.1). It starts transparent: like browsers, it
/// ignores the file's background colour.
struct WebPCanvas {
  /// The current contents.
  var pixels: PixelBuffer { PixelBuffer(size: size, bytes: bytes) }

  private let size: ImageSize
  private var bytes: [UInt8]
  private var isBlank = true
  /// The frame whose area must be cleared before the next one.
  private var disposed: WebPContainer.Frame?

  init(size: ImageSize) {
    self.size = size
    bytes = Array(repeating: 0, count: size.pixels * 4)
  }

  /// Decodes a frame and draws it.
  mutating func draw(_ frame: WebPContainer.Frame) throws(ImageError) {
    try checkPosition(of: frame)
    if let disposed { clear(disposed) }
    disposed = frame.isDisposed ? frame : nil
    if frame.isBlended, !isBlank {
      let size = frame.bitstream.size
      let picture = try PixelBuffer(size: size) { pixels throws(ImageError) in
        try frame.bitstream.decode(into: pixels, stride: size.width * 4)
      }
      blend(picture, x: frame.x, y: frame.y)
    } else {
      try replace(with: frame)
    }
    isBlank = false
  }

  /// Checks the position again, although libwebp's demuxer does.
  private func checkPosition(of frame: WebPContainer.Frame) throws(ImageError) {
    let picture = frame.bitstream.size
    guard frame.x >= 0, frame.y >= 0, frame.x + picture.width <= size.width, frame.y + picture.height <= size.height else {
      throw .undecodable("the WebP frame is outside its canvas")
    }
  }

  private mutating func replace(with frame: WebPContainer.Frame) throws(ImageError) {
    let stride = size.width * 4
    let start = frame.y * stride + frame.x * 4
    var failure: ImageError?
    bytes.withUnsafeMutableBufferPointer { bytes in
      // The standard library's closure doesn't support typed errors, so pass the error through a variable.
      do throws(ImageError) {
        try frame.bitstream.decode(into: UnsafeMutableBufferPointer(rebasing: bytes[start...]), stride: stride)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
  }

  private mutating func clear(_ frame: WebPContainer.Frame) {
    let picture = frame.bitstream.size
    bytes.withUnsafeMutableBufferPointer { bytes in
      for row in frame.y..<frame.y + picture.height {
        let start = (row * size.width + frame.x) * 4
        bytes[start..<start + picture.width * 4].update(repeating: 0)
      }
    }
  }

  private mutating func blend(_ picture: PixelBuffer, x: Int, y: Int) {
    let width = picture.size.width
    bytes.withUnsafeMutableBytes { canvas in
      picture.bytes.withUnsafeBytes { picture in
        for row in 0..<picture.count / (width * 4) {
          let start = ((y + row) * size.width + x) * 4
          for column in 0..<width {
            let source = picture.loadUnaligned(fromByteOffset: (row * width + column) * 4, as: SIMD4<UInt8>.self)
            guard source.w > 0 else { continue }
            let offset = start + column * 4
            let below = canvas.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt8>.self)
            canvas.storeBytes(of: Self.blend(source, over: below), toByteOffset: offset, as: SIMD4<UInt8>.self)
          }
        }
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
