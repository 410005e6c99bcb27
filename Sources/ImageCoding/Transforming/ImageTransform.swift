public import Base

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
