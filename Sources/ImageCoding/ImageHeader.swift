public import ImagePrimitives

/// What the first bytes of an image say of it.
public struct ImageHeader: Sendable, Hashable {
  /// How samples make colours, as the file says.
  public enum ColorSpace: Sendable, Hashable {
    case gray, rgb, indexed, ycbcr, cmyk, ycck
  }

  /// The format, by the bytes.
  public var format: ImageFormat
  /// Width and height as stored, before ``orientation`` is applied.
  public var size: ImageSize
  /// Pictures in the file: 1 for a still image; for an animation those seen, so that a prefix tells fewer than the whole file.
  public var frames: Int
  /// Whether it moves: the file has more than one frame, or, where only a prefix was seen, says that it will.
  public var isAnimated: Bool
  /// Whether pixels can be transparent by the header's word.
  public var hasAlpha: Bool
  /// The EXIF orientation, 1…8; 1 where there is none.
  public var orientation: Int
  /// How samples make colours; nil where the prefix does not tell.
  public var colorSpace: ColorSpace?
  /// The embedded profile, which is not applied; nil where there is none, or none in the prefix.
  public var profile: ICCProfile?

  /// A header of its parts; a still, opaque, upright image where no more is said.
  public init(
    format: ImageFormat,
    size: ImageSize,
    frames: Int = 1,
    isAnimated: Bool? = nil,
    hasAlpha: Bool = false,
    orientation: Int = 1,
    colorSpace: ColorSpace? = nil,
    profile: ICCProfile? = nil
  ) {
    self.format = format
    self.size = size
    self.frames = frames
    self.isAnimated = isAnimated ?? (frames > 1)
    self.hasAlpha = hasAlpha
    self.orientation = orientation
    self.colorSpace = colorSpace
    self.profile = profile
  }

  /// Width and height as shown, after ``orientation`` is applied.
  public var displaySize: ImageSize {
    orientation >= 5 ? ImageSize(width: size.height, height: size.width) : size
  }
}

/// An embedded colour profile (ICC.1:2022), as far as it is looked at: nothing here applies it.
public struct ICCProfile: Sendable, Hashable {
  /// What it is called, such as `sRGB IEC61966-2.1`; nil where it does not say, or not in the prefix. Text from outside.
  public var name: String?

  /// A profile of that name.
  public init(name: String?) { self.name = name }
}
