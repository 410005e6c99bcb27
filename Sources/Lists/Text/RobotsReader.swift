/// The sitemaps that a robots.txt names (https://www.sitemaps.org/protocol.html#submit_robots).
final class RobotsReader: RowReader {
  private static let name = "sitemap"

  private let lines: LineReader
  private let buffer: InputBuffer
  private var hasSitemaps = false
  /// The rest of a line with several line breaks of old Macs.
  private var rest: Slice<UnsafeRawBufferPointer>?
  private var number: UInt64 = 0

  init(_ buffer: InputBuffer) {
    self.buffer = buffer
    lines = LineReader(buffer)
  }

  var hasRowsByBytes: Bool { false }

  func checkEnd() throws(InputError) {
    guard !hasSitemaps, buffer.failure == nil else { return }
    throw InputError("this robots.txt names no sitemap; name a sitemap's own URL")
  }

  func next() -> RowStep {
    while true {
      while let text = rest {
        let line = text.prefix { $0 != UInt8(ascii: "\r") }
        rest = line.endIndex < text.endIndex ? text[(line.endIndex + 1)...] : nil
        if let url = Self.sitemap(line) {
          hasSitemaps = true
          return .child(url, line: number, .sitemap)
        }
      }
      switch lines.next() {
      case .line(let line): (rest, number) = (line.bytes[...], line.number)
      case .wouldBlock: return .wouldBlock
      case .end: return .end
      }
    }
  }

  /// The URL of a line `Sitemap: URL`, whose name may be in any case, and which a comment may follow.
  private static func sitemap(_ line: Slice<UnsafeRawBufferPointer>) -> UnsafeRawBufferPointer? {
    let text = UnsafeRawBufferPointer(rebasing: line.prefix { $0 != UInt8(ascii: "#") }).trimmed()
    guard let colon = text.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let field = UnsafeRawBufferPointer(rebasing: text[..<colon]).trimmed()
    guard field.elementsEqual(name.utf8, by: { $0 | 0x20 == $1 }) else { return nil }
    let url = UnsafeRawBufferPointer(rebasing: text[(colon + 1)...]).trimmed()
    return url.isEmpty ? nil : url
  }

  /// Whether a line is one of a robots.txt (RFC 9309, section 2.2).
  static func begins(_ line: UnsafeRawBufferPointer) -> Bool {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return false }
    let field = String(decoding: UnsafeRawBufferPointer(rebasing: line[..<colon]).trimmed(), as: UTF8.self).lowercased()
    return ["user-agent", "disallow", "allow", name].contains(field)
  }
}
