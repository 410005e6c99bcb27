import ImageCoding
import ImagePrimitives

extension ImageTransformer {
  /// The image transformed, or as it is where it is an animation that is left alone.
  ///
  /// What the transformer throws fails the load as `internal`; nothing is blacklisted.
  func applied(to image: DecodedImage) throws(Failure) -> DecodedImage {
    if image.header.frames > 1 && !transformsAnimated { return image }
    do {
      return try transform(image)
    } catch {
      throw Failure(.internal, message: "the transformer \(key) failed: \(error)")
    }
  }
}
