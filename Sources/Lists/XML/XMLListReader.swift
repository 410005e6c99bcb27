import Base

/// Rows of a sitemap or a feed, and the sitemaps and pages that it names.
final class XMLListReader: RowReader {
  /// Bytes per parser call; more bytes would mean more locations in memory.
  private static let feedBytes = 4096
  /// Bytes that are read without a row before other work gets a turn.
  private static let sliceBytes = 256 << 10

  private let buffer: InputBuffer
  private let parser: XMLListParser
  private let rules: XMLListRules
  private var hasBegun = false
  private var hasEnded = false

  init(_ buffer: InputBuffer, rules: XMLListRules) {
    self.buffer = buffer
    self.rules = rules
    parser = XMLListParser(rules)
  }

  /// Reads up to the first element, so that a file that is neither a sitemap nor a feed fails at once.
  func readHeader() throws(InputError) -> Bool {
    while parser.content == nil {
      if hasEnded || parser.failure != nil {
        if let failure = buffer.failure { throw failure }
        try checkEnd()
        throw InputError("it is empty; \(rules.kind.beginning)", line: 1)
      }
      if !feed() { return false }
    }
    return true
  }

  var mayNamePriority: Bool { rules.list.usesSitemapPriority && !(parser.content is FeedContent) }

  /// The locations of an index aren't entries.
  var hasRowsByBytes: Bool {
    parser.content != nil && (parser.content as? SitemapContent)?.isIndex != true && !rules.list.readsPages
  }

  /// Whether its rows may be none but pages that aren't read.
  var isSitemap: Bool { parser.content is SitemapContent }

  var remarks: ReadingRemarks { parser.locations.remarks }

  func checkEnd() throws(InputError) { if let failure = parser.failure { throw failure } }

  func next() -> RowStep {
    var consumed = buffer.offset
    while true {
      if let location = parser.locations.next() { return step(location) }
      if hasEnded || parser.failure != nil { return .end }
      if buffer.offset - consumed >= Self.sliceBytes {
        consumed = buffer.offset
        return .nothingYet
      }
      if !feed() { return .wouldBlock }
    }
  }

  private func step(_ location: XMLLocations.Location) -> RowStep {
    let text = parser.locations.text(of: location)
    switch location.kind {
    case .sitemap: return .child(text, line: location.line, .sitemap)
    case .page: return .child(text, line: location.line, .page)
    case .image: break
    }
    let priority = location.priority.map { UnsafeRawBufferPointer(start: $0.utf8Start, count: $0.utf8CodeUnitCount) }
    var row = Row(url: text, priority: priority, line: location.line)
    if text.count > InputBuffer.maximumRowBytes { row = .tooLong(text, line: location.line) }
    if text.isEmpty { row = .broken(text, line: location.line, problem: "empty location") }
    row.note = location.note
    return .row(row)
  }

  /// Consumes line breaks, spaces and byte order marks before the text, which XML doesn't allow but templates and plugins write;
  /// returns false if it would block.
  private func skipBlanks() -> Bool {
    let marks: [UInt8] = [0xef, 0xbb, 0xbf]
    while true {
      let bytes = buffer.bytes
      let count = bytes.prefix { UnsafeRawBufferPointer.isXMLSpace($0) || marks.contains($0) }.count
      parser.skip(UnsafeRawBufferPointer(rebasing: bytes.prefix(count)))
      buffer.consume(count)
      if count < bytes.count { return true }
      switch buffer.fill() {
      case .grown: break
      case .wouldBlock: return false
      case .ended: return true
      }
    }
  }

  /// Passes available bytes to the parser; returns false if it would block.
  private func feed() -> Bool {
    parser.locations.discardRead()
    guard hasBegun || skipBlanks() else { return false }
    switch buffer.find({ $0.isEmpty ? nil : true }) {
    case .found: break
    case .wouldBlock: return false
    case .none:
      hasEnded = true
      // If reading failed, that is the error to report, not the incomplete XML.
      if buffer.failure == nil, hasBegun { parser.feed(buffer.bytes, isLast: true) }
      return true
    }
    let bytes = UnsafeRawBufferPointer(rebasing: buffer.bytes.prefix(Self.feedBytes))
    hasBegun = true
    parser.feed(bytes, isLast: false)
    buffer.consume(bytes.count)
    return true
  }
}
