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

extension ICCProfile {
  /// The profile whose bytes are `data`, or begin so: its name is read out of the tag `desc`, which is a textDescriptionType in
  /// profiles of version 2 (ICC.1:2001-04, section 6.5.17) and a multiLocalizedUnicodeType in those of version 4 (ICC.1:2022,
  /// section 10.15).
  ///
  /// A profile that is cut before its name, or none at all, has no name; that is no error, as nothing here applies it.
  package init(data: UnsafeRawBufferPointer) {
    self.init(name: Self.description(in: ByteView(data)))
  }

  /// Names longer than this are taken for damage.
  private static let longestNameInBytes = 1024
  /// Profiles have about 10 tags, and the largest about 50.
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

  /// ASCII behind its count, which includes the zero at its end.
  private static func plainText(in bytes: ByteView, at offset: Int) -> String? {
    guard bytes.matches("desc", at: offset), let count = bytes.bigEndian32(at: offset + 8), count <= longestNameInBytes else {
      return nil
    }
    let characters = (0..<count).lazy.compactMap { bytes.byte(at: offset + 12 + $0) }.prefix { $0 != 0 }
    return String(decoding: Array(characters), as: UTF8.self)
  }

  /// UTF-16, the first of the languages that are there.
  private static func localizedText(in bytes: ByteView, at offset: Int) -> String? {
    guard let names = bytes.bigEndian32(at: offset + 8), names > 0,
      let count = bytes.bigEndian32(at: offset + 20), count <= longestNameInBytes,
      let start = bytes.bigEndian32(at: offset + 24), bytes.has(count, at: offset + start)
    else { return nil }
    let units = stride(from: 0, to: count - 1, by: 2).lazy.compactMap { bytes.bigEndian16(at: offset + start + $0) }
    return String(decoding: units.prefix { $0 != 0 }.map { UInt16($0) }, as: UTF16.self)
  }
}

/// The first bytes of a file that arrives, kept until its header can be read from them.
struct ArrivingHeader {
  private(set) var bytes: [UInt8] = []
  /// How many bytes the next try needs: fewer than 12 may not even show their format.
  private var bytesForNextTry = 12
  private var tries = 0

  /// So many tries on so few bytes cost next to nothing: a small file's header is read as soon as it may be there.
  private static let freeTries = 64
  private static let freeBytes = 64 << 10

  /// Takes the next bytes and calls `read` with all bytes so far; returns nil if it needs more.
  mutating func append<Header>(
    _ more: UnsafeRawBufferPointer,
    read: (UnsafeRawBufferPointer) throws(ImageError) -> Header
  ) throws(ImageError) -> Header? {
    bytes += more
    guard bytes.count >= bytesForNextTry else { return nil }
    tries += 1
    do throws(ImageError) {
      return try bytes.withRawBytes(read)
    } catch {
      guard case .needsMoreBytes(let minimum) = error.kind else { throw error }
      // Later tries wait for an eighth more, so that all of them together cost at most nine times the whole.
      let isFree = tries < Self.freeTries && bytes.count < Self.freeBytes
      bytesForNextTry = max(minimum, bytes.count + (isFree ? 1 : bytes.count / 8))
      return nil
    }
  }
}
