import ImagePrimitives

/// One of two reports that are compared, entry by entry: rows, or what a JSON report lists of failures.
struct ComparedSide {
  /// An entry, valid for a call.
  struct Entry {
    var key: EntryKey
    var facts: EntryFacts
    /// Makes its description, if it is needed.
    var describe: () throws(JSONError) -> Description
  }

  struct Description {
    var url: String
    var variant: RequestVariant
    var manifest: String
    var line: UInt64
  }

  let path: String
  /// nil: there are rows.
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

  /// Rows list good entries, too.
  var hasRows: Bool { failures == nil }

  /// Calls `body` with every entry; rows can be gone through once.
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

  /// The same report, to be gone through again.
  func reopened() throws(ReportReadingError) -> ComparedSide {
    guard hasRows else { return self }
    guard path != "-" else {
      throw ReportReadingError(
        path: path,
        message: "cannot be read twice, as comparing rows with a JSON report asks for; name a file"
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

/// How an entry ended in one of two reports, in 32 bytes.
struct EntryFacts: BitwiseCopyable {
  enum State: UInt8 {
    /// The report does not have it.
    case absent
    /// Skipped or cancelled: nothing is known of it.
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
  /// Whether the two ends were compared, which they are once.
  var isCompared = false

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
    bytes = result.bytes
    hash = result.checksum?.low ?? 0
    width = result.width
    height = result.height
    formatNumber = result.format?.rawValue ?? Self.none
  }

  /// A failure, whose reason may not be known.
  init(_ failure: Failure?) {
    state = .bad
    kindNumber = failure?.kind.rawValue ?? Self.none
    // What is no status would make groups without end.
    status = failure?.status.flatMap { (100...999).contains($0) ? UInt16($0) : nil } ?? 0
  }

  var kind: FailureKind? { FailureKind(rawValue: kindNumber) }
  var format: ImageFormat? { ImageFormat(rawValue: formatNumber) }
}
