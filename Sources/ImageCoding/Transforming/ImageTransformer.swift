public import Base

/// Transforms a decoded image into another one: smaller, cropped, tinted.
///
/// Many threads may call it at once, and no lock is held. Available are ``resize(width:height:fit:)``, ``crop(x:y:width:height:)``,
/// ``circle``, ``roundCorners(_:corners:borderWidth:borderColor:)``, ``rotate(degrees:fitsSize:)``, ``flip(horizontal:vertical:)``,
/// ``tint(_:blendMode:)``, ``blur(radius:)``, and ``pipeline(_:)`` for several in sequence.
public protocol ImageTransformer: Sendable {
  /// Identifies its results, such as `resize(100x100,inside)`: transformers with equal keys must produce equal images from equal
  /// ones.
  ///
  /// It becomes part of the identity under which the result is cached, so that different transforms of a URL never mix. If the key
  /// changes with a new version, images of the old one stay in the cache unused.
  var key: String { get }
  /// Whether it transforms images with more than one frame; if false, the default, they are left unchanged.
  var transformsAnimated: Bool { get }
  /// The box to which an image may be reduced during decoding, keeping its aspect ratio, to save work; nil, the default: full size.
  var decodingBox: ImageSize? { get }
  /// The size of the result for pixels of `size`, at least approximately; nil, the default, if it isn't known in advance.
  ///
  /// Loads reject results that would be too large before memory is allocated. If a transformer returns the size and transforms
  /// animations, it may be given an animation's frames one by one, each as an image without ``DecodedImage/animation``; otherwise
  /// it is given the whole animation.
  func outputSize(of size: ImageSize) -> ImageSize?
  /// Returns the transformed image, whose header should have its new size.
  ///
  /// A thrown error fails the load, with the error's own description.
  func transform(_ image: DecodedImage) throws -> DecodedImage
}

extension ImageTransformer {
  public var transformsAnimated: Bool { false }
  public var decodingBox: ImageSize? { nil }
  public func outputSize(of size: ImageSize) -> ImageSize? { nil }
}

/// Why an image couldn't be transformed: one sentence without full stop.
public struct TransformError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong with the image, and what the transformer requires.
  public var message: String

  public init(_ message: String) { self.message = message }

  public var description: String { message }
}

/// Applies several transformers in sequence (SDWebImage's `SDImagePipelineTransformer`).
///
/// An animation is passed only to those that transform animations. Key: the keys in order, joined by `-`.
package struct PipelineTransformer: ImageTransformer {
  /// The transformers, in order.
  package let transformers: [any ImageTransformer]

  /// Creates a pipeline of `transformers`; without any, images stay unchanged.
  package init(_ transformers: [any ImageTransformer]) { self.transformers = transformers }

  /// Such as `resize(100x100,cover)-flip(horizontal)`.
  package var key: String { transformers.map(\.key).joined(separator: "-") }
  /// Whether one of them transforms animations.
  package var transformsAnimated: Bool { transformers.contains { $0.transformsAnimated } }

  /// The box of the first transformer, if that transforms animations.
  package var decodingBox: ImageSize? { transformers.first.flatMap { $0.transformsAnimated ? $0.decodingBox : nil } }

  /// The size after all of them, if each knows its own and transforms animations.
  package func outputSize(of size: ImageSize) -> ImageSize? {
    var size = size
    for transformer in transformers {
      guard transformer.transformsAnimated, let next = transformer.outputSize(of: size) else { return nil }
      size = next
    }
    return size
  }

  package func transform(_ image: DecodedImage) throws -> DecodedImage {
    var image = image
    for transformer in transformers where image.header.frames == 1 || transformer.transformsAnimated {
      image = try transformer.transform(image)
    }
    return image
  }
}

/// A transformer with a key and a closure.
package struct ClosureTransformer: ImageTransformer {
  /// Identifies its results; see ``ImageTransformer/key``.
  package let key: String
  /// Whether it transforms images with more than one frame.
  package let transformsAnimated: Bool
  private let body: @Sendable (DecodedImage) throws -> DecodedImage

  package init(
    key: String,
    transformsAnimated: Bool = false,
    transform: @escaping @Sendable (DecodedImage) throws -> DecodedImage
  ) {
    self.key = key
    self.transformsAnimated = transformsAnimated
    body = transform
  }

  package func transform(_ image: DecodedImage) throws -> DecodedImage { try body(image) }
}
