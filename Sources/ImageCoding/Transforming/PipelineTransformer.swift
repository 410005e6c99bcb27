public import ImagePrimitives

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
