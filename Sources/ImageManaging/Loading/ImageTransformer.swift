public import ImageCoding
import ImagePrimitives

/// Makes another image out of a decoded one: smaller, cropped, tinted.
///
/// It is called on the coding threads, several at once, under no lock.
public protocol ImageTransformer: Sendable {
  /// What tells its results from those of others, such as `resize(100x100)`: equal keys must make equal images of equal ones.
  ///
  /// It becomes part of the identity of the image, so that the same URL with another transform never mixes.
  var key: String { get }
  /// Whether images of more than one frame are transformed too; false by default, then they are left alone.
  var transformsAnimated: Bool { get }
  /// The new image. Its header should tell its own size.
  ///
  /// What it throws fails the load as `internal`, with the error's own description; nothing is blacklisted.
  func transform(_ image: DecodedImage) throws -> DecodedImage
}

extension ImageTransformer {
  /// False.
  public var transformsAnimated: Bool { false }

  /// The image transformed, or as it is where it is an animation that is left alone.
  func applied(to image: DecodedImage) throws(Failure) -> DecodedImage {
    if image.header.frames > 1 && !transformsAnimated { return image }
    do {
      return try transform(image)
    } catch {
      throw Failure(.internal, message: "the transformer \(key) failed: \(error)")
    }
  }
}

/// A transformer that is a closure with a key.
public struct ClosureTransformer: ImageTransformer {
  /// What tells its results from those of others.
  public let key: String
  /// Whether images of more than one frame are transformed too.
  public let transformsAnimated: Bool
  private let body: @Sendable (DecodedImage) throws -> DecodedImage

  /// A transformer of that key.
  public init(
    key: String,
    transformsAnimated: Bool = false,
    transform: @escaping @Sendable (DecodedImage) throws -> DecodedImage
  ) {
    self.key = key
    self.transformsAnimated = transformsAnimated
    body = transform
  }

  /// What the closure makes of the image.
  public func transform(_ image: DecodedImage) throws -> DecodedImage { try body(image) }
}
