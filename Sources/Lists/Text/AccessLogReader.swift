import Base

/// Rows of access logs: the requested targets, most requested first. All files are read before the first row.
///
/// The files of one list are counted together, as one rotated log. Each has its own reader; the last one returns
/// the rows of all, as far as they could be read.
final class AccessLogReader: RowReader {
  /// Lines that are read before other work gets a turn.
  private static let sliceLines = 65_536
  private static let shownBytes = 120

  private let buffer: InputBuffer
  private let lines: LineReader
  private let forms: LogLines
  private let index: Int
  private let file: ListFile
  private let targets: LoggedTargets
  private let takesEveryTarget: Bool
  /// The reference in the last row.
  private let reference = GrowingBytes()
  private let counter: RequestCounter
  private var hasCounted = false
  /// Whether counting failed, so that there are no rows.
  private var hasBroken = false
  private var failure: InputError?
  private(set) var remarks = ReadingRemarks()

  /// Creates a reader of the file at `index` that counts with `counter`, which all files of the list share.
  init(_ buffer: InputBuffer, _ file: ListFile, index: Int, of list: URLList, counter: RequestCounter) {
    (self.buffer, self.file, self.index, self.counter) = (buffer, file, index, counter)
    lines = LineReader(buffer)
    forms = LogLines(list.columns)
    targets = LoggedTargets(base: file.base)
    takesEveryTarget = !list.include.isEmpty
  }

  /// Throws if the site of the log's paths is unknown.
  func checkSite() throws(InputError) {
    guard file.base == nil, !takesEveryTarget else { return }
    let site = "set base-url to their site, such as https://www.example.com"
    throw InputError("an access log contains only paths; \(site)", line: 1)
  }

  var hasRowsByBytes: Bool { false }

  func checkEnd() throws(InputError) { if let failure { throw failure } }

  func next() -> RowStep {
    if hasBroken { return .end }
    do throws(InputError) {
      guard hasCounted else { return try count() }
      switch try counter.next() {
      case .target(let target, let location): return row(target, location)
      case .nothingYet: return .nothingYet
      case .end: return .end
      }
    } catch {
      failure = error
      hasBroken = true
      return .end
    }
  }

  private func count() throws(InputError) -> RowStep {
    for _ in 0..<Self.sliceLines {
      switch lines.next() {
      case .line(let line):
        try count(line)
        if failure != nil { return try end() }
      case .wouldBlock: return .wouldBlock
      case .end: return try end()
      }
    }
    return .nothingYet
  }

  /// Ends the file; the last begins the rows of all.
  private func end() throws(InputError) -> RowStep {
    guard file.isLast else { return .end }
    hasCounted = true
    try counter.finish()
    return .nothingYet
  }

  private func count(_ line: LineReader.Line) throws(InputError) {
    let text = line.bytes.trimmed()
    if text.isEmpty { return }
    let (found, isEscaped): (UnsafeRawBufferPointer?, Bool)
    switch line.isTooLong ? .other : forms.read(text) {
    case .request(let target, let escapes): (found, isEscaped) = (target, escapes)
    case .directive: return
    case .other:
      return remarks.malformedLines.add(line: line.number, String(decoding: text.prefix(Self.shownBytes), as: UTF8.self))
    }
    guard let written = found, takesEveryTarget || ImageExtension.ends(written), let target = targets.accepted(written)
    else {
      remarks.otherRequests += 1
      return
    }
    let isPath = target.first == UInt8(ascii: "/")
    if file.base == nil, isPath || !takesEveryTarget {
      let message =
        isPath
        ? "the log contains only paths; set base-url to their site, such as https://www.example.com"
        : "the log contains URLs of any host; set base-url to your site, or select URLs with include"
      return failure = InputError(message, line: line.number)
    }
    remarks.entries += 1
    try counter.add(target, isEscaped: isEscaped, location: LogLocation(file: index, line: line.number))
  }

  private func row(_ target: UnsafeRawBufferPointer, _ location: LogLocation) -> RowStep {
    reference.removeAll()
    LoggedTargets.appendReference(target, to: reference)
    return .row(Row(url: reference.bytes, line: location.line, file: location.file))
  }
}

/// The escapes of log files: `\xHH`, `\"`, `\\`, and those of C for white space.
enum LogEscapes {
  /// Appends the text without its escapes; a backslash that starts no escape is kept. Control characters become
  /// percent-encodings, since URLs lose some of them otherwise.
  static func appendUndone(_ text: UnsafeRawBufferPointer, to bytes: GrowingBytes) {
    var rest = text[...]
    while let backslash = rest.firstIndex(of: UInt8(ascii: "\\")) {
      bytes.append(UnsafeRawBufferPointer(rebasing: rest[..<backslash]))
      let (byte, length) = meaning(rest[backslash...])
      if byte < 0x20 {
        bytes.append("%")
        bytes.append(hexadecimalDigit(byte >> 4))
        bytes.append(hexadecimalDigit(byte & 15))
      } else {
        bytes.append(byte)
      }
      rest = rest[(backslash + length)...]
    }
    bytes.append(UnsafeRawBufferPointer(rebasing: rest))
  }

  private static func meaning(_ text: Slice<UnsafeRawBufferPointer>) -> (byte: UInt8, length: Int) {
    guard text.count > 1 else { return (UInt8(ascii: "\\"), 1) }
    let letter = text[text.startIndex + 1]
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): return (letter, 2)
    case UInt8(ascii: "t"): return (9, 2)
    case UInt8(ascii: "n"): return (10, 2)
    case UInt8(ascii: "r"): return (13, 2)
    case UInt8(ascii: "x") where text.count > 3:
      if let high = hexadecimalValue(text[text.startIndex + 2]), let low = hexadecimalValue(text[text.startIndex + 3]) {
        return (high << 4 | low, 4)
      }
    default: break
    }
    return (UInt8(ascii: "\\"), 1)
  }
}

/// Decides which targets of logged requests are URLs of the logged site.
///
/// Visitors choose the targets, so they aren't trusted: a target that led to another host would let any visitor make
/// prewarm request that host with the job's headers and credentials. So a target that starts with a slash is always a
/// path of the base (RFC 9112 section 3.2.1), even if it would name a host as a reference. A target in absolute form
/// (section 3.2.2) counts only if it has the base's scheme, host and port; if it and the base have the usual port, the scheme may
/// differ, since a cache behind a TLS proxy logs http.
struct LoggedTargets {
  private let base: BaseURL?
  private let normalizer = URLNormalizer()

  init(base: BaseURL?) { self.base = base }

  /// Returns the part of a target to resolve against the base, or all of it if there is no base; nil if it isn't a URL
  /// of the base's site.
  func accepted(_ target: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    // No client sends a control character, and resolution would drop some.
    if target.contains(where: { $0 < 0x20 }) { return nil }
    if target.first == UInt8(ascii: "/") { return target }
    guard let authorityStart = Self.authorityStart(of: target) else { return nil }
    guard let base else { return target }
    let isEnd = { (byte: UInt8) in byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") }
    guard let end = target[authorityStart...].firstIndex(where: isEnd), target[end] == UInt8(ascii: "/"),
      isOrigin(UnsafeRawBufferPointer(rebasing: target[..<end]), of: base)
    else { return nil }
    return UnsafeRawBufferPointer(rebasing: target[end...])
  }

  /// Appends a path as a reference that always resolves to that path: two slashes at its start would name a host, even as
  /// backslashes (WHATWG URL Standard, section 4.4). A dot segment that separates them disappears when the reference is resolved.
  static func appendReference(_ path: UnsafeRawBufferPointer, to bytes: GrowingBytes) {
    if path.count > 1, path[1] == UInt8(ascii: "/") || path[1] == UInt8(ascii: "\\") {
      bytes.append("/.")
    }
    bytes.append(path)
  }

  /// The index after `http://` or `https://`; nil for other forms, such as `*` and `host:port`.
  private static func authorityStart(of target: UnsafeRawBufferPointer) -> Int? {
    // Only letters differ in that bit; a colon and a slash have it set.
    let scheme = ["http://", "https://"].first { target.starts(with: $0.utf8) { $0 | 0x20 == $1 } }
    return scheme.flatMap { target.count > $0.utf8.count ? $0.utf8.count : nil }
  }

  private func isOrigin(_ text: UnsafeRawBufferPointer, of base: BaseURL) -> Bool {
    var bytes: [UInt8] = []
    do throws(InvalidURL) {
      let parts = try normalizer.normalize(text, relativeTo: nil, into: &bytes)
      // The normal form has no usual port.
      let isUsual = parts.hostAndPort.count == parts.host.count && base.parts.hostAndPort.count == base.parts.host.count
      return parts.userInfo.isEmpty && (isUsual || parts.isSecure == base.parts.isSecure)
        && bytes[parts.hostAndPort] == base.bytes[base.parts.hostAndPort]
    } catch {
      return false
    }
  }
}
