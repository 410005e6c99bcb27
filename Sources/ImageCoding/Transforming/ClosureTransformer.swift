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
