public import ImagePrimitives

extension ImageTransformer where Self == ResizingTransformer {
  /// Resizes images to a width, a height or both, in pixels; a missing side follows from the aspect ratio.
  ///
  /// By default they fit inside, keep their aspect ratio and aren't enlarged. Traps if neither side is given, or one is below 1.
  public static func resize(width: Int? = nil, height: Int? = nil, fit: ResizingTransformer.Fit = .inside) -> Self {
    Self(width: width, height: height, fit: fit)
  }

  /// Resizes images to a box in pixels, inside which they fit by default; traps if a side is below 1.
  public static func resize(to size: ImageSize, fit: ResizingTransformer.Fit = .inside) -> Self {
    Self(width: size.width, height: size.height, fit: fit)
  }
}

extension ImageTransformer where Self == CroppingTransformer {
  /// Crops images to a rectangle, in pixels from the upper left corner; traps if it is empty.
  public static func crop(x: Int, y: Int, width: Int, height: Int) -> Self {
    Self(PixelRectangle(x: x, y: y, width: width, height: height))
  }
}

extension ImageTransformer where Self == CircleTransformer {
  /// Crops images to their largest centred circle.
  public static var circle: Self { Self() }
}

extension ImageTransformer where Self == RoundCornerTransformer {
  /// Rounds corners with a radius in pixels, by default all; traps if a number is negative or not finite.
  ///
  /// A border of `borderWidth` pixels, by default none, is drawn inside.
  public static func roundCorners(
    _ radius: Double,
    corners: RoundCornerTransformer.Corners = .all,
    borderWidth: Double = 0,
    borderColor: RGBAColor = .clear
  ) -> Self {
    Self(radius: radius, corners: corners, borderWidth: borderWidth, borderColor: borderColor)
  }
}

extension ImageTransformer where Self == RotationTransformer {
  /// Rotates images clockwise by an angle in degrees; traps unless it is finite.
  ///
  /// By default the result has the size of the rotated image; otherwise it keeps the image's size.
  public static func rotate(degrees: Double, fitsSize: Bool = true) -> Self { Self(degrees: degrees, fitsSize: fitsSize) }
}

extension ImageTransformer where Self == FlippingTransformer {
  /// Mirrors images: `horizontal` exchanges left and right, `vertical` top and bottom; both are false by default.
  public static func flip(horizontal: Bool = false, vertical: Bool = false) -> Self {
    Self(horizontal: horizontal, vertical: vertical)
  }
}

extension ImageTransformer where Self == BlurTransformer {
  /// Blurs images with a Gaussian whose standard deviation is `radius` pixels; traps unless it is in 0…1,000.
  public static func blur(radius: Double) -> Self { Self(radius: radius) }
}

extension ImageTransformer where Self == TintTransformer {
  /// Tints images; by default the colour replaces the image's, of which only the alpha is used.
  public static func tint(_ color: RGBAColor, blendMode: TintTransformer.BlendMode = .sourceIn) -> Self {
    Self(color, blendMode: blendMode)
  }
}

extension ImageTransformer where Self == PipelineTransformer {
  /// Applies several transformers in sequence.
  public static func pipeline(_ transformers: [any ImageTransformer]) -> Self { Self(transformers) }
}
