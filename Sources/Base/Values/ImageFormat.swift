/// An image format, recognised by the first bytes of a file.
public enum ImageFormat: UInt8, Sendable, CaseIterable, Hashable {
  case jpeg, png, gif, webp, avif, heic, tiff, bmp, svg, ico, jpegXL

  /// The maximum number of bytes that `init(of:)` examines of binary formats.
  package static let prefixLength = 512
  /// The number of bytes that it examines first of text and gzip data, also after decompressing them.
  package static let textPrefixLength = 16 << 10
  /// The maximum number of bytes that it examines of markup, whose first element may follow long comments.
  package static let markupPrefixLength = 1 << 20

  /// The name in job files and reports, such as `jpeg`.
  public var name: String {
    switch self {
    case .jpegXL: "jpeg-xl"
    default: "\(self)"
    }
  }

  /// The format with that name; nil for other text.
  public init?(name: some StringProtocol) {
    guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = match
  }

  /// The registered media type (IANA), such as `image/jpeg`.
  public var mediaType: String {
    switch self {
    case .jpeg: "image/jpeg"
    case .png: "image/png"
    case .gif: "image/gif"
    case .webp: "image/webp"
    case .avif: "image/avif"
    case .heic: "image/heic"
    case .tiff: "image/tiff"
    case .bmp: "image/bmp"
    case .svg: "image/svg+xml"
    case .ico: "image/vnd.microsoft.icon"
    case .jpegXL: "image/jxl"
    }
  }

  /// The format that files with this extension usually have, ignoring case; nil if it isn't an image's.
  public init?(fileExtension: some StringProtocol) {
    let written = fileExtension.lowercased()
    switch written {
    case "jpeg", "jpe", "jfif": self = .jpeg
    case "apng": self = .png
    case "heif": self = .heic
    case "tif": self = .tiff
    case "svgz": self = .svg
    case "cur": self = .ico
    default:
      guard let match = Self.allCases.first(where: { $0.fileExtension == written }) else { return nil }
      self = match
    }
  }

  /// Whether several pictures of a file are frames of an animation; in the other formats they are pages or sizes.
  public var isAnimatable: Bool {
    switch self {
    case .png, .gif, .webp, .avif, .heic, .jpegXL: true
    case .jpeg, .tiff, .bmp, .svg, .ico: false
    }
  }

  /// The usual file extension, without the dot.
  public var fileExtension: String {
    switch self {
    case .jpeg: "jpg"
    case .jpegXL: "jxl"
    default: "\(self)"
    }
  }
}

extension ImageFormat {
  /// Detects the format of a file by its first bytes; nil if they have no known signature.
  ///
  /// It examines at most 512 bytes; binary formats need fewer. The signatures come from the formats' specifications: ISO 23008-12 for
  /// `ftyp` brands, ISO 18181-2 for JPEG XL. SVG is text, maybe compressed by gzip, and is recognised by its first element or document
  /// type within 1 MiB.
  public init?(of bytes: some Collection<UInt8>) {
    let format = bytes.prefix(Self.markupPrefixLength).withRawBytes { Self(prefix: $0) }
    guard let format else { return nil }
    self = format
  }

  /// Detects the format of a file in a span by its first bytes; nil if they have no known signature.
  public init?(of bytes: RawSpan) {
    guard let format = bytes.withUnsafeBytes({ Self(prefix: $0) }) else { return nil }
    self = format
  }

  /// Detects the format of a file by its first bytes.
  package init?(prefix: UnsafeRawBufferPointer) {
    let bytes = ByteView(UnsafeRawBufferPointer(rebasing: prefix.prefix(Self.prefixLength)))
    guard let first = bytes.byte(at: 0) else { return nil }
    let match: ImageFormat? =
      switch first {
      case 0xFF: bytes.isJPEG ? .jpeg : bytes.isJPEGXLCodestream ? .jpegXL : nil
      case 0x89: bytes.isPNG ? .png : nil
      case UInt8(ascii: "G"): bytes.matches("GIF87a") || bytes.matches("GIF89a") ? .gif : nil
      case UInt8(ascii: "R"): bytes.matches("RIFF") && bytes.matches("WEBP", at: 8) ? .webp : nil
      case UInt8(ascii: "I"), UInt8(ascii: "M"): bytes.isTIFF ? .tiff : nil
      case UInt8(ascii: "B"): bytes.isBMP ? .bmp : nil
      case 0x00: bytes.isJPEGXLContainer ? .jpegXL : bytes.isICO ? .ico : bytes.formatByBrand
      default: nil
      }
    guard let match = match ?? (MarkupSniff(prefix).kind == .svg ? .svg : nil) else { return nil }
    self = match
  }
}

extension ByteView {
  fileprivate var isJPEG: Bool { bigEndian16(at: 0) == 0xFFD8 && byte(at: 2) == 0xFF }

  fileprivate var isPNG: Bool { bigEndian32(at: 0) == 0x8950_4E47 && bigEndian32(at: 4) == 0x0D0A_1A0A }

  /// Little or big endian, classic (42) or BigTIFF (43).
  fileprivate var isTIFF: Bool {
    matches("II*\0") || matches("MM\0*") || matches("II+\0") || matches("MM\0+")
  }

  /// Many texts begin with these two letters, so the size of the header that follows decides.
  fileprivate var isBMP: Bool {
    guard matches("BM"), let headerBytes = littleEndian32(at: 14) else { return false }
    return [12, 16, 40, 52, 56, 64, 108, 124].contains(headerBytes)
  }

  /// Reserved zero, type 1 or (a cursor) 2, and at least one picture whose own reserved byte is zero; .NET writes 255.
  fileprivate var isICO: Bool {
    guard let start = bigEndian32(at: 0), start == 0x0000_0100 || start == 0x0000_0200, let pictures = littleEndian16(at: 4),
      let reserved = byte(at: 9)
    else { return false }
    return pictures > 0 && (reserved == 0 || reserved == 255)
  }

  fileprivate var isJPEGXLCodestream: Bool { bigEndian16(at: 0) == 0xFF0A }

  fileprivate var isJPEGXLContainer: Bool {
    bigEndian32(at: 0) == 12 && matches("JXL ", at: 4) && bigEndian32(at: 8) == 0x0D0A_870A
  }

  /// AVIF or HEIC by the brands of the `ftyp` box: first the major brand, then the compatible ones.
  ///
  /// A major brand of `mif1` or `msf1` names only the container; a compatible brand then names the codec.
  fileprivate var formatByBrand: ImageFormat? {
    guard matches("ftyp", at: 4), let boxBytes = bigEndian32(at: 0), boxBytes >= 16 else { return nil }
    let compatible = stride(from: 16, to: min(boxBytes, count) - 3, by: 4)
    if let format = format(ofBrandAt: 8) { return format }
    guard isContainerBrand(at: 8) else { return nil }
    return compatible.lazy.compactMap { format(ofBrandAt: $0) }.first ?? .heic
  }

  private func format(ofBrandAt offset: Int) -> ImageFormat? {
    if matches("avif", at: offset) || matches("avis", at: offset) { return .avif }
    // heic, heix, heim, heis; hevc, hevx, hevm, hevs are sequences.
    guard matches("hei", at: offset) || matches("hev", at: offset), let last = byte(at: offset + 3) else { return nil }
    return [UInt8(ascii: "c"), UInt8(ascii: "x"), UInt8(ascii: "m"), UInt8(ascii: "s")].contains(last) ? .heic : nil
  }

  private func isContainerBrand(at offset: Int) -> Bool {
    matches("mif1", at: offset) || matches("msf1", at: offset)
  }
}
