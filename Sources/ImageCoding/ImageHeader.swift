public import Base

/// The properties of an image that its first bytes state.
public struct ImageHeader: Sendable, Hashable {
  /// The colour model of the samples, as stated in the file.
  package enum ColorSpace: Int, Sendable {
    case gray, rgb, indexed, ycbcr, cmyk, ycck
  }

  /// The format, detected from the bytes.
  public var format: ImageFormat
  /// Width and height as stored, before ``orientation`` is applied.
  public var size: ImageSize
  /// The number of pictures: 1 for a still image; for an animation those read so far, so a prefix may have fewer than the whole
  /// file.
  public var frames: Int
  /// Whether it is animated: the file has more than one frame, or its prefix declares that it will. False for pages of a TIFF and
  /// sizes of an icon, which ``frames`` counts.
  public var isAnimated: Bool
  /// Whether pixels can be transparent, as declared by the header.
  public var hasAlpha: Bool
  /// The EXIF orientation, 1…8; 1 if there is none.
  public var orientation: Int
  /// Whether its EXIF metadata has a GPS position; false if that isn't in the prefix.
  public var hasPosition = false
  /// The horizontal resolution in dots per inch; nil if there is none, or none in the prefix.
  public var dpi: Double?
  /// What is wrong with it although it may be decodable, one sentence each.
  package var warnings: [String] = []
  /// Whether its EXIF metadata has a thumbnail.
  package var hasThumbnail = false
  /// The size of its EXIF metadata.
  package var exifBytes = 0
  /// The colour model of the samples; nil if the prefix doesn't determine it.
  package var colorSpace: ColorSpace?
  /// The embedded profile, which isn't applied; nil if there is none, or none in the prefix.
  package var profile: ICCProfile?
  /// The name of the embedded colour profile, such as `sRGB IEC61966-2.1`; nil if it has none, or none in the prefix. The text isn't
  /// trusted.
  public var profileName: String? { profile?.name }

  /// Creates a header, by default of a still, opaque, upright image.
  public init(
    format: ImageFormat,
    size: ImageSize,
    frames: Int = 1,
    isAnimated: Bool? = nil,
    hasAlpha: Bool = false,
    orientation: Int = 1
  ) {
    self.format = format
    self.size = size
    self.frames = frames
    self.isAnimated = isAnimated ?? (frames > 1 && format.isAnimatable)
    self.hasAlpha = hasAlpha
    self.orientation = orientation
  }

  /// The header of a still, upright image.
  package init(format: ImageFormat, size: ImageSize, hasAlpha: Bool = false, colorSpace: ColorSpace?) {
    self.init(format: format, size: size, hasAlpha: hasAlpha)
    self.colorSpace = colorSpace
  }

  /// A header whose other properties are read next.
  init(_ format: ImageFormat) { self.init(format: format, size: ImageSize(width: 0, height: 0)) }

  /// The properties besides the picture.
  public var metadata: ImageMetadata {
    var metadata = ImageMetadata(
      hasProfile: profile != nil,
      orientation: UInt8(clamping: orientation),
      hasPosition: hasPosition,
      dpi: dpi.map { UInt16(max(1, min($0.rounded(), Double(ImageMetadata.highestDPI)))) } ?? 0
    )
    metadata.hasThumbnail = hasThumbnail
    metadata.isEXIFLarge = exifBytes > EXIF.largeBytes
    return metadata
  }

  /// All of them as reports and caches keep them.
  package var properties: ImageProperties {
    ImageProperties(
      format: format,
      width: UInt32(clamping: size.width),
      height: UInt32(clamping: size.height),
      frames: UInt32(clamping: frames),
      isAnimated: isAnimated,
      metadata: metadata
    )
  }

  /// Adds what EXIF metadata state, besides the orientation; another resolution of the file counts more.
  mutating func add(_ exif: EXIF) {
    (hasPosition, hasThumbnail, exifBytes) = (exif.hasPosition, exif.hasThumbnail, exif.byteCount)
    dpi = dpi ?? exif.dpi
  }

  /// Width and height as displayed, after applying ``orientation``.
  public var displaySize: ImageSize {
    orientation >= 5 ? ImageSize(width: size.height, height: size.width) : size
  }
}

/// An embedded colour profile (ICC.1:2022), which is only reported, not applied.
package struct ICCProfile: Sendable, Hashable {
  /// Its name, such as `sRGB IEC61966-2.1`; nil if it has none, or none in the prefix. The text isn't trusted.
  package var name: String?

  package init(name: String?) { self.name = name }
}

extension ICCProfile {
  /// Parses a profile that `data` contains or starts with: its name is in the tag `desc`, a textDescriptionType in profiles of
  /// version 2 (ICC.1:2001-04, section 6.5.17) and a multiLocalizedUnicodeType in those of version 4 (ICC.1:2022, section 10.15).
  ///
  /// A truncated or invalid profile has no name, which isn't an error, since profiles aren't applied.
  package init(data: UnsafeRawBufferPointer) {
    self.init(name: Self.description(in: ByteView(data)))
  }

  /// Longer names are considered damaged.
  private static let longestNameInBytes = 1024
  /// Profiles have about 10 tags, the largest about 50.
  private static let mostTags = 200

  private static func description(in bytes: ByteView) -> String? {
    let tableOffset = 128
    guard let tags = bytes.bigEndian32(at: tableOffset) else { return nil }
    for index in 0..<min(tags, mostTags) {
      let entry = tableOffset + 4 + index * 12
      guard bytes.matches("desc", at: entry) else { continue }
      guard let offset = bytes.bigEndian32(at: entry + 4) else { return nil }
      let name = bytes.matches("mluc", at: offset) ? localizedText(in: bytes, at: offset) : plainText(in: bytes, at: offset)
      return name.flatMap { $0.isEmpty ? nil : $0 }
    }
    return nil
  }

  /// ASCII text after its length, which includes the terminating zero.
  private static func plainText(in bytes: ByteView, at offset: Int) -> String? {
    guard bytes.matches("desc", at: offset), let count = bytes.bigEndian32(at: offset + 8), count <= longestNameInBytes else {
      return nil
    }
    let characters = (0..<count).lazy.compactMap { bytes.byte(at: offset + 12 + $0) }.prefix { $0 != 0 }
    return String(decoding: Array(characters), as: UTF8.self)
  }

  /// UTF-16 text in the first of the available languages.
  private static func localizedText(in bytes: ByteView, at offset: Int) -> String? {
    guard let names = bytes.bigEndian32(at: offset + 8), names > 0,
      let count = bytes.bigEndian32(at: offset + 20), count <= longestNameInBytes,
      let start = bytes.bigEndian32(at: offset + 24), bytes.has(count, at: offset + start)
    else { return nil }
    let units = stride(from: 0, to: count - 1, by: 2).lazy.compactMap { bytes.bigEndian16(at: offset + start + $0) }
    return String(decoding: units.prefix { $0 != 0 }.map { UInt16($0) }, as: UTF16.self)
  }
}
