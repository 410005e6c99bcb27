import CGumbo
package import Base

/// The images, links and stylesheets of an HTML page, without running its scripts; or those of a stylesheet or a web app
/// manifest.
package struct PageDocument: Sendable {
  /// The images in document order; those of `srcdoc` documents follow. An image occurs as often as the page names it.
  package internal(set) var images: [PageImage] = []
  package internal(set) var links: [PageLink] = []
  /// The stylesheets that the page loads, except alternate ones, and its web app manifest; or the imports of a stylesheet.
  package internal(set) var stylesheets: [PageLink] = []
  package internal(set) var remarks = PageRemarks()
  /// Whether the page forbids robots to follow its links, by `meta name=robots`.
  package internal(set) var isNoFollow = false
  /// The URLs, to which the ranges of the others refer.
  package internal(set) var text: [UInt8] = []

  init() {}

  /// Parses a page.
  ///
  /// Any bytes are a page; nothing fails. `contentType` is the value of the header field, and `url` the page's URL after
  /// redirects.
  package init(_ bytes: UnsafeRawBufferPointer, contentType: String?, url: BaseURL, rules: PageRules = PageRules()) {
    let collector = PageCollector(rules, base: url)
    PageReader(collector).read(bytes, contentType: contentType)
    self = collector.document
  }

  /// Parses a stylesheet or a web app manifest. Any bytes are one; nothing fails.
  package init(
    stylesheet bytes: UnsafeRawBufferPointer,
    contentType: String?,
    url: BaseURL,
    rules: PageRules = PageRules(),
    isWebManifest: Bool = false
  ) {
    let collector = PageCollector(rules, base: url)
    let (encoding, markBytes) = PageEncoding.of(bytes, contentType: contentType, isPage: false)
    collector.withText(bytes, encoding, markBytes: markBytes) { text in
      if isWebManifest { return JSONImages(.webManifest, collector, line: 1).read(text) }
      StylesheetScan.scan(text, as: .stylesheet, line: 1, into: collector)
    }
    self = collector.document
  }
}

/// An image that a page or stylesheet names.
package struct PageImage: Sendable {
  /// The range of its URL in the document's `text`: in normal form, or as written if there is a problem.
  package var url: Range<Int>
  /// Empty if there is a problem.
  package var parts: URLParts
  /// The reason why it has no valid URL.
  package var problem: String?
  /// The line of its element or declaration, from 1.
  package var line: UInt64
  package var origin: PageOrigin
  package var claims = ImageClaims()
}

/// Another page that a page names, its web app manifest, or a stylesheet of it or of another one.
package struct PageLink: Sendable {
  /// The range of its URL in the document's `text`, in normal form.
  package var url: Range<Int>
  package var parts: URLParts
  package var line: UInt64
  /// Whether `rel` has `nofollow`.
  package var isNoFollow = false
  package var isWebManifest = false
}

/// Reads a page, and the documents in its `srcdoc` attributes, into a collector.
private final class PageReader {
  private let collector: PageCollector
  private var limits: PageLimits { collector.rules.limits }
  /// The memory that the trees may still use.
  private var remainingBytes = 0
  private var frames: [(text: [UInt8], line: UInt64, depth: Int)] = []

  init(_ collector: PageCollector) { self.collector = collector }

  func read(_ bytes: UnsafeRawBufferPointer, contentType: String?) {
    let (encoding, markBytes) = PageEncoding.of(bytes, contentType: contentType, isPage: true)
    collector.withText(bytes, encoding, markBytes: markBytes) { readParts($0, firstLine: 1, depth: 0) }
    // After the page's own tree, so that there is one tree at a time. Each starts with the base of its page.
    let base = collector.base
    var next = 0
    while next < frames.count {
      let frame = frames[next]
      frames[next].text = []
      next += 1
      guard remainingBytes > 0 else { return collector.document.remarks.add(.memory, line: frame.line) }
      collector.base = base
      frame.text.withRawBytes { readParts($0, firstLine: frame.line, depth: frame.depth) }
    }
  }

  private func readParts(_ text: UnsafeRawBufferPointer, firstLine: UInt64, depth: Int) {
    if depth == 0 { remainingBytes = limits.totalTreeBytes(of: text.count) }
    var rest = text
    var line = firstLine
    var hasBase = false
    while !rest.isEmpty {
      let tree = HTMLTree(rest, limits, remainingBytes: remainingBytes)
      remainingBytes -= tree.usedBytes
      if !hasBase, let base = base(in: tree) {
        collector.base = base
        hasBase = true
      }
      // Lines in a srcdoc are those of its element.
      let elements = PageElements(collector, firstLine: depth == 0 ? line : firstLine, hasFixedLine: depth > 0)
      tree.forEachElement { elements.read($0) }
      for (text, line) in elements.frames {
        if depth < limits.frames {
          frames.append((text, line, depth + 1))
        } else {
          collector.document.remarks.add(.frames, line: line)
        }
      }
      line += UnsafeRawBufferPointer(rebasing: rest.prefix(tree.bytes)).lineBreaks
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(tree.bytes))
      switch tree.end {
      case CGUMBO_COMPLETE: return
      case CGUMBO_TOO_MANY_ATTRIBUTES: return collector.document.remarks.add(.attributes, line: line)
      case CGUMBO_TOO_DEEP: collector.document.remarks.nesting.add(line: line)
      default: break
      }
      if tree.bytes == 0 || remainingBytes <= 0 { return collector.document.remarks.add(.memory, line: line) }
    }
  }

  /// The first `base` element with a URL applies to the whole document (HTML Standard, section 4.2.3).
  private func base(in tree: borrowing HTMLTree) -> BaseURL? {
    var written: UnsafeRawBufferPointer?
    tree.forEachElement { element in
      if written == nil, element.tag == GUMBO_TAG_BASE, !element.isSVG { written = element.attribute("href") }
    }
    return written.flatMap { collector.baseURL($0) }
  }
}

extension PageCollector {
  /// Calls `body` with the text in UTF-8, cut at the limit.
  func withText(
    _ bytes: UnsafeRawBufferPointer,
    _ encoding: PageEncoding,
    markBytes: Int,
    _ body: (UnsafeRawBufferPointer) -> Void
  ) {
    let maximum = rules.limits.bytes
    let start = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(markBytes).prefix(maximum))
    let converted = encoding.utf8(of: start, maximum: maximum)
    let isCut = bytes.count - markBytes > maximum || (converted?.count ?? 0) >= maximum
    func finish(_ text: UnsafeRawBufferPointer) {
      body(text)
      if isCut { document.remarks.add(.bytes, line: 1 + text.lineBreaks) }
    }
    if let converted { converted.withRawBytes { finish($0) } } else { finish(start) }
  }
}

extension UnsafeRawBufferPointer {
  /// The number of line breaks as HTML and CSS count them: LF, CR, or both.
  var lineBreaks: UInt64 {
    var count: UInt64 = 0
    var last: UInt8 = 0
    for byte in self {
      if byte == 0x0d || (byte == 0x0a && last != 0x0d) { count += 1 }
      last = byte
    }
    return count
  }
}
