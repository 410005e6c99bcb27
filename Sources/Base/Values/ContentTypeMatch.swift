/// How a server's declared content type compares with the format of the bytes.
package enum ContentTypeMatch: UInt8, Sendable {
  /// The format's registered media type, or the one that nearly all servers send.
  case exact
  /// A common alias, such as `image/jpg`.
  case alias
  /// A type that names no format, such as `application/octet-stream`, `unknown/unknown` or `image/*`; none that is valid; or
  /// `text/xml` for SVG.
  case generic
  case absent
  /// Another format, or not an image type.
  case mismatch
}

extension ContentTypeMatch {
  /// Compares a declared `Content-Type` with the format of the bytes. Case and parameters are ignored (RFC 9110, section 8.3.1).
  /// Of several types, joined by commas as in repeated headers, the last valid one counts, but not `*/*` (Fetch, "extract a MIME
  /// type").
  package init(declared: String?, format: ImageFormat) {
    if declared == format.mediaType {
      self = .exact
      return
    }
    let types = (declared ?? "").utf8.split(separator: UInt8(ascii: ",")).lazy.map {
      $0.prefix { $0 != UInt8(ascii: ";") }.trimmed
    }
    guard types.contains(where: { !$0.isEmpty }) else {
      self = .absent
      return
    }
    guard let type = types.last(where: { $0.isMediaType && !$0.equals("*/*") }), !type.namesNoFormat else {
      self = .generic
      return
    }
    self =
      if format.expectedTypes.contains(where: { type.equals($0) }) {
        .exact
      } else if format.mediaTypeAliases.contains(where: { type.equals($0) }) {
        .alias
      } else if format.genericTypes.contains(where: { type.equals($0) }) {
        .generic
      } else {
        .mismatch
      }
  }
}

extension ImageFormat {
  /// The format with that media type or a common alias of it; nil for other types.
  package init?(mediaType: String?) {
    let named = Self.allCases.first { format in
      let match = ContentTypeMatch(declared: mediaType, format: format)
      return match == .exact || match == .alias
    }
    guard let named else { return nil }
    self = named
  }

  fileprivate var expectedTypes: [String] {
    // The registered type of icons is rare; the WHATWG's MIME Sniffing standard, section 6.1, uses this one.
    self == .ico ? [mediaType, "image/x-icon"] : [mediaType]
  }

  /// Other names that servers use for the format, in lower case.
  fileprivate var mediaTypeAliases: [String] {
    switch self {
    case .jpeg: ["image/jpg", "image/pjpeg", "image/jfif"]
    case .png: ["image/x-png", "image/apng", "image/vnd.mozilla.apng"]
    case .gif: []
    case .webp: ["image/x-webp"]
    case .avif: ["image/avif-sequence"]
    case .heic: ["image/heif", "image/heic-sequence", "image/heif-sequence"]
    case .tiff: ["image/tif", "image/x-tif", "image/x-tiff"]
    case .bmp: ["image/x-ms-bmp", "image/ms-bmp", "image/x-bmp", "image/x-windows-bmp"]
    // The last one is freedesktop.org's for SVGZ.
    case .svg: ["image/svg", "image/svg-xml", "application/svg+xml", "image/svg+xml-compressed"]
    // The last one is that of cursors.
    case .ico: ["image/ico", "image/icon", "image/x-ico", "image/x-ms-icon", "image/x-win-bitmap"]
    case .jpegXL: ["image/x-jxl"]
    }
  }

  /// Types that name only the format's container.
  fileprivate var genericTypes: [String] { self == .svg ? ["text/xml", "application/xml"] : [] }
}

extension Substring.UTF8View {
  fileprivate var trimmed: Substring.UTF8View {
    let rest = drop { $0.isASCIIWhitespace }
    guard let last = rest.lastIndex(where: { !$0.isASCIIWhitespace }) else { return rest.dropFirst(rest.count) }
    return rest[...last]
  }

  /// Whether the text is a type and a subtype (MIME Sniffing, section 4.4, "parse a MIME type").
  fileprivate var isMediaType: Bool {
    guard let slash = firstIndex(of: UInt8(ascii: "/")), slash > startIndex, index(after: slash) < endIndex else { return false }
    let isToken = { (byte: UInt8) in byte > 0x20 && byte < 0x7F && !"\"(),/:;<=>?@[\\]{}".utf8.contains(byte) }
    return self[..<slash].allSatisfy(isToken) && self[index(after: slash)...].allSatisfy(isToken)
  }

  /// Whether the media type says nothing about the data: the unknown types of MIME Sniffing, section 7, wildcards, and those that
  /// servers and stores send for data of any kind or for downloads.
  fileprivate var namesNoFormat: Bool {
    guard let slash = firstIndex(of: UInt8(ascii: "/")) else { return true }
    let (type, subtype) = (self[..<slash], self[index(after: slash)...])
    return Self.unknownNames.contains { type.equals($0) || subtype.equals($0) || subtype.isExtension(named: $0) }
  }

  private static var unknownNames: [String] {
    ["unknown", "*", "octet-stream", "octetstream", "binary", "download", "force-download", "undefined", "unspecified"]
  }

  /// Whether it is the name with the prefix of unregistered types (RFC 6648).
  private func isExtension(named name: String) -> Bool {
    count == name.utf8.count + 2 && dropFirst(2).equals(name) && prefix(2).equals("x-")
  }

  fileprivate func equals(_ lowercased: String) -> Bool {
    elementsEqual(lowercased.utf8) { $0.asciiLowercased == $1 }
  }
}
