import Platform
package import Base

/// Rounds the corners of images, making them transparent, and optionally draws a border inside (SDWebImage's
/// `SDImageRoundCornerTransformer`).
///
/// Pixels on the arc are partially transparent. Key: `round-corners(RADIUS,CORNERS)`, with corners as `all` or their names joined
/// by `+`; with a border, `round-corners(RADIUS,CORNERS,WIDTH,#RRGGBBAA)`.
package struct RoundCornerTransformer: ImageTransformer {
  package typealias Corners = ImageTransform.Corners

  /// In pixels, limited to half of the image's shorter side.
  package let radius: Double
  /// The corners that are rounded.
  package let corners: Corners
  /// In pixels from the edge inwards; 0: no border.
  package let borderWidth: Double
  /// The border's colour, drawn over the image.
  package let borderColor: RGBAColor

  /// Creates a transformer, by default for all corners without a border; traps if a number is negative or not finite.
  package init(radius: Double, corners: Corners = .all, borderWidth: Double = 0, borderColor: RGBAColor = .clear) {
    trap(unless: radius >= 0 && radius.isFinite, "corners of radius \(radius)")
    trap(unless: borderWidth >= 0 && borderWidth.isFinite, "a border of width \(borderWidth)")
    self.radius = radius
    self.corners = corners
    self.borderWidth = borderWidth
    self.borderColor = borderColor
  }

  package var key: String {
    let names: [(Corners, String)] = [
      (.topLeft, "top-left"), (.topRight, "top-right"), (.bottomLeft, "bottom-left"), (.bottomRight, "bottom-right"),
    ]
    let rounded = corners == .all ? "all" : names.filter { corners.contains($0.0) }.map(\.1).joined(separator: "+")
    let border = borderWidth > 0 ? ",\(keyText(borderWidth)),\(borderColor.hexadecimal)" : ""
    return "round-corners(\(keyText(radius)),\(rounded)\(border))"
  }
  package var transformsAnimated: Bool { true }
  package func outputSize(of size: ImageSize) -> ImageSize? { size }

  package func transform(_ image: DecodedImage) -> DecodedImage {
    let isRounded = radius > 0 && !corners.isEmpty
    return image.mapPixels(addsAlpha: isRounded, rounded)
  }

  private func rounded(_ image: PixelBuffer) -> PixelBuffer {
    let (width, height) = (image.size.width, image.size.height)
    let radius = min(radius, Double(min(width, height)) / 2)
    // Pixels farther from the edges don't change.
    let reach = Int(min(max(radius, borderWidth) + 1, Double(max(width, height))))
    return image.bytes.withUnsafeBytes { bytes in
      PixelBuffer(size: image.size) { y, row in
        let source = UnsafeRawBufferPointer(rebasing: bytes[y * row.count..<(y + 1) * row.count])
        UnsafeMutableRawBufferPointer(row).copyMemory(from: source)
        let change = { (x: Int) in
          let pixel = SIMD4<Double>(exactly: source.pixel(at: x))
          row.storePixel(changed(pixel, depth: depth(x, y, image.size, radius: radius)), at: x)
        }
        if y < reach || y >= height - reach || width <= 2 * reach {
          (0..<width).forEach(change)
        } else {
          (0..<reach).forEach(change)
          (width - reach..<width).forEach(change)
        }
      }
    }
  }

  /// The distance of a pixel's centre from the outline, negative outside.
  private func depth(_ x: Int, _ y: Int, _ size: ImageSize, radius: Double) -> Double {
    let (right, bottom) = (x >= size.width - x - 1, y >= size.height - y - 1)
    let corner: Corners = bottom ? (right ? .bottomRight : .bottomLeft) : (right ? .topRight : .topLeft)
    let radius = corners.contains(corner) ? radius : 0
    // The distances to the nearer edges.
    let across = (right ? Double(size.width - x) - 0.5 : Double(x) + 0.5)
    let down = (bottom ? Double(size.height - y) - 0.5 : Double(y) + 0.5)
    if across < radius && down < radius { return radius - hypot(radius - across, radius - down) }
    return min(across, down)
  }

  private func changed(_ pixel: SIMD4<Double>, depth: Double) -> SIMD4<Double> {
    var result = pixel
    if borderWidth > 0 {
      let share = min(max(borderWidth - depth + 0.5, 0), 1) * Double(borderColor.alpha) / 255
      result = borderColor.components.composited(over: pixel, share: share)
    }
    result.w *= min(max(depth + 0.5, 0), 1)
    return result
  }
}

extension SIMD4<Double> {
  /// This opaque colour over another, with the opacity `share`, 0…1.
  fileprivate func composited(over below: SIMD4<Double>, share: Double) -> SIMD4<Double> {
    let through = below.w / 255 * (1 - share)
    let opacity = share + through
    if opacity == 0 { return .zero }
    var result = (self * share + below * through) / opacity
    result.w = opacity * 255
    return result
  }
}

/// Crops images to their largest centred circle, with transparent corners.
///
/// The result is a square with the image's shorter side; pixels on the edge are partially transparent. Key: `circle`.
package struct CircleTransformer: ImageTransformer {
  package init() {}

  package var key: String { "circle" }
  package var transformsAnimated: Bool { true }
  package func outputSize(of size: ImageSize) -> ImageSize? { Self.square(in: size).size }

  package func transform(_ image: DecodedImage) -> DecodedImage {
    let square = image.mapPixels { $0.cropped(to: Self.square(in: $0.size)) }
    return RoundCornerTransformer(radius: Double(square.pixels.size.width) / 2).transform(square)
  }

  private static func square(in size: ImageSize) -> PixelRectangle {
    let side = min(size.width, size.height)
    return PixelRectangle(x: (size.width - side) / 2, y: (size.height - side) / 2, width: side, height: side)
  }
}
