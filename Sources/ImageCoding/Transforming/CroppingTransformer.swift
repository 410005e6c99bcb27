public import ImagePrimitives

/// Cuts a part out of images (SDWebImage's `SDImageCroppingTransformer`).
///
/// What of the part lies outside the image is left out; a part wholly outside throws ``TransformError``. Key: `crop(X,Y,WIDTHxHEIGHT)`.
public struct CroppingTransformer: ImageTransformer {
  /// The part.
  public let part: PixelRectangle

  /// A transformer that cuts out `part`; an empty one is a programmer's error and traps.
  public init(_ part: PixelRectangle) {
    trap(unless: part.width > 0 && part.height > 0, "a crop of \(part.width)x\(part.height) pixels")
    self.part = part
  }

  /// Such as `crop(10,20,300x200)`.
  public var key: String { "crop(\(part.x),\(part.y),\(part.width)x\(part.height))" }
  /// True: the same part is cut out of each frame.
  public var transformsAnimated: Bool { true }
  /// That of the part which lies within.
  public func outputSize(of size: ImageSize) -> ImageSize? { part.clipped(to: size)?.size ?? part.size }

  /// That part of the image.
  public func transform(_ image: DecodedImage) throws(TransformError) -> DecodedImage {
    let size = image.pixels.size
    guard let part = part.clipped(to: size) else {
      throw TransformError("the crop lies outside the image, which has \(size.width)x\(size.height) pixels")
    }
    return image.mapPixels { $0.cropped(to: part) }
  }
}
