/// The kind of content that a body's first bytes suggest, so that an error message can name it.
///
/// Servers often answer 200 with an error page, a login form or a JSON message if an image is missing.
public enum ContentSniff: Sendable, Hashable {
  case image(ImageFormat)
  case html
  /// An XML document other than SVG.
  case xml
  /// A JSON object or array.
  case json
  /// Other text.
  case text
  /// Binary data of an unknown format.
  case unknown
  case empty

  /// Examines the first ``ImageFormat/prefixLength`` bytes of `prefix`, or all if there are fewer.
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

  /// Whether the body can be an image: an image's signature, or binary data of an unknown format.
  public var canBeImage: Bool {
    switch self {
    case .image, .unknown: true
    case .html, .xml, .json, .text, .empty: false
    }
  }

  /// A phrase to follow "the body is": `an HTML page`, `an image (jpeg)`.
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
  /// Whether no byte is a "binary data byte" of the WHATWG's MIME Sniffing standard, section 3.
  ///
  /// UTF-16 contains such bytes, so its byte order mark counts as text.
  fileprivate var looksLikeText: Bool {
    if bigEndian16(at: 0) == 0xFFFE || bigEndian16(at: 0) == 0xFEFF { return true }
    return (0..<count).allSatisfy { offset in
      guard let byte = byte(at: offset), byte < 0x20 else { return true }
      return byte.isASCIIWhitespace && byte != 0x0B || byte == 0x1B
    }
  }

  /// Whether an object or array begins, followed by a character that JSON allows there.
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

/// The kind of markup, judged by the text before and at its first element.
enum MarkupSniff {
  case svg, html, xml, none

  /// Skips a byte order mark, white space, the XML declaration, processing instructions and comments, then examines the document
  /// type or the first tag. The tags of HTML are those that the WHATWG's MIME Sniffing standard lists in section 7.1.
  init(_ bytes: ByteView) {
    var offset = bytes.textStart
    var isXML = false
    while true {
      while let byte = bytes.byte(at: offset), byte.isASCIIWhitespace { offset += 1 }
      if bytes.matches("<?", at: offset) {
        isXML = isXML || bytes.matches("<?xml", at: offset)
        guard let end = bytes.firstOffset(of: "?>", from: offset + 2) else { break }
        offset = end + 2
      } else if bytes.matches("<!--", at: offset) {
        guard let end = bytes.firstOffset(of: "-->", from: offset + 4) else { break }
        offset = end + 3
      } else {
        break
      }
    }
    self = Self(elementAt: offset, of: bytes, isXML: isXML)
  }

  private init(elementAt offset: Int, of bytes: ByteView, isXML: Bool) {
    if bytes.matches("<svg:svg", at: offset) || bytes.isTag("<svg", at: offset) || bytes.isTag("<!doctype svg", at: offset) {
      self = .svg
    } else if bytes.isTag("<!doctype html", at: offset) || Self.tags.contains(where: { bytes.isTag($0, at: offset) }) {
      self = .html
    } else if bytes.matches("<!--", at: offset) {
      // A comment longer than the prefix: common in pages, rare in feeds.
      self = isXML ? .xml : .html
    } else {
      self = isXML ? .xml : .none
    }
  }

  private static let tags: [StaticString] = [
    "<html", "<head", "<script", "<iframe", "<h1", "<div", "<font", "<table", "<a", "<style", "<title", "<b", "<body", "<br",
    "<p",
    "<meta", "<link", "<center", "<span",
  ]
}

extension ByteView {
  /// The offset of the text, after a UTF-8 byte order mark if there is one.
  var textStart: Int { bigEndian16(at: 0) == 0xEFBB && byte(at: 2) == 0xBF ? 3 : 0 }

  /// Whether that tag begins at `offset`, ignoring case, and its name ends there.
  fileprivate func isTag(_ lowercased: StaticString, at offset: Int) -> Bool {
    guard matchesIgnoringCase(lowercased, at: offset) else { return false }
    guard let next = byte(at: offset + lowercased.utf8CodeUnitCount) else { return true }
    return next.isASCIIWhitespace || next == UInt8(ascii: ">") || next == UInt8(ascii: "/") || next == UInt8(ascii: "[")
  }
}
