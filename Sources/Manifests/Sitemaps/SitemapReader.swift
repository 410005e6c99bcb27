/// Rows of a sitemap, and the sitemaps that an index names.
final class SitemapReader: RowReader {
  /// What the parser takes at once: the more, the more locations wait.
  private static let feedBytes = 4096
  /// How much is read without a row before others get a turn.
  private static let sliceBytes = 256 << 10

  private let buffer: InputBuffer
  private let content: SitemapContent
  private let parser: SitemapParser
  private let manifest: String
  private let rules: SitemapRules
  private var hasBegun = false
  private var hasEnded = false

  init(_ buffer: InputBuffer, rules: SitemapRules, manifest: String) {
    self.buffer = buffer
    self.rules = rules
    self.manifest = manifest
    content = SitemapContent(rules)
    parser = SitemapParser(content)
  }

  /// Reads to the first element, so that what is no sitemap is known at once.
  func readHeader() throws(ManifestError) -> Bool {
    while content.root == nil {
      if hasEnded || parser.failure != nil {
        if let failure = buffer.failure { throw failure.error(in: manifest) }
        try checkEnd()
        throw ManifestError(manifest: manifest, line: 1, message: "it is empty, where a sitemap has <urlset> or <sitemapindex>")
      }
      if !feed() { return false }
    }
    return true
  }

  var mayNamePriority: Bool { rules.usesPriority }

  var hasRowsByBytes: Bool { content.root == .urlSet }

  var remarks: ReadingRemarks { content.remarks }

  func checkEnd() throws(ManifestError) {
    if let (line, message) = parser.failure { throw ManifestError(manifest: manifest, line: line, message: message) }
  }

  func next() -> RowStep {
    var consumed = buffer.offset
    while true {
      if let location = content.next() { return step(location) }
      if hasEnded || parser.failure != nil { return .end }
      if buffer.offset - consumed >= Self.sliceBytes {
        consumed = buffer.offset
        return .nothingYet
      }
      if !feed() { return .wouldBlock }
    }
  }

  private func step(_ location: SitemapContent.Location) -> RowStep {
    let text = content.text(of: location)
    if location.kind == .sitemap { return .sitemap(text, line: location.line) }
    if text.count > InputBuffer.maximumRowBytes { return .row(.tooLong(text, line: location.line)) }
    if text.isEmpty { return .row(.broken(text, line: location.line, problem: "the location is empty")) }
    let priority = location.priority.map { UnsafeRawBufferPointer(start: $0.utf8Start, count: $0.utf8CodeUnitCount) }
    return .row(Row(url: text, priority: priority, line: location.line))
  }

  /// Gives the parser what is there; false where it would have to wait.
  private func feed() -> Bool {
    content.discardRead()
    while buffer.bytes.isEmpty {
      switch buffer.fill() {
      case .grown: break
      case .wouldBlock: return false
      case .ended:
        hasEnded = true
        // Where the text broke off, that is told, and not what is missing in it.
        if buffer.failure == nil, hasBegun || !buffer.bytes.isEmpty { parser.feed(buffer.bytes, isLast: true) }
        buffer.consume(buffer.bytes.count)
        return true
      }
    }
    let bytes = UnsafeRawBufferPointer(rebasing: buffer.bytes.prefix(Self.feedBytes))
    hasBegun = true
    parser.feed(bytes, isLast: false)
    buffer.consume(bytes.count)
    return true
  }
}
