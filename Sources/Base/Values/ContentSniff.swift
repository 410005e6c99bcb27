/// The kind of content that a body's first bytes suggest, so that an error message can name it.
///
/// Servers often answer 200 with an error page, a login form or a JSON message if an image is missing.
package enum ContentSniff: Sendable, Hashable {
  case image(ImageFormat)
  case html
  case xml
  case json
  /// Other text.
  case text
  /// Binary data of an unknown format.
  case unknown
  case empty

  /// Examines the first ``ImageFormat/prefixLength`` bytes of `prefix`, of text and gzip data those up to the
  /// first element of markup within ``ImageFormat/markupPrefixLength``, or all if there are fewer.
  package init(prefix: UnsafeRawBufferPointer) {
    let bytes = ByteView(UnsafeRawBufferPointer(rebasing: prefix.prefix(ImageFormat.prefixLength)))
    if bytes.count == 0 {
      self = .empty
    } else if let format = ImageFormat(prefix: prefix) {
      self = .image(format)
    } else {
      switch MarkupSniff(prefix).kind {
      case .svg: self = .image(.svg)
      case .html: self = .html
      case .xml: self = .xml
      case .none: self = bytes.looksLikeText ? (bytes.looksLikeJSON ? .json : .text) : .unknown
      }
    }
  }

  /// The number of bytes from the start that may decide what `prefix` is the beginning of, if it ends before the first element of markup: in
  /// white space, a prolog, a comment or a document type. Nil if `prefix` suffices.
  package static func bytesNeeded(after prefix: UnsafeRawBufferPointer) -> Int? {
    guard ImageFormat(prefix: prefix) == nil, MarkupSniff(prefix).isUndecided else { return nil }
    return min(max(ImageFormat.textPrefixLength, prefix.count * 2), ImageFormat.markupPrefixLength)
  }

  /// A phrase to follow "the body is": `an HTML page`, `an image (jpeg)`.
  package var summary: String {
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

/// An image that begins after other bytes, such as a line break or a warning that a script printed.
package struct LateImage {
  package let format: ImageFormat
  package let offset: Int
  /// What these bytes are, such as `line breaks`.
  package let before: String

  /// The number of binary bytes that may precede it; in more of them, three bytes that look like a signature may be chance.
  private static let maximumBinaryBytes = 512

  /// Searches a body that doesn't begin with an image, as far as ``ImageFormat/textPrefixLength``.
  package init?(in body: UnsafeRawBufferPointer) {
    let bytes = ByteView(body)
    // These have images in them.
    if bytes.matches("%PDF-") { return nil }
    for offset in 1..<max(1, min(body.count, ImageFormat.textPrefixLength)) {
      let isCandidate =
        switch body[offset] {
        case 0xFF: bytes.byte(at: offset + 1) == 0xD8
        case 0x89, UInt8(ascii: "G"), UInt8(ascii: "R"), UInt8(ascii: "I"), UInt8(ascii: "M"), UInt8(ascii: "B"): true
        case 0: bytes.matches("ftyp", at: offset + 4) || bytes.matches("JXL ", at: offset + 4)
        // Pages have SVG elements, but no XML declaration before them.
        case UInt8(ascii: "<"): bytes.matches("<?xml", at: offset)
        default: false
        }
      guard isCandidate, let format = ImageFormat(prefix: UnsafeRawBufferPointer(rebasing: body[offset...])) else { continue }
      let before = UnsafeRawBufferPointer(rebasing: body[..<offset])
      guard offset <= Self.maximumBinaryBytes || ByteView(before).looksLikeText else { return nil }
      (self.format, self.offset, self.before) = (format, offset, Self.kind(of: before))
      return
    }
    return nil
  }

  private static func kind(of before: UnsafeRawBufferPointer) -> String {
    if before.elementsEqual([0xEF, 0xBB, 0xBF]) { return "a byte order mark" }
    if before.allSatisfy({ $0 == 0x0A || $0 == 0x0D }) { return before.count == 1 ? "a line break" : "line breaks" }
    if before.allSatisfy(\.isASCIIWhitespace) { return "white space" }
    if MarkupSniff(before).kind == .html { return "HTML" }
    return ByteView(before).looksLikeText ? "text" : "binary data"
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
