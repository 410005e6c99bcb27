import ImagePrimitives

/// Blurs images (SDWebImage's `SDImageBlurTransformer`).
///
/// Three box blurs, which come within 3 % of a Gaussian one, as the filter of SVG does it (Filter Effects Module Level 1, W3C, `feGaussianBlur`); beyond the
/// edges the outermost pixels go on. Key: `blur(RADIUS)`.
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
  /// True: each frame is blurred.
  public var transformsAnimated: Bool { true }

  /// The image blurred.
  public func transform(_ image: DecodedImage) -> DecodedImage {
    let boxes = boxes
    if boxes.isEmpty { return image.mapPixels { $0 } }
    // Along rows, then, with rows and columns exchanged, along columns.
    return image.mapPixels { $0.blurred(by: boxes).upright(orientation: 5).blurred(by: boxes).upright(orientation: 5) }
  }

  /// The three boxes.
  private var boxes: [Box] {
    let width = Int(radius * 3 * (2 * Double.pi).squareRoot() / 4 + 0.5)
    let half = width / 2
    if width < 2 { return [] }
    if !width.isMultiple(of: 2) { return Array(repeating: Box(before: half, after: half), count: 3) }
    return [Box(before: half, after: half - 1), Box(before: half - 1, after: half), Box(before: half, after: half)]
  }
}

/// The pixels that make one: those before it, itself, and those after it.
private struct Box {
  let before: Int
  let after: Int

  /// Writes the mean around each of `line` to `result`.
  func blur(_ line: UnsafeMutableBufferPointer<SIMD4<Double>>, into result: UnsafeMutableBufferPointer<SIMD4<Double>>) {
    let last = line.count - 1
    let share = 1 / Double(before + 1 + after)
    var sum = line[0] * Double(before)
    for index in 0...after { sum += line[min(index, last)] }
    for index in 0...last {
      result[index] = sum * share
      sum += line[min(index + after + 1, last)] - line[max(index - before, 0)]
    }
  }
}

extension PixelBuffer {
  /// Each row blurred by one box after the other.
  fileprivate func blurred(by boxes: [Box]) -> PixelBuffer {
    withUnsafeTemporaryAllocation(of: SIMD4<Double>.self, capacity: size.width * 2) { space in
      space.initialize(repeating: .zero)
      var line = UnsafeMutableBufferPointer(rebasing: space[..<size.width])
      var other = UnsafeMutableBufferPointer(rebasing: space[size.width...])
      return bytes.withUnsafeBytes { bytes in
        PixelBuffer(size: size) { y, row in
          for x in 0..<size.width { line[x] = SIMD4(exactly: bytes.premultipliedPixel(at: y * size.width + x)) }
          for box in boxes {
            box.blur(line, into: other)
            swap(&line, &other)
          }
          for x in 0..<size.width { row.storePixel(line[x].straightColor, at: x) }
        }
      }
    }
  }
}
