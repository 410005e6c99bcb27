package import Base

/// Blurs images (SDWebImage's `SDImageBlurTransformer`).
///
/// Three box blurs, which approximate a Gaussian blur to within a few hundredths (Gwosdek, Grewenig, Bruhn, Weickert: Theoretical
/// Foundations of Gaussian Convolution by Extended Box Filtering, 2011); the outermost pixels are repeated beyond the edges. Key:
/// `blur(RADIUS)`.
package struct BlurTransformer: ImageTransformer {
  /// The standard deviation of the Gaussian, in pixels; 0 leaves images unchanged.
  package let radius: Double

  /// Creates a transformer; traps unless `radius` is in 0…1,000.
  package init(radius: Double) {
    trap(unless: (0...1000).contains(radius), "a blur radius of \(radius); use 0 to 1000")
    self.radius = radius
  }

  package var key: String { "blur(\(keyText(radius)))" }
  package var transformsAnimated: Bool { true }
  package func outputSize(of size: ImageSize) -> ImageSize? { size }

  package func transform(_ image: DecodedImage) -> DecodedImage {
    if radius == 0 { return image.mapPixels { $0 } }
    let box = Box(radius: radius)
    // Blur rows, transpose, blur the former columns, and transpose back.
    return image.mapPixels { $0.blurred(by: box).upright(orientation: 5).blurred(by: box).upright(orientation: 5) }
  }
}

/// The weighted mean of a pixel and its neighbours, the outermost of which count partially.
private struct Box {
  /// The number of passes that approximate the Gaussian.
  static let passes = 3

  /// The number of pixels at each side that count fully.
  let reach: Int
  /// The weight of the next pixel at each side, below 1.
  let edge: Double

  /// The box that, applied ``passes`` times, has the variance of the Gaussian.
  init(radius: Double) {
    let variance = radius * radius / Double(Self.passes)
    reach = Int(((12 * variance + 1).squareRoot() - 1) / 2)
    let (inner, outer) = (Double(reach), Double(reach + 1))
    edge = (2 * inner + 1) * (inner * outer - 3 * variance) / (6 * (variance - outer * outer))
  }

  /// Writes the mean around each element of `line` to `result`.
  func blur(_ line: UnsafeMutableBufferPointer<SIMD4<Double>>, into result: UnsafeMutableBufferPointer<SIMD4<Double>>) {
    let last = line.count - 1
    let share = 1 / (Double(2 * reach + 1) + 2 * edge)
    var sum = line[0] * Double(reach)
    for index in 0...reach { sum += line[min(index, last)] }
    for index in 0...last {
      let next = line[min(index + reach + 1, last)]
      result[index] = (sum + (line[max(index - reach - 1, 0)] + next) * edge) * share
      sum += next - line[max(index - reach, 0)]
    }
  }
}

extension PixelBuffer {
  fileprivate func blurred(by box: Box) -> PixelBuffer {
    withUnsafeTemporaryAllocation(of: SIMD4<Double>.self, capacity: size.width * 2) { space in
      space.initialize(repeating: .zero)
      var line = UnsafeMutableBufferPointer(rebasing: space[..<size.width])
      var other = UnsafeMutableBufferPointer(rebasing: space[size.width...])
      return bytes.withUnsafeBytes { bytes in
        PixelBuffer(size: size) { y, row in
          for x in 0..<size.width { line[x] = SIMD4(exactly: bytes.premultipliedPixel(at: y * size.width + x)) }
          for _ in 0..<Box.passes {
            box.blur(line, into: other)
            swap(&line, &other)
          }
          for x in 0..<size.width { row.storePixel(line[x].straightColor, at: x) }
        }
      }
    }
  }
}
