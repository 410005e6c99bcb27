/// Rows of a manifest whose format is detected: a sitemap or a feed if it starts as XML, an access log if its first line
/// looks like one, else text.
final class DetectingReader: RowReader {
  /// The treatment of an HTML page.
  enum Page {
    /// As a list of URLs.
    case lines
    /// Servers often send a page instead of a missing file.
    case rejected
    case read(() -> PageRows)
  }

  private let buffer: InputBuffer
  private let rules: XMLListRules
  private let manifest: String
  private let page: Page
  /// Creates the reader of an access log, which counts this file only.
  private let accessLog: () -> AccessLogReader
  private var reader: (any RowReader)?

  init(
    _ buffer: InputBuffer,
    rules: XMLListRules,
    manifest: String,
    page: Page,
    accessLog: @escaping () -> AccessLogReader
  ) {
    self.buffer = buffer
    self.rules = rules
    self.manifest = manifest
    self.page = page
    self.accessLog = accessLog
  }

  func readHeader() throws(ManifestError) -> Bool {
    if let reader { return try reader.readHeader() }
    var beginning = TextBeginning(buffer.bytes)
    while beginning == .undecided {
      let filling = buffer.fill()
      if filling == .wouldBlock { return false }
      beginning = filling == .ended ? .other : TextBeginning(buffer.bytes)
    }
    if beginning == .page {
      switch page {
      case .lines: break
      case .rejected:
        let message = "the server sent an HTML page instead of a list; check its URL, or use 'page' for a page's images"
        throw ManifestError(manifest: manifest, line: 1, message: message)
      case .read(let make):
        let rows = make()
        reader = rows
        return try rows.readHeader()
      }
    }
    if beginning == .other, TextBeginning.isBinary(buffer.bytes) {
      throw ManifestError(manifest: manifest, message: "it is a binary file, not a list of URLs")
    }
    let reader: any RowReader
    if beginning == .xml {
      reader = XMLListReader(buffer, rules: rules, manifest: manifest)
    } else {
      guard let isLog = beginsAsLog() else { return false }
      if isLog {
        let log = accessLog()
        try log.checkSite()
        reader = log
      } else {
        reader = TextReader(buffer)
      }
    }
    self.reader = reader
    return try reader.readHeader()
  }

  /// Whether the first non-blank line is one of an access log; nil if more bytes have to arrive first.
  private func beginsAsLog() -> Bool? {
    while true {
      let text = buffer.bytes.drop { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
      let end = text.firstIndex(of: UInt8(ascii: "\n"))
      if end == nil, text.count <= InputBuffer.maximumRowBytes / 2 {
        switch buffer.fill() {
        case .grown: continue
        case .wouldBlock: return nil
        case .ended: break
        }
      }
      let rest = buffer.bytes.drop { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
      let line = rest.prefix { $0 != UInt8(ascii: "\n") }
      return AccessLogLine(UnsafeRawBufferPointer(rebasing: line).trimmed()) != nil
    }
  }

  var mayNamePriority: Bool { reader?.mayNamePriority ?? false }
  var hasRowsByBytes: Bool { reader?.hasRowsByBytes ?? true }
  var remarks: ReadingRemarks { reader?.remarks ?? ReadingRemarks() }

  func next() -> RowStep {
    guard let reader else { preconditionFailure("next() requires readHeader() first") }
    return reader.next()
  }

  func takePlainRows(into rows: inout [PlainRow], maximum: Int) { reader?.takePlainRows(into: &rows, maximum: maximum) }

  func checkEnd() throws(ManifestError) { try reader?.checkEnd() }
}

/// The format suggested by the first bytes of a text in UTF-8 or UTF-16, after any byte-order mark and white space.
enum TextBeginning {
  case xml, page, other
  /// More bytes are needed.
  case undecided

  private static let beginnings: [(letters: StaticString, meaning: TextBeginning)] = [
    ("<?xml", .xml), ("<urlset", .xml), ("<sitemapindex", .xml), ("<rss", .xml), ("<feed", .xml), ("<!doctype html", .page),
    ("<html", .page),
  ]
  /// The number of bytes that are examined at most.
  private static let prefixBytes = 256

  /// Whether the first bytes have a NUL: those of an image or an archive, which no list has.
  static func isBinary(_ bytes: UnsafeRawBufferPointer) -> Bool { bytes.prefix(prefixBytes).contains(0) }

  init(_ bytes: UnsafeRawBufferPointer) {
    let isSkipped = { (byte: UInt8) in [0, 0xef, 0xbb, 0xbf, 0xfe, 0xff, 0x20, 0x09, 0x0a, 0x0d].contains(byte) }
    let letters = bytes.prefix(Self.prefixBytes).drop(while: isSkipped).filter { $0 != 0 }
    self = letters.isEmpty && bytes.count < Self.prefixBytes ? .undecided : .other
    for (wanted, meaning) in Self.beginnings {
      let text = UnsafeBufferPointer(start: wanted.utf8Start, count: wanted.utf8CodeUnitCount)
      let isSame = zip(letters, text).allSatisfy { byte, letter in
        (UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte) == letter
      }
      if isSame, letters.count >= text.count {
        self = meaning
        return
      }
      if isSame, bytes.count < Self.prefixBytes { self = .undecided }
    }
  }
}
