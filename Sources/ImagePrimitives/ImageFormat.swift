/// A format of images, recognised by the first bytes of a file.
public enum ImageFormat: UInt8, Sendable, CaseIterable, Hashable {
  case jpeg, png, gif, webp, avif, heic, tiff, bmp, svg, ico, jpegXL

  /// How many bytes of a file ``init(prefix:)`` looks at, at most.
  public static let prefixLength = 512

  /// The name in job files and reports, such as `jpeg`.
  public var name: String {
    switch self {
    case .jpegXL: "jpeg-xl"
    default: "\(self)"
    }
  }

  /// The format of that name; nil for any other text.
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

  /// The usual file extension, without the dot.
  public var fileExtension: String {
    switch self {
    case .jpeg: "jpg"
    case .jpegXL: "jxl"
    default: "\(self)"
    }
  }
}
