/// Rows of an access log: what was asked for, by falling count of requests; so all of it is read before the first row.
final class AccessLogReader: RowReader {
  /// How many lines are read before others get a turn.
  private static let sliceLines = 65_536
  private static let shownBytes = 120

  private let lines: LineReader
  private let manifest: String
  private let targets: LoggedTargets
  private let hasBase: Bool
  private let takesEveryTarget: Bool
  /// The reference that the last row holds.
  private let reference = GrowingBytes()
  private let counter: RequestCounter
  private var hasCounted = false
  private var failure: ManifestError?
  private(set) var remarks = ReadingRemarks()

  init(_ buffer: InputBuffer, _ file: ManifestFile, of manifest: Manifest, spoolDirectory: String) {
    lines = LineReader(buffer)
    self.manifest = file.name
    targets = LoggedTargets(base: file.base)
    hasBase = file.base != nil
    takesEveryTarget = !manifest.include.isEmpty
    counter = RequestCounter(spoolDirectory: spoolDirectory)
  }

  func readHeader() -> Bool { true }

  var mayNamePriority: Bool { false }

  var hasRowsByBytes: Bool { false }

  func checkEnd() throws(ManifestError) {
    if let failure { throw failure }
  }

  func next() -> RowStep {
    if failure != nil { return .end }
    do throws(InputFailure) {
      guard hasCounted else { return try count() }
      switch try counter.next() {
      case .target(let target, let line): return row(target, line: line)
      case .nothingYet: return .nothingYet
      case .end: return .end
      }
    } catch {
      failure = error.error(in: manifest)
      return .end
    }
  }

  private func count() throws(InputFailure) -> RowStep {
    for _ in 0..<Self.sliceLines {
      switch lines.next() {
      case .line(let line): try count(line)
      case .wouldBlock: return .wouldBlock
      case .end:
        hasCounted = true
        try counter.finish()
        return .nothingYet
      }
    }
    return .nothingYet
  }

  private func count(_ line: LineReader.Line) throws(InputFailure) {
    let text = line.bytes.trimmed()
    if text.isEmpty { return }
    guard !line.isTooLong, let parsed = AccessLogLine(text) else {
      return remarks.malformedLines.add(line: line.number, String(decoding: text.prefix(Self.shownBytes), as: UTF8.self))
    }
    guard let written = parsed.target, takesEveryTarget || ImageExtension.ends(written), let target = targets.accepted(written)
    else {
      remarks.otherRequests += 1
      return
    }
    remarks.entries += 1
    try counter.add(target, line: line.number)
  }

  private func row(_ target: UnsafeRawBufferPointer, line: UInt64) -> RowStep {
    let isPath = target.first == UInt8(ascii: "/")
    if !hasBase, isPath || !takesEveryTarget {
      let message =
        isPath
        ? "the log names paths alone; say by base-url which site they belong to, as in base-url: https://www.example.com"
        : "the log names whole URLs, of whatever host; say by base-url whose they are, or choose among them by include"
      failure = ManifestError(manifest: manifest, line: line, message: message)
      return .end
    }
    reference.removeAll()
    LoggedTargets.appendReference(target, to: reference)
    return .row(Row(url: reference.bytes, line: line))
  }
}
