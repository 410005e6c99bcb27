/// How a server's declared content type fits the format that the bytes have.
public enum ContentTypeMatch: UInt8, Sendable {
  /// It is the format's registered media type.
  case exact
  /// It is a usual alias, such as `image/jpg`.
  case alias
  /// It says nothing, such as `application/octet-stream`.
  case generic
  /// There was none.
  case absent
  /// It names another format, or no image at all.
  case mismatch
}

extension ContentTypeMatch {
  /// Compares a declared `Content-Type` with the format that the bytes have.
  ///
  /// Case and parameters (`; charset=…`) do not matter (RFC 9110, section 8.3.1); of several types joined by commas, as repeated headers
  /// are, the first counts. Nothing, or nothing but white space, is ``absent``.
  public init(declared: String?, format: ImageFormat) {
    let type = declared.map { $0.utf8.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: ",") } }
    guard let type = type?.trimmed, !type.isEmpty else {
      self = .absent
      return
    }
    self =
      if type.equals(format.mediaType) {
        .exact
      } else if format.mediaTypeAliases.contains(where: { type.equals($0) }) {
        .alias
      } else if type.equals("application/octet-stream") || type.equals("binary/octet-stream") {
        .generic
      } else {
        .mismatch
      }
  }
}

extension ImageFormat {
  /// Names that servers use for the format beside the registered one, in lower case.
  fileprivate var mediaTypeAliases: [String] {
    switch self {
    case .jpeg: ["image/jpg", "image/pjpeg", "image/jfif"]
    case .png: ["image/x-png", "image/apng", "image/vnd.mozilla.apng"]
    case .gif: []
    case .webp: ["image/x-webp"]
    case .avif: ["image/avif-sequence"]
    case .heic: ["image/heif", "image/heic-sequence", "image/heif-sequence"]
    case .tiff: ["image/tif", "image/x-tiff"]
    case .bmp: ["image/x-ms-bmp", "image/x-bmp", "image/x-windows-bmp"]
    case .svg: ["image/svg"]
    case .ico: ["image/x-icon", "image/ico"]
    case .jpegXL: ["image/x-jxl"]
    }
  }
}

extension Substring.UTF8View {
  fileprivate var trimmed: Substring.UTF8View {
    let rest = drop { $0.isASCIIWhitespace }
    guard let last = rest.lastIndex(where: { !$0.isASCIIWhitespace }) else { return rest }
    return rest[...last]
  }

  /// Whether it is `lowercased`, in whatever case.
  fileprivate func equals(_ lowercased: String) -> Bool {
    elementsEqual(lowercased.utf8) { $0.asciiLowercased == $1 }
  }
}
