import ImagePrimitives

/// One of two reports that are compared, entry by entry: rows, or what a JSON report lists of failures.
struct ComparedSide {
  /// An entry, valid for a call.
  struct Entry {
    var key: EntryKey
    var facts: EntryFacts
    /// All of it as a difference tells it, made where it is needed.
    var describe: () throws(JSONError) -> Description
  }

  /// What a difference tells of an entry, whichever way it ended.
  struct Description {
    var url: String
    var variant: ReportedVariant
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
    let report = try input.report()
    try report.checkThatAllFailuresAreListed(path: path)
    failures = report.failures
  }

  /// Whether it tells of good entries, too.
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
