import Platform
package import Base

/// Rotates images clockwise about their centre (SDWebImage's `SDImageRotationTransformer`, which uses counterclockwise radians).
///
/// Quarter turns only move pixels; other angles interpolate and leave the corners transparent. Key: `rotate(DEGREES)`, or
/// `rotate(DEGREES,same-size)`.
package struct RotationTransformer: ImageTransformer {
  /// Clockwise, 0..<360.
  package let degrees: Double
  /// Whether the result has the size of the rotated image; otherwise it keeps the image's size, and parts outside are cropped.
  package let fitsSize: Bool

  /// Creates a transformer that rotates by `degrees` clockwise; traps unless it is finite.
  package init(degrees: Double, fitsSize: Bool = true) {
    trap(unless: degrees.isFinite, "a rotation by \(degrees) degrees")
    let rest = degrees.truncatingRemainder(dividingBy: 360)
    let positive = rest < 0 ? rest + 360 : rest
    // A tiny negative angle rounds up to a full turn; and -0 is 0.
    self.degrees = positive == 360 || positive == 0 ? 0 : positive
    self.fitsSize = fitsSize
  }

  package var key: String { "rotate(\(keyText(degrees))\(fitsSize ? "" : ",same-size"))" }
  package var transformsAnimated: Bool { true }

  package func transform(_ image: DecodedImage) -> DecodedImage {
    let size = image.pixels.size
    switch degrees {
    case 0: return image.mapPixels { $0 }
    case 180: return image.mapPixels { $0.upright(orientation: 3) }
    case 90 where fitsSize || size.width == size.height: return image.mapPixels { $0.upright(orientation: 6) }
    case 270 where fitsSize || size.width == size.height: return image.mapPixels { $0.upright(orientation: 8) }
    default: return image.mapPixels(addsAlpha: true) { turned($0) }
    }
  }

  /// Cosine and sine, exact for quarter turns.
  private var direction: (cosine: Double, sine: Double) {
    switch degrees {
    case 90: (0, 1)
    case 270: (0, -1)
    default: (cos(degrees * .pi / 180), sin(degrees * .pi / 180))
    }
  }

  /// The size of the image, or of the rotated image.
  package func outputSize(of size: ImageSize) -> ImageSize? { targetSize(of: size) }

  private func targetSize(of size: ImageSize) -> ImageSize {
    guard fitsSize, degrees != 0, degrees != 180 else { return size }
    let (cosine, sine) = direction
    let (width, height) = (Double(size.width), Double(size.height))
    // Avoid an extra pixel for a side that exceeds an integer only by the rounding of cosines.
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
          // Rotate back to find the source of the pixel.
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
package struct FlippingTransformer: ImageTransformer {
  /// Whether left and right are exchanged.
  package let horizontal: Bool
  /// Whether top and bottom are exchanged.
  package let vertical: Bool

  package init(horizontal: Bool = false, vertical: Bool = false) {
    self.horizontal = horizontal
    self.vertical = vertical
  }

  package var key: String {
    "flip(" + [horizontal ? "horizontal" : nil, vertical ? "vertical" : nil].compactMap(\.self).joined(separator: ",") + ")"
  }
  package var transformsAnimated: Bool { true }
  package func outputSize(of size: ImageSize) -> ImageSize? { size }

  package func transform(_ image: DecodedImage) -> DecodedImage {
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
