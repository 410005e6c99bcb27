import ImagePrimitives

/// An absolute URL against which relative ones are resolved.
public struct BaseURL: Sendable, Hashable {
  /// The URL in normal form.
  public let bytes: [UInt8]
  public let parts: URLParts

  /// Parses the base; throws if ``URLNormalizer`` rejects it.
  public init(_ written: some StringProtocol) throws(InvalidURL) {
    var bytes: [UInt8] = []
    let text = Array(written.utf8)
    let normalizer = URLNormalizer()
    parts = try text.withRawBytes { written throws(InvalidURL) in
      try normalizer.normalize(written, relativeTo: nil, into: &bytes)
    }
    self.bytes = bytes
  }

  /// A URL that is already in normal form, such as one that redirects.
  public init(normalized bytes: UnsafeRawBufferPointer, parts: URLParts) {
    self.bytes = Array(bytes)
    self.parts = parts
  }
}

/// The kind of a URL reference (RFC 3986 section 4.1), which decides how a base completes it.
enum URLReference {
  /// It has a scheme, which ends before that offset.
  case absolute(schemeEnd: Int)
  /// `//host/path`
  case withoutScheme
  /// `/path`
  case absolutePath
  /// `?query`
  case query
  /// Empty, or only a fragment: the base itself.
  case same
  /// `path`
  case relativePath

  init(_ text: UnsafeRawBufferPointer) {
    switch text.first {
    case UInt8(ascii: "/"): self = text.count > 1 && text[1] == UInt8(ascii: "/") ? .withoutScheme : .absolutePath
    case UInt8(ascii: "?"): self = .query
    case UInt8(ascii: "#"), nil: self = .same
    case let first?:
      if let end = text.firstIndex(where: { !ByteSet.scheme.contains($0) }), text[end] == UInt8(ascii: ":"),
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= first | 32
      {
        self = .absolute(schemeEnd: end)
      } else {
        self = .relativePath
      }
    }
  }

  /// The length of the base's prefix that precedes the reference (RFC 3986 section 5.2.2); dot segments are removed later.
  func prefixLength(of base: BaseURL) -> Int {
    switch self {
    case .absolute: 0
    case .withoutScheme: base.parts.isSecure ? 6 : 5
    case .absolutePath: base.parts.path.lowerBound
    case .query: base.parts.path.upperBound
    case .same: base.parts.count
    case .relativePath: base.bytes[base.parts.path].lastIndex(of: UInt8(ascii: "/"))! + 1
    }
  }
}
