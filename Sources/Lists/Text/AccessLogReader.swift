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
  private let file: Int
  private let isLast: Bool
  private let manifest: String
  private let targets: LoggedTargets
  private let hasBase: Bool
  private let takesEveryTarget: Bool
  /// The reference in the last row.
  private let reference = GrowingBytes()
  private let counter: RequestCounter
  private var hasCounted = false
  /// Whether counting failed, so that there are no rows.
  private var hasBroken = false
  private var failure: ListError?
  private(set) var remarks = ReadingRemarks()

  /// Creates a reader that counts with `counter`, which all files of the manifest share; `index` is the index of this
  /// file.
  init(_ buffer: InputBuffer, _ file: ListFile, index: Int, of manifest: URLList, counter: RequestCounter) {
    self.buffer = buffer
    lines = LineReader(buffer)
    forms = LogLines(manifest.columns)
    self.file = index
    isLast = file.isLast
    self.manifest = file.name
    targets = LoggedTargets(base: file.base)
    hasBase = file.base != nil
    takesEveryTarget = !manifest.include.isEmpty
    self.counter = counter
  }

  /// Throws if the site of the log's paths is unknown.
  func checkSite() throws(ListError) {
    guard !hasBase, !takesEveryTarget else { return }
    throw ListError(
      manifest: manifest,
      line: 1,
      message:
        "an access log contains only paths; set base-url to their site, such as https://www.example.com"
    )
  }

  var hasRowsByBytes: Bool { false }

  func checkEnd() throws(ListError) {
    if let failure { throw failure }
  }

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
      failure = error.error(in: manifest)
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
    guard isLast else { return .end }
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
    if !hasBase, isPath || !takesEveryTarget {
      let message =
        isPath
        ? "the log contains only paths; set base-url to their site, such as https://www.example.com"
        : "the log contains URLs of any host; set base-url to your site, or select URLs with include"
      return failure = ListError(manifest: manifest, line: line.number, message: message)
    }
    remarks.entries += 1
    try counter.add(target, isEscaped: isEscaped, location: LogLocation(file: file, line: line.number))
  }

  private func row(_ target: UnsafeRawBufferPointer, _ location: LogLocation) -> RowStep {
    reference.removeAll()
    LoggedTargets.appendReference(target, to: reference)
    return .row(Row(url: reference.bytes, line: location.line, file: location.file))
  }
}
