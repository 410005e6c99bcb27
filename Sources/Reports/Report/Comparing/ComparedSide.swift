import Base

/// One of two compared reports, entry by entry: rows, or the failures that a JSON report lists.
struct ComparedSide {
  /// An entry, valid during a call only.
  struct Entry {
    var key: EntryKey
    var facts: EntryFacts
    /// Makes its description on demand.
    var describe: () throws(JSONError) -> Description
  }

  struct Description {
    var url: String
    var variant: RequestVariant
    var manifest: String
    var line: UInt64
  }

  let path: String
  /// nil: the report has rows.
  private let failures: [FailureRecord]?
  private let input: ReportInput

  init(path: String) throws(ReportReadingError) {
    self.path = path
    input = try ReportInput(path: path)
    guard input.kind == .report else {
      failures = nil
      return
    }
    let report = try input.report(words: .plain)
    try report.checkThatAllFailuresAreListed(path: path)
    failures = report.failures
  }

  /// Whether it has rows, which list good entries, too.
  var hasRows: Bool { failures == nil }

  /// Calls `body` with every entry; rows can be read only once.
  func forEach(_ body: (Entry) throws(JSONError) -> Void) throws(ReportReadingError) {
    do throws(JSONError) {
      for failure in failures ?? [] {
        try body(Entry(key: failure.key, facts: EntryFacts(failure.failure)) { Description(failure) })
      }
    } catch {
      throw ReportReadingError(path: path, message: error.message)
    }
    guard failures == nil else { return }
    try input.rows { row throws(JSONError) in
      let key = EntryKey(url: try row.url(), variant: try row.variant())
      try body(Entry(key: key, facts: EntryFacts(try row.result())) { () throws(JSONError) in try Description(row) })
    }
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

extension ComparedSide.Description {
  fileprivate init(_ failure: FailureRecord) {
    self.init(url: failure.url, variant: failure.variant, manifest: failure.manifest, line: failure.line)
  }

  fileprivate init(_ row: ReportRow) throws(JSONError) {
    self.init(
      url: String(decoding: try row.url(), as: UTF8.self),
      variant: try row.variant(),
      manifest: String(decoding: try row.manifest(), as: UTF8.self),
      line: try row.line()
    )
  }
}

/// The result of an entry in one of two reports, in 32 bytes.
struct EntryFacts: BitwiseCopyable {
  enum State: UInt8 {
    /// The report doesn't have it.
    case absent
    /// Skipped or cancelled: its result is unknown.
    case open
    case good
    case bad
  }

  private static let none = UInt8.max

  private(set) var bytes: UInt64 = 0
  /// The lower half of the body's hash; 0 if unknown.
  private(set) var hash: UInt64 = 0
  private(set) var width: UInt32 = 0
  private(set) var height: UInt32 = 0
  /// 0 if there is none.
  private(set) var status: UInt16 = 0
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
    width = transformed?.width ?? result.width
    height = transformed?.height ?? result.height
    formatNumber = (transformed.map(\.format) ?? result.format)?.rawValue ?? Self.none
  }

  /// A failure, whose reason may be unknown.
  init(_ failure: ImageFailure?) {
    state = .bad
    kindNumber = failure?.kind.rawValue ?? Self.none
    // An invalid status would make an unbounded number of groups.
    status = failure?.status.flatMap { (100...999).contains($0) ? UInt16($0) : nil } ?? 0
  }

  var kind: FailureKind? { FailureKind(rawValue: kindNumber) }
  var format: ImageFormat? { ImageFormat(rawValue: formatNumber) }
}
