public import ImagePrimitives

/// Makes another image out of a decoded one: smaller, cropped, tinted.
///
/// It may be called from many threads at once, and is called under no lock. Ready-made are ``ResizingTransformer``, ``CroppingTransformer``,
/// ``RoundCornerTransformer``, ``RotationTransformer``, ``FlippingTransformer``, ``TintTransformer``, ``BlurTransformer``, and
/// ``PipelineTransformer`` for several in a row.
public protocol ImageTransformer: Sendable {
  /// What tells its results from those of others, such as `resize(100x100,inside)`: equal keys must make equal images of equal ones.
  ///
  /// It becomes part of the identity that the result is cached under, so that the same URL with another transform never mixes; a key that changes from one
  /// version to the next leaves the images of the old one behind.
  var key: String { get }
  /// Whether images of more than one frame are transformed too; false by default, then they are left alone.
  var transformsAnimated: Bool { get }
  /// The box that an image may be decoded to fit in before it comes here, keeping its aspect, since the rest would be thrown away; nil by default: it comes whole.
  var decodingBox: ImageSize? { get }
  /// The size of what it makes of pixels of `size`, at least about; nil by default: that is not known before it is done.
  ///
  /// Who loads refuses what would become too large before memory is taken for it. Of a transformer that tells the size, and transforms animations, the frames
  /// of one may come here one by one, each as an image without ``DecodedImage/animation``; without it an animation comes as a whole.
  func outputSize(of size: ImageSize) -> ImageSize?
  /// The new image. Its header should tell its own size.
  ///
  /// What it throws fails the load, with the error's own description.
  func transform(_ image: DecodedImage) throws -> DecodedImage
}

extension ImageTransformer {
  public var transformsAnimated: Bool { false }
  public var decodingBox: ImageSize? { nil }
  public func outputSize(of size: ImageSize) -> ImageSize? { nil }
}

/// Why an image could not be transformed: one sentence without full stop.
public struct TransformError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong with the image, and what the transformer needs.
  public var message: String

  public init(_ message: String) { self.message = message }

  public var description: String { message }
}

/// Applies several transformers, one after the other (SDWebImage's `SDImagePipelineTransformer`).
///
/// An animation goes only to those that transform animations. Key: the keys in order, joined by `-`.
public struct PipelineTransformer: ImageTransformer {
  /// The transformers, in order.
  public let transformers: [any ImageTransformer]

  /// A pipeline of `transformers`; without any, images stay as they are.
  public init(_ transformers: [any ImageTransformer]) { self.transformers = transformers }

  /// Such as `resize(100x100,cover)-flip(horizontal)`.
  public var key: String { transformers.map(\.key).joined(separator: "-") }
  /// Whether one of them transforms animations.
  public var transformsAnimated: Bool { transformers.contains { $0.transformsAnimated } }

  /// That of the first one, if animations go there too.
  public var decodingBox: ImageSize? { transformers.first.flatMap { $0.transformsAnimated ? $0.decodingBox : nil } }

  /// That after all of them, if each tells its own and transforms animations.
  public func outputSize(of size: ImageSize) -> ImageSize? {
    var size = size
    for transformer in transformers {
      guard transformer.transformsAnimated, let next = transformer.outputSize(of: size) else { return nil }
      size = next
    }
    return size
  }

  /// The image after all of them.
  public func transform(_ image: DecodedImage) throws -> DecodedImage {
    var image = image
    for transformer in transformers where image.header.frames == 1 || transformer.transformsAnimated {
      image = try transformer.transform(image)
    }
    return image
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
