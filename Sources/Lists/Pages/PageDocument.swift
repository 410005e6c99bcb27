package import Base

/// The images, links and stylesheets of an HTML page, without running its scripts.
package struct PageDocument: Sendable {
  /// The images in document order; those of `srcdoc` documents follow. An image occurs as often as the page names it.
  package let images: [PageImage]
  package let links: [PageLink]
  /// The stylesheets that the page loads, except alternate ones, and its web app manifest; read them with ``StylesheetDocument``.
  package let stylesheets: [PageStylesheet]
  package let remarks: PageRemarks
  /// Whether the page forbids robots to follow its links, by `meta name=robots`.
  package let isNoFollow: Bool
  /// The URLs, to which the ranges of the others refer.
  package let text: [UInt8]

  /// Parses a page.
  ///
  /// Any bytes are a page; nothing fails. `contentType` is the value of the header field, and `url` the page's URL after redirects.
  package init(_ bytes: UnsafeRawBufferPointer, contentType: String?, url: BaseURL, rules: PageRules = PageRules()) {
    let collector = PageCollector(rules, base: url)
    let reader = PageReader(collector)
    reader.read(bytes, contentType: contentType)
    images = collector.images
    links = collector.links
    stylesheets = collector.stylesheets
    remarks = collector.remarks
    isNoFollow = reader.isNoFollow
    text = collector.text
  }
}

/// The images and imports of a stylesheet, or the images of a web app manifest.
package struct StylesheetDocument: Sendable {
  package let images: [PageImage]
  package let imports: [PageStylesheet]
  package let remarks: PageRemarks
  /// The URLs, to which the ranges of the others refer.
  package let text: [UInt8]

  /// Parses a stylesheet or a manifest. Any bytes are one; nothing fails.
  package init(
    _ bytes: UnsafeRawBufferPointer,
    contentType: String?,
    url: BaseURL,
    rules: PageRules = PageRules(),
    isWebManifest: Bool = false
  ) {
    let collector = PageCollector(rules, base: url)
    let (encoding, markBytes) = PageEncoding.ofStylesheet(bytes, contentType: contentType)
    collector.withText(bytes, encoding, markBytes: markBytes) { text in
      if isWebManifest { return JSONImages(.webManifest, collector, line: 1).read(text) }
      StylesheetScan.scan(text, as: .stylesheet, line: 1, into: collector)
    }
    images = collector.images
    imports = collector.stylesheets
    remarks = collector.remarks
    text = collector.text
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
      if isCut { remarks.add(.bytes, line: 1 + text.lineBreaks) }
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
