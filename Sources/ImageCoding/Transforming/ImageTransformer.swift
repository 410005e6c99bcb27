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

/// A transformer of the library; created by shorthands wherever an ``ImageTransformer`` is expected, such as `.resize(width: 320)`.
public struct ImageTransform: ImageTransformer {
  package let base: any ImageTransformer

  fileprivate init(_ base: any ImageTransformer) { self.base = base }

  public var key: String { base.key }
  public var transformsAnimated: Bool { base.transformsAnimated }
  public var decodingBox: ImageSize? { base.decodingBox }
  public func outputSize(of size: ImageSize) -> ImageSize? { base.outputSize(of: size) }
  public func transform(_ image: DecodedImage) throws -> DecodedImage { try base.transform(image) }

  /// How an image with another aspect ratio fits the box.
  public enum Fit: String, Sendable, Hashable, CaseIterable {
    /// The whole image within the box, keeping its aspect ratio; smaller images stay unchanged (`aspectFit`, but never enlarging).
    case inside
    /// Fills the box, keeping the aspect ratio and cropping both ends equally (`aspectFill`).
    case cover
    /// Fills the box by stretching (`fill`).
    case fill
  }

  /// Corners of an image.
  public struct Corners: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let topLeft = Corners(rawValue: 1)
    public static let topRight = Corners(rawValue: 2)
    public static let bottomLeft = Corners(rawValue: 4)
    public static let bottomRight = Corners(rawValue: 8)
    public static let all: Corners = [.topLeft, .topRight, .bottomLeft, .bottomRight]
  }

  /// How the colour is combined with the image.
  public enum BlendMode: String, Sendable, Hashable, CaseIterable {
    /// The colour replaces the image's, of which only the alpha is used: SDWebImage's default, for icons.
    case sourceIn = "source-in"
    /// The colour over the image's non-transparent parts.
    case sourceAtop = "source-atop"
    /// Both multiplied: never lighter than either.
    case multiply
    /// The complements multiplied: never darker than either.
    case screen
    /// Multiplied in dark parts of the image, screened in light ones.
    case overlay
  }
}

extension ImageTransformer where Self == ImageTransform {
  /// Resizes images to a width, a height or both, in pixels; a missing side follows from the aspect ratio.
  ///
  /// By default they fit inside, keep their aspect ratio and aren't enlarged. Traps if neither side is given, or one is below 1.
  public static func resize(width: Int? = nil, height: Int? = nil, fit: ImageTransform.Fit = .inside) -> Self {
    Self(ResizingTransformer(width: width, height: height, fit: fit))
  }

  /// Resizes images to a box in pixels, inside which they fit by default; traps if a side is below 1.
  public static func resize(to size: ImageSize, fit: ImageTransform.Fit = .inside) -> Self {
    Self(ResizingTransformer(width: size.width, height: size.height, fit: fit))
  }

  /// Crops images to a rectangle, in pixels from the upper left corner; traps if it is empty.
  public static func crop(x: Int, y: Int, width: Int, height: Int) -> Self {
    Self(CroppingTransformer(PixelRectangle(x: x, y: y, width: width, height: height)))
  }

  /// Crops images to their largest centred circle.
  public static var circle: Self { Self(CircleTransformer()) }

  /// Rounds corners with a radius in pixels, by default all; traps if a number is negative or not finite.
  ///
  /// A border of `borderWidth` pixels, by default none, is drawn inside.
  public static func roundCorners(
    _ radius: Double,
    corners: ImageTransform.Corners = .all,
    borderWidth: Double = 0,
    borderColor: RGBAColor = .clear
  ) -> Self {
    Self(RoundCornerTransformer(radius: radius, corners: corners, borderWidth: borderWidth, borderColor: borderColor))
  }

  /// Rotates images clockwise by an angle in degrees; traps unless it is finite.
  ///
  /// By default the result has the size of the rotated image; otherwise it keeps the image's size.
  public static func rotate(degrees: Double, fitsSize: Bool = true) -> Self {
    Self(RotationTransformer(degrees: degrees, fitsSize: fitsSize))
  }

  /// Mirrors images: `horizontal` exchanges left and right, `vertical` top and bottom; both are false by default.
  public static func flip(horizontal: Bool = false, vertical: Bool = false) -> Self {
    Self(FlippingTransformer(horizontal: horizontal, vertical: vertical))
  }

  /// Blurs images with a Gaussian whose standard deviation is `radius` pixels; traps unless it is in 0…1,000.
  public static func blur(radius: Double) -> Self { Self(BlurTransformer(radius: radius)) }

  /// Tints images; by default the colour replaces the image's, of which only the alpha is used.
  public static func tint(_ color: RGBAColor, blendMode: ImageTransform.BlendMode = .sourceIn) -> Self {
    Self(TintTransformer(color, blendMode: blendMode))
  }

  /// Applies several transformers in sequence.
  public static func pipeline(_ transformers: [any ImageTransformer]) -> Self { Self(PipelineTransformer(transformers)) }

  /// Transforms images by code. The rules of ``ImageTransformer/key`` hold for `key`; animations are left unchanged by default.
  public static func custom(
    key: String,
    transformsAnimated: Bool = false,
    _ transform: @escaping @Sendable (DecodedImage) throws -> DecodedImage
  ) -> Self {
    Self(ClosureTransformer(key: key, transformsAnimated: transformsAnimated, transform: transform))
  }
}
