import CZlib

/// The kind of markup, judged by the text before and at its first element.
struct MarkupSniff {
  enum Kind {
    case svg, html, xml, none
  }

  /// The kind as far as the bytes determine it.
  private(set) var kind = Kind.none
  /// Whether the bytes end before the first element or the document type, so that more may change the kind.
  private(set) var isUndecided = false

  /// Examines the first bytes, at most ``ImageFormat/markupPrefixLength``: of text in UTF-8, another superset of ASCII or UTF-16,
  /// or inflated if they begin with gzip's signature. It skips a byte order mark, white space, the XML declaration, processing
  /// instructions and comments, then examines the document type or the first tag. HTML's tags are those of the WHATWG's MIME
  /// Sniffing standard, section 7.1.
  init(_ prefix: UnsafeRawBufferPointer) {
    var length = ImageFormat.textPrefixLength
    while true {
      let hasMore = examine(prefix, upTo: length)
      guard isUndecided, hasMore, length < ImageFormat.markupPrefixLength else { break }
      length *= 4
    }
    // More bytes don't help if the limit is reached.
    if length >= ImageFormat.markupPrefixLength { isUndecided = false }
  }

  /// Examines `length` bytes of the text; returns whether there are more.
  private mutating func examine(_ prefix: UnsafeRawBufferPointer, upTo length: Int) -> Bool {
    (kind, isUndecided) = (.none, false)
    if ByteView(prefix).bigEndian16(at: 0) == 0x1F8B {
      let text = prefix.inflated(upTo: length)
      text.withUnsafeBytes { read(ByteView($0)) }
      // Browsers show no page that is compressed as a file.
      if kind != .svg { kind = .none }
      return text.count == length
    }
    let bytes = UnsafeRawBufferPointer(rebasing: prefix.prefix(length))
    if let text = bytes.narrowedUTF16 {
      text.withUnsafeBytes { read(ByteView($0)) }
      if kind != .svg { kind = .none }
    } else {
      read(ByteView(bytes))
    }
    return prefix.count > length
  }

  private mutating func read(_ bytes: ByteView) {
    var offset = bytes.textStart
    var isXML = false
    while true {
      while let byte = bytes.byte(at: offset), byte.isASCIIWhitespace { offset += 1 }
      var end: Int?
      if bytes.matches("<?", at: offset) {
        isXML = isXML || bytes.matches("<?xml", at: offset)
        end = bytes.firstOffset(of: "?>", from: offset + 2).map { $0 + 2 }
      } else if bytes.matches("<!--", at: offset) {
        end = bytes.firstOffset(of: "-->", from: offset + 4).map { $0 + 3 }
      } else if bytes.isTag("<!doctype", at: offset), !bytes.isDocumentType(of: "html", at: offset) {
        if bytes.isDocumentType(of: "svg", at: offset) || bytes.isDocumentType(of: "svg:svg", at: offset) { break }
        end = bytes.endOfDocumentType(at: offset)
      } else {
        break
      }
      guard let end else {
        isUndecided = true
        break
      }
      offset = end
    }
    isUndecided = isUndecided || bytes.endsWithin(tagAt: offset)
    kind = Kind(elementAt: offset, of: bytes, isXML: isXML)
  }

  fileprivate static let tags: [StaticString] = [
    "<html", "<head", "<script", "<iframe", "<h1", "<div", "<font", "<table", "<a", "<style", "<title", "<b", "<body", "<br",
    "<p",
    "<meta", "<link", "<center", "<span",
  ]
}

extension MarkupSniff.Kind {
  fileprivate init(elementAt offset: Int, of bytes: ByteView, isXML: Bool) {
    if bytes.isSVGTag(at: offset) || bytes.isDocumentType(of: "svg", at: offset)
      || bytes.isDocumentType(of: "svg:svg", at: offset)
    {
      self = .svg
    } else if bytes.isDocumentType(of: "html", at: offset) || MarkupSniff.tags.contains(where: { bytes.isTag($0, at: offset) }) {
      self = .html
    } else if bytes.matches("<!--", at: offset) {
      // A comment longer than the prefix: common in pages, rare in feeds.
      self = isXML ? .xml : .html
    } else {
      self = isXML ? .xml : .none
    }
  }
}

extension ByteView {
  /// The offset of the text, after a UTF-8 byte order mark if there is one.
  var textStart: Int { bigEndian16(at: 0) == 0xEFBB && byte(at: 2) == 0xBF ? 3 : 0 }

  fileprivate func isTag(_ lowercased: StaticString, at offset: Int) -> Bool {
    matchesIgnoringCase(lowercased, at: offset) && isEndOfName(at: offset + lowercased.utf8CodeUnitCount)
  }

  private func isEndOfName(at offset: Int) -> Bool {
    guard let next = byte(at: offset) else { return true }
    return next.isASCIIWhitespace || next == UInt8(ascii: ">") || next == UInt8(ascii: "/") || next == UInt8(ascii: "[")
  }

  /// Whether the root element `svg` begins at `offset`, with any prefix.
  fileprivate func isSVGTag(at offset: Int) -> Bool {
    if isTag("<svg", at: offset) { return true }
    guard byte(at: offset) == UInt8(ascii: "<") else { return false }
    var end = offset + 1
    while let byte = byte(at: end), byte.isNameCharacter, end - offset < 64 { end += 1 }
    return end > offset + 1 && matches(":svg", at: end) && isEndOfName(at: end + 4)
  }

  /// Whether the document type at `offset` is of that root element.
  fileprivate func isDocumentType(of root: StaticString, at offset: Int) -> Bool {
    guard isTag("<!doctype", at: offset) else { return false }
    var name = offset + 9
    while let byte = byte(at: name), byte.isASCIIWhitespace { name += 1 }
    return isTag(root, at: name)
  }

  /// The offset behind the document type at `offset`, which may have declarations in brackets (XML 1.0, section 2.8).
  fileprivate func endOfDocumentType(at offset: Int) -> Int? {
    var (offset, depth) = (offset + 9, 0)
    while let byte = byte(at: offset) {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "'"):
        offset += 1
        while let other = self.byte(at: offset), other != byte { offset += 1 }
      case UInt8(ascii: "<") where matches("<!--", at: offset):
        guard let end = firstOffset(of: "-->", from: offset + 4) else { return nil }
        offset = end + 2
      case UInt8(ascii: "<") where matches("<?", at: offset):
        guard let end = firstOffset(of: "?>", from: offset + 2) else { return nil }
        offset = end + 1
      case UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: ">") where depth <= 0: return offset + 1
      default: break
      }
      offset += 1
    }
    return nil
  }

  /// Whether the bytes end at `offset`, or within the name of the tag or document type there.
  fileprivate func endsWithin(tagAt offset: Int) -> Bool {
    guard offset < count else { return true }
    guard byte(at: offset) == UInt8(ascii: "<"), count - offset < 64 else { return false }
    let isDeclaration = byte(at: offset + 1) == UInt8(ascii: "!")
    return (offset + 1..<count).allSatisfy { place in
      guard let byte = byte(at: place) else { return false }
      return byte.isNameCharacter || byte == UInt8(ascii: ":")
        || isDeclaration && (byte == UInt8(ascii: "!") || byte.isASCIIWhitespace)
    }
  }
}

extension UInt8 {
  fileprivate var isNameCharacter: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), 0x80...: true
    default: false
    }
  }
}

extension UnsafeRawBufferPointer {
  /// UTF-16 with a byte order mark or `<` at its start, each character as a byte: `?` if it isn't in ISO 8859-1. Nil for other bytes.
  fileprivate var narrowedUTF16: [UInt8]? {
    guard count >= 2 else { return nil }
    let high: Int
    switch (self[0], self[1]) {
    case (0xFF, 0xFE), (UInt8(ascii: "<"), 0): high = 1
    case (0xFE, 0xFF), (0, UInt8(ascii: "<")): high = 0
    default: return nil
    }
    let start = self[0] | self[1] == 0xFF ? 2 : 0
    return stride(from: start, to: count - 1, by: 2).map { self[$0 + high] == 0 ? self[$0 + 1 - high] : UInt8(ascii: "?") }
  }

  /// The beginning of the data of a gzip file, as far as these bytes contain it.
  fileprivate func inflated(upTo length: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: length) { output, written in
      var stream = z_stream()
      // zlib keeps the address of its stream.
      withUnsafeMutablePointer(to: &stream) { stream in
        // 16 more than the window size means gzip only.
        guard inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else { return }
        stream.pointee.next_in = UnsafeMutablePointer(mutating: bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(clamping: count)
        stream.pointee.next_out = output.baseAddress
        stream.pointee.avail_out = UInt32(clamping: length)
        _ = inflate(stream, Z_SYNC_FLUSH)
        written = length - Int(stream.pointee.avail_out)
        inflateEnd(stream)
      }
    }
  }
}
