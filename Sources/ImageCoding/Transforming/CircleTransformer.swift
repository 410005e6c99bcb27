package import Base

/// Crops images to their largest centred circle, with transparent corners.
///
/// The result is a square with the image's shorter side; pixels on the edge are partially transparent. Key: `circle`.
package struct CircleTransformer: ImageTransformer {
  package init() {}

  package var key: String { "circle" }
  package var transformsAnimated: Bool { true }
  /// A square with the shorter side.
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
