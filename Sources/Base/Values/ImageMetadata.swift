/// Properties of an image besides its picture.
///
/// They are read with the header, so those that a file states after its picture may be missing.
public struct ImageMetadata: Sendable, Hashable {
  /// Whether a colour profile is embedded.
  public var hasProfile: Bool
  /// The EXIF orientation, 1…8; 1 if there is none.
  public var orientation: UInt8
  /// Whether the EXIF metadata has a GPS position (CIPA DC-008, section 4.6.6): latitude or longitude.
  public var hasPosition: Bool
  /// The horizontal resolution in dots per inch, rounded; 0 if unknown. Larger ones are ``highestDPI``.
  public var dpi: UInt16
  /// Whether the EXIF metadata has a picture of its own (section 4.5.8): a thumbnail.
  package var hasThumbnail = false
  /// Whether the EXIF metadata has more than 16 KiB.
  package var isEXIFLarge = false

  /// The largest value of ``dpi``.
  public static let highestDPI: UInt16 = 65_535

  /// Creates metadata, by default of a file that has none.
  public init(hasProfile: Bool = false, orientation: UInt8 = 1, hasPosition: Bool = false, dpi: UInt16 = 0) {
    self.hasProfile = hasProfile
    self.orientation = orientation
    self.hasPosition = hasPosition
    self.dpi = dpi
  }
}
