package import Base

/// An earlier or later report, entry by entry: rows, or the failures that a JSON report lists.
struct ComparedSide {
  /// An entry, valid during a call only; what takes time is read on demand.
  struct Entry {
    var key: EntryKey
    var outcome: LoadOutcome
    /// Nil if it is good, or the reason is unknown.
    var failure: ImageFailure?
    var standing = FailureStanding.counts
    var facts: () throws(JSONProblem) -> EntryFacts
    var describe: () throws(JSONProblem) -> ListedEntry
  }

  let path: String
  /// Nil if there are rows.
  let report: FinishedReport?
  private let input: ReportInput

  init(path: String) throws(ReportReadingError) {
    self.path = path
    input = try ReportInput(path: path)
    report = input.kind == .report ? try input.report(words: .plain) : nil
    try report?.checkThatAllFailuresAreListed(path: path)
  }

  /// Whether it has rows, which list good entries, too.
  var hasRows: Bool { report == nil }

  /// Calls `body` with every entry; rows can be read only once.
  ///
  /// - Parameter isStopped: asked before each row; if true, the rest isn't read.
  func forEach(isStopped: () -> Bool = { false }, _ body: (Entry) throws(JSONProblem) -> Void) throws(ReportReadingError) {
    do throws(JSONProblem) {
      for failure in report?.failures ?? [] { try body(Entry(failure)) }
    } catch { throw ReportReadingError(path: path, message: error.message) }
    guard hasRows else { return }
    try input.rows(isStopped: isStopped) { row throws(JSONProblem) in try body(Entry(row)) }
  }

  /// Opens the same report again.
  func reopened() throws(ReportReadingError) -> ComparedSide {
    guard hasRows else { return self }
    guard path != "-" else {
      throw ReportReadingError(
        path: path,
        message: "can't be read twice, which comparing rows with a JSON report requires; name a file"
      )
    }
    return try ComparedSide(path: path)
  }
}

extension ComparedSide.Entry {
  fileprivate init(_ record: FailureRecord) {
    key = record.key
    (outcome, failure, standing) = (record.outcome, record.failure, record.standing)
    facts = { EntryFacts(record.failure) }
    describe = { ListedEntry(url: record.url, variant: record.variant, manifest: record.manifest, line: record.line) }
  }

  fileprivate init(_ row: ReportRow) throws(JSONProblem) {
    key = EntryKey(url: try row.url(), variant: try row.variant())
    outcome = try row.outcome()
    (failure, standing) = (try row.failure(outcome), try row.standing(outcome))
    facts = { () throws(JSONProblem) in EntryFacts(try row.result()) }
    describe = { () throws(JSONProblem) in
      ListedEntry(
        url: String(decoding: try row.url(), as: UTF8.self),
        variant: try row.variant(),
        manifest: String(decoding: try row.manifest(), as: UTF8.self),
        line: try row.line()
      )
    }
  }
}

/// The result of an entry in one of two reports, in 32 bytes.
package struct EntryFacts: BitwiseCopyable, Sendable, Equatable {
  enum State: UInt8 {
    /// The report doesn't have it.
    case absent
    /// Skipped or cancelled: its result is unknown.
    case open
    case good
    case bad
  }

  private static let none = UInt8.max

  /// 0 if unknown.
  package private(set) var bytes: UInt64 = 0
  /// The lower half of the body's hash; 0 if unknown.
  private(set) var hash: UInt64 = 0
  /// In pixels; 0 if unknown.
  package private(set) var width: UInt32 = 0
  /// In pixels; 0 if unknown.
  package private(set) var height: UInt32 = 0
  /// 0 if there is none.
  private var statusNumber: UInt16 = 0
  private(set) var state = State.absent
  private var kindNumber = none
  private var formatNumber = none
  /// Whether the other report lists the entry, too.
  var isListed = false
  /// Whether the two results were compared, which happens once.
  var isCompared = false
  /// Whether the properties are those of a transformed image.
  private(set) var isTransformed = false

  init() {}

  init(_ result: EntryResult) {
    self.init()
    switch result.outcome {
    case .failed, .blacklisted:
      self = EntryFacts(result.failure)
      return
    case .skipped, .cancelled: state = .open
    case .hitMemory, .hitDisk, .downloaded, .revalidated, .checked: state = .good
    }
    let transformed = result.transformed
    isTransformed = transformed != nil
    bytes = transformed?.bytes ?? result.bytes
    hash = (transformed.map(\.checksum) ?? result.checksum)?.low ?? 0
    width = transformed?.width ?? result.image.width
    height = transformed?.height ?? result.image.height
    formatNumber = (transformed.map(\.format) ?? result.image.format)?.rawValue ?? Self.none
  }

  /// A failure, whose reason may be unknown.
  init(_ failure: ImageFailure?) {
    state = .bad
    kindNumber = failure?.kind.rawValue ?? Self.none
    // An invalid status would make an unbounded number of groups.
    statusNumber = failure?.status.flatMap { (100...999).contains($0) ? UInt16($0) : nil } ?? 0
  }

  /// Why it was bad; nil if it was good, or that is unknown.
  package var kind: FailureKind? { FailureKind(rawValue: kindNumber) }
  /// The HTTP status of a bad entry; nil if the server sent none.
  package var status: Int? { statusNumber > 0 ? Int(statusNumber) : nil }
  /// The image's format, if it was good.
  package var format: ImageFormat? { ImageFormat(rawValue: formatNumber) }
}
