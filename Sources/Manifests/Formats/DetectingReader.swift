/// Rows of a manifest of which only the beginning tells the format: a sitemap if it begins as XML, an access log if its first line is
/// one of a log, else text.
final class DetectingReader: RowReader {
  private let buffer: InputBuffer
  private let rules: SitemapRules
  private let manifest: String
  /// Whether a page of HTML is refused, which servers send in place of what is gone; in a file it is lines like others.
  private let isFetched: Bool
  /// Makes the reader of an access log, in which nothing but this file is counted.
  private let accessLog: () -> AccessLogReader
  private var reader: (any RowReader)?

  init(
    _ buffer: InputBuffer,
    rules: SitemapRules,
    manifest: String,
    isFetched: Bool,
    accessLog: @escaping () -> AccessLogReader
  ) {
    self.buffer = buffer
    self.rules = rules
    self.manifest = manifest
    self.isFetched = isFetched
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
    if isFetched, beginning == .page {
      throw ManifestError(manifest: manifest, line: 1, message: "the server sent a page of HTML in place of a list")
    }
    let reader: any RowReader
    if beginning == .sitemap {
      reader = SitemapReader(buffer, rules: rules, manifest: manifest)
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

  /// Whether the first line that is not blank is one of an access log; nil if more has to come first.
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
    guard let reader else { preconditionFailure("rows are asked for before the header is read") }
    return reader.next()
  }

  func takePlainRows(into rows: inout [PlainRow], maximum: Int) { reader?.takePlainRows(into: &rows, maximum: maximum) }

  func checkEnd() throws(ManifestError) { try reader?.checkEnd() }
}

/// What the first bytes of a text say of it, in UTF-8 or UTF-16, after any mark and white space.
enum TextBeginning {
  case sitemap, page, other
  /// More bytes are needed.
  case undecided

  private static let beginnings: [(letters: StaticString, meaning: TextBeginning)] = [
    ("<?xml", .sitemap), ("<urlset", .sitemap), ("<sitemapindex", .sitemap), ("<!doctype html", .page), ("<html", .page),
  ]
  /// Of so many bytes at most.
  private static let prefixBytes = 256

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
