import Base
import TestSupport

extension PixelBuffer {
  /// A buffer of identical pixels.
  init(flat pixel: [UInt8], _ size: ImageSize) {
    self.init(size: size, bytes: Array(repeatElement(pixel, count: size.pixels).joined()))
  }

  /// Noise, with a quarter of the pixels transparent unless `isOpaque`.
  init(random size: ImageSize, isOpaque: Bool, using random: inout SeededRandom) {
    var bytes: [UInt8] = []
    for _ in 0..<size.pixels {
      for _ in 0..<3 { bytes.append(.random(in: 0...255, using: &random)) }
      bytes.append(
        isOpaque ? 255 : Bool.random(using: &random) && Bool.random(using: &random) ? 0 : .random(in: 0...255, using: &random)
      )
    }
    self.init(size: size, bytes: bytes)
  }

  /// Red, green, blue and alpha of a pixel.
  subscript(_ x: Int, _ y: Int) -> [UInt8] { Array(bytes[(y * size.width + x) * 4..<(y * size.width + x) * 4 + 4]) }
}
