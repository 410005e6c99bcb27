public import ImagePrimitives

/// What the first bytes of an image say of it.
public struct ImageHeader: Sendable, Hashable {
  /// The format, by the bytes.
  public var format: ImageFormat
  /// Width and height as stored, before ``orientation`` is applied.
  public var size: ImageSize
  /// Pictures in the file: 1 for a still image; for an animation those seen, so that a prefix tells fewer than the whole file.
  public var frames: Int
  /// Whether pixels can be transparent by the header's word.
  public var hasAlpha: Bool
  /// The EXIF orientation, 1…8; 1 where there is none. Read from JPEG only.
  public var orientation: Int

  /// A header of its parts; a still, opaque, upright image where no more is said.
  public init(format: ImageFormat, size: ImageSize, frames: Int = 1, hasAlpha: Bool = false, orientation: Int = 1) {
    self.format = format
    self.size = size
    self.frames = frames
    self.hasAlpha = hasAlpha
    self.orientation = orientation
  }

  /// Width and height as shown, after ``orientation`` is applied.
  public var displaySize: ImageSize {
    orientation >= 5 ? ImageSize(width: size.height, height: size.width) : size
  }
}
