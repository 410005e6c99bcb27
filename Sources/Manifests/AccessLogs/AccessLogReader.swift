/// Rows of access logs: what was asked for, by falling count of requests; so all is read before the first row.
///
/// The files of one manifest are counted together, as one log that was rotated. Each has a reader of its own; the last gives the
/// rows of all, or the first that breaks off, after which no other is read.
final class AccessLogReader: RowReader {
  /// How many lines are read before others get a turn.
  private static let sliceLines = 65_536
  private static let shownBytes = 120

  private let buffer: InputBuffer
  private let lines: LineReader
  private let file: Int
  private let isLast: Bool
  private let manifest: String
  private let targets: LoggedTargets
  private let hasBase: Bool
  private let takesEveryTarget: Bool
  /// The reference that the last row holds.
  private let reference = GrowingBytes()
  private let counter: RequestCounter
  private var hasCounted = false
  /// Whether not even what was counted can be given.
  private var hasBroken = false
  private var failure: ManifestError?
  private(set) var remarks = ReadingRemarks()

  /// A reader that counts with `counter`, which all files of the manifest share; the index of this one is `index`.
  init(_ buffer: InputBuffer, _ file: ManifestFile, index: Int, of manifest: Manifest, counter: RequestCounter) {
    self.buffer = buffer
    lines = LineReader(buffer)
    self.file = index
    isLast = file.isLast
    self.manifest = file.name
    targets = LoggedTargets(base: file.base)
    hasBase = file.base != nil
    takesEveryTarget = !manifest.include.isEmpty
    self.counter = counter
  }

  func readHeader() -> Bool { true }

  /// Throws if nothing says which site the paths of the log belong to.
  func checkSite() throws(ManifestError) {
    guard !hasBase, !takesEveryTarget else { return }
    throw ManifestError(
      manifest: manifest,
      line: 1,
      message:
        "an access log has paths only; set base-url to their site, such as https://www.example.com"
    )
  }

  var mayNamePriority: Bool { false }

  var hasRowsByBytes: Bool { false }

  func checkEnd() throws(ManifestError) {
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
        if failure != nil { return try finish() }
      case .wouldBlock: return .wouldBlock
      case .end: return isLast || buffer.failure != nil ? try finish() : .end
      }
    }
    return .nothingYet
  }

  private func finish() throws(InputError) -> RowStep {
    hasCounted = true
    try counter.finish()
    return .nothingYet
  }

  private func count(_ line: LineReader.Line) throws(InputError) {
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
    let isPath = target.first == UInt8(ascii: "/")
    if !hasBase, isPath || !takesEveryTarget {
      let message =
        isPath
        ? "the log names paths alone; say by base-url which site they belong to, as in base-url: https://www.example.com"
        : "the log names whole URLs, of whatever host; say by base-url whose they are, or choose among them by include"
      return failure = ManifestError(manifest: manifest, line: line.number, message: message)
    }
    remarks.entries += 1
    try counter.add(target, location: LogLocation(file: file, line: line.number))
  }

  private func row(_ target: UnsafeRawBufferPointer, _ location: LogLocation) -> RowStep {
    reference.removeAll()
    LoggedTargets.appendReference(target, to: reference)
    return .row(Row(url: reference.bytes, line: location.line, file: location.file))
  }
}
