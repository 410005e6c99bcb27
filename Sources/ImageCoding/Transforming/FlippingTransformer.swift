public import ImagePrimitives

/// Mirrors images (SDWebImage's `SDImageFlippingTransformer`).
///
/// Key: `flip(horizontal)`, `flip(vertical)`, `flip(horizontal,vertical)`, or `flip()`.
public struct FlippingTransformer: ImageTransformer {
  /// Whether left and right change places.
  public let horizontal: Bool
  /// Whether top and bottom change places.
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
  /// True: each frame is mirrored.
  public var transformsAnimated: Bool { true }
  /// That of the image.
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
