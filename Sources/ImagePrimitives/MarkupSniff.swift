/// What a text that looks like markup is, by what stands before and at its first element.
enum MarkupSniff {
  case svg, html, xml, none

  /// Skips a byte order mark, white space, the XML declaration, processing instructions and comments, then looks at the document type or
  /// the first tag. HTML is told by the tags that the WHATWG's MIME Sniffing standard (section 7.1) lists.
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
      // A comment longer than the prefix: pages begin so, feeds hardly ever.
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
  /// Where text begins: after a byte order mark of UTF-8, if there is one.
  var textStart: Int { bigEndian16(at: 0) == 0xEFBB && byte(at: 2) == 0xBF ? 3 : 0 }

  /// Whether the tag stands there, in whatever case, and its name ends there.
  fileprivate func isTag(_ lowercased: StaticString, at offset: Int) -> Bool {
    guard matchesIgnoringCase(lowercased, at: offset) else { return false }
    guard let next = byte(at: offset + lowercased.utf8CodeUnitCount) else { return true }
    return next.isASCIIWhitespace || next == UInt8(ascii: ">") || next == UInt8(ascii: "/") || next == UInt8(ascii: "[")
  }
}
