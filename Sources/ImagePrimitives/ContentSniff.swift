/// What the first bytes of a body are, so that a page behind an image's URL can be called by its name.
///
/// A server that answers 200 with an error page, a login form or a JSON message is the usual way for an image to be missing.
public enum ContentSniff: Sendable, Hashable {
  /// An image of that format.
  case image(ImageFormat)
  /// A page.
  case html
  /// An XML document that is no SVG.
  case xml
  /// A JSON object or array.
  case json
  /// Other readable text.
  case text
  /// Binary data of no format known here.
  case unknown
  /// No bytes at all.
  case empty

  /// Looks at the first ``ImageFormat/prefixLength`` bytes of `prefix`, or at all it has.
  public init(prefix: UnsafeRawBufferPointer) {
    let bytes = ByteView(UnsafeRawBufferPointer(rebasing: prefix.prefix(ImageFormat.prefixLength)))
    if bytes.count == 0 {
      self = .empty
    } else if let format = ImageFormat(prefix: prefix) {
      self = .image(format)
    } else {
      switch MarkupSniff(bytes) {
      case .svg: self = .image(.svg)
      case .html: self = .html
      case .xml: self = .xml
      case .none: self = bytes.looksLikeText ? (bytes.looksLikeJSON ? .json : .text) : .unknown
      }
    }
  }

  /// Whether an image can follow from here: an image's signature, or nothing that speaks against one.
  public var canBeImage: Bool {
    switch self {
    case .image, .unknown: true
    case .html, .xml, .json, .text, .empty: false
    }
  }

  /// What it is, to be put after "the body is": `an HTML page`, `a JPEG image`.
  public var summary: String {
    switch self {
    case .image(let format): "an image (\(format.name))"
    case .html: "an HTML page"
    case .xml: "an XML document"
    case .json: "JSON"
    case .text: "text"
    case .unknown: "of no known image format"
    case .empty: "empty"
    }
  }
}

extension ByteView {
  /// No byte that text does not have: the "binary data bytes" of the WHATWG's MIME Sniffing standard, section 3.
  ///
  /// UTF-16 has such bytes, and is told by its byte order mark.
  fileprivate var looksLikeText: Bool {
    if bigEndian16(at: 0) == 0xFFFE || bigEndian16(at: 0) == 0xFEFF { return true }
    return (0..<count).allSatisfy { offset in
      guard let byte = byte(at: offset), byte < 0x20 else { return true }
      return byte.isASCIIWhitespace && byte != 0x0B || byte == 0x1B
    }
  }

  /// An object or array begins, and what follows the brace can stand there.
  fileprivate var looksLikeJSON: Bool {
    var offset = textStart
    func next() -> UInt8? {
      while let byte = byte(at: offset), byte.isASCIIWhitespace { offset += 1 }
      defer { offset += 1 }
      return byte(at: offset)
    }
    switch next() {
    case UInt8(ascii: "{"):
      let second = next()
      return second == UInt8(ascii: "\"") || second == UInt8(ascii: "}")
    case UInt8(ascii: "["):
      guard let second = next() else { return false }
      return "\"{[]tfn-0123456789".utf8.contains(second)
    default:
      return false
    }
  }
}
