public import ImagePrimitives

/// Blurs images (SDWebImage's `SDImageBlurTransformer`).
///
/// Three box blurs, which are a Gaussian one to within a few hundredths (Gwosdek, Grewenig, Bruhn, Weickert: Theoretical Foundations of Gaussian Convolution
/// by Extended Box Filtering, 2011); beyond the edges the outermost pixels go on. Key: `blur(RADIUS)`.
public struct BlurTransformer: ImageTransformer {
  /// The standard deviation of the Gaussian curve, in pixels; 0 leaves images as they are.
  public let radius: Double

  /// A transformer that blurs so much; a radius outside 0…1,000 is a programmer's error and traps.
  public init(radius: Double) {
    trap(unless: (0...1000).contains(radius), "a blur of radius \(radius); it goes from 0 to 1000")
    self.radius = radius
  }

  /// Such as `blur(2.5)`.
  public var key: String { "blur(\(keyText(radius)))" }
  public var transformsAnimated: Bool { true }
  public func outputSize(of size: ImageSize) -> ImageSize? { size }

  /// The image blurred.
  public func transform(_ image: DecodedImage) -> DecodedImage {
    if radius == 0 { return image.mapPixels { $0 } }
    let box = Box(radius: radius)
    // Along rows, then, with rows and columns exchanged, along columns.
    return image.mapPixels { $0.blurred(by: box).upright(orientation: 5).blurred(by: box).upright(orientation: 5) }
  }
}

/// The mean of a pixel and those around it, of which the outermost count in part.
private struct Box {
  /// How many such blurs make the curve.
  static let passes = 3

  /// Pixels at each side that count whole.
  let reach: Int
  /// What the next one at each side counts, below 1.
  let edge: Double

  /// The box that, applied ``passes`` times, has the variance of the Gaussian curve.
  init(radius: Double) {
    let variance = radius * radius / Double(Self.passes)
    reach = Int(((12 * variance + 1).squareRoot() - 1) / 2)
    let (inner, outer) = (Double(reach), Double(reach + 1))
    edge = (2 * inner + 1) * (inner * outer - 3 * variance) / (6 * (variance - outer * outer))
  }

  /// Writes the mean around each of `line` to `result`.
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
  /// Each row blurred.
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
