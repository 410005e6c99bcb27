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

  /// The largest and the mean difference of a channel from that of another buffer.
  func difference(from other: PixelBuffer) -> (largest: Int, mean: Double) {
    let differences = zip(bytes, other.bytes).map { abs(Int($0) - Int($1)) }
    return (differences.max() ?? 0, Double(differences.reduce(0, +)) / Double(max(1, bytes.count)))
  }

  /// Red, green, blue and alpha of a pixel.
  subscript(_ x: Int, _ y: Int) -> [UInt8] { Array(bytes[(y * size.width + x) * 4..<(y * size.width + x) * 4 + 4]) }
}
