import Glibc
public import ImagePrimitives

/// Turns images clockwise about their middle (SDWebImage's `SDImageRotationTransformer`, which counts radians counterclockwise).
///
/// Quarter turns move pixels as they are; other angles interpolate, and leave the corners transparent. Key: `rotate(DEGREES)`, or `rotate(DEGREES,same-size)`.
public struct RotationTransformer: ImageTransformer {
  /// Clockwise, 0..<360.
  public let degrees: Double
  /// Whether the result is as large as the turned image needs; otherwise it is as large as the image was, and what is outside is cut off.
  public let fitsSize: Bool

  /// A transformer that turns by `degrees` clockwise, any number that is finite; others are a programmer's error and trap.
  public init(degrees: Double, fitsSize: Bool = true) {
    trap(unless: degrees.isFinite, "a rotation by \(degrees) degrees")
    let rest = degrees.truncatingRemainder(dividingBy: 360)
    let positive = rest < 0 ? rest + 360 : rest
    // A tiny negative angle rounds up to the whole turn; and -0 is 0.
    self.degrees = positive == 360 || positive == 0 ? 0 : positive
    self.fitsSize = fitsSize
  }

  /// Such as `rotate(90)` and `rotate(12.5,same-size)`.
  public var key: String { "rotate(\(keyText(degrees))\(fitsSize ? "" : ",same-size"))" }
  public var transformsAnimated: Bool { true }

  /// The image turned.
  public func transform(_ image: DecodedImage) -> DecodedImage {
    let size = image.pixels.size
    switch degrees {
    case 0: return image.mapPixels { $0 }
    case 180: return image.mapPixels { $0.upright(orientation: 3) }
    case 90 where fitsSize || size.width == size.height: return image.mapPixels { $0.upright(orientation: 6) }
    case 270 where fitsSize || size.width == size.height: return image.mapPixels { $0.upright(orientation: 8) }
    default: return image.mapPixels(addsAlpha: true) { turned($0) }
    }
  }

  /// Cosine and sine; exact ones of quarter turns.
  private var direction: (cosine: Double, sine: Double) {
    switch degrees {
    case 90: (0, 1)
    case 270: (0, -1)
    default: (cos(degrees * .pi / 180), sin(degrees * .pi / 180))
    }
  }

  /// The size of the image, or of what it needs turned.
  public func outputSize(of size: ImageSize) -> ImageSize? { targetSize(of: size) }

  private func targetSize(of size: ImageSize) -> ImageSize {
    guard fitsSize, degrees != 0, degrees != 180 else { return size }
    let (cosine, sine) = direction
    let (width, height) = (Double(size.width), Double(size.height))
    // A side that is a whole number but for the rounding of cosines gets no further pixel.
    let slack = 1e-6
    return ImageSize(
      width: max(1, Int((width * abs(cosine) + height * abs(sine) - slack).rounded(.up))),
      height: max(1, Int((width * abs(sine) + height * abs(cosine) - slack).rounded(.up)))
    )
  }

  private func turned(_ image: PixelBuffer) -> PixelBuffer {
    let (cosine, sine) = direction
    let (width, height) = (Double(image.size.width), Double(image.size.height))
    let target = targetSize(of: image.size)
    return image.bytes.withUnsafeBytes { bytes in
      let sampling = BilinearSampling(pixels: bytes, size: image.size)
      return PixelBuffer(size: target) { y, row in
        let down = Double(y) + 0.5 - Double(target.height) / 2
        for x in 0..<target.width {
          // Where the pixel was before it was turned: the turn taken back.
          let right = Double(x) + 0.5 - Double(target.width) / 2
          let origin = (x: right * cosine + down * sine + width / 2, y: down * cosine - right * sine + height / 2)
          row.storePixel(sampling.colorOrClear(.init(origin.x), .init(origin.y)), at: x)
        }
      }
    }
  }
}

/// Mirrors images (SDWebImage's `SDImageFlippingTransformer`).
///
/// Key: `flip(horizontal)`, `flip(vertical)`, `flip(horizontal,vertical)`, or `flip()`.
public struct FlippingTransformer: ImageTransformer {
  /// Whether left and right are exchanged.
  public let horizontal: Bool
  /// Whether top and bottom are exchanged.
  public let vertical: Bool

  /// A transformer that mirrors so.
  public init(horizontal: Bool = false, vertical: Bool = false) {
    self.horizontal = horizontal
    self.vertical = vertical
  }

  /// Such as `flip(horizontal)`.
  public var key: String {
    "flip(" + [horizontal ? "horizontal" : nil, vertical ? "vertical" : nil].compactMap(\.self).joined(separator: ",") + ")"
  }
  public var transformsAnimated: Bool { true }
  public func outputSize(of size: ImageSize) -> ImageSize? { size }

  /// The image mirrored.
  public func transform(_ image: DecodedImage) -> DecodedImage {
    let orientation =
      switch (horizontal, vertical) {
      case (false, false): 1
      case (true, false): 2
      case (true, true): 3
      case (false, true): 4
      }
    return image.mapPixels { $0.upright(orientation: orientation) }
  }
}
