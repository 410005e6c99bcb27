import ImagePrimitives

/// Decides which failures count, entry by entry, while the run goes; called on the driver thread.
public protocol FailureJudge: AnyObject {
  /// The standing of a failed or blacklisted entry.
  func standing(of entry: EntryKey) -> FailureStanding
}

/// The failures of an earlier run, so that only new ones count.
///
/// Entries are recognised by URL, variant and edge, whatever the reason was, at some 30 bytes each.
public final class FailureBaseline: FailureJudge {
  private var known = EntryTable(filler: UInt8(0))

  /// Reads the report at `path`: the rows of a JSON Lines report, or a JSON report that omits no failure. nil if there is none.
  ///
  /// - Parameter isStopped: asked before each row; if true, the rest isn't read, since nothing will be judged any more.
  public init?(path: String, isStopped: () -> Bool = { false }) throws(ReportReadingError) {
    if path != "-", InputFile.isMissing(path) { return nil }
    let input = try ReportInput(path: path)
    switch input.kind {
    case .rows:
      try input.rows(isStopped: isStopped) { row throws(JSONError) in
        switch try row.outcome() {
        case .failed, .blacklisted: add(EntryKey(url: try row.url(), variant: try row.variant()))
        default: break
        }
      }
    case .report:
      let report = try input.report(words: .plain)
      try report.checkThatAllFailuresAreListed(path: path)
      for failure in report.failures { add(failure.key) }
    }
  }

  public var count: Int { known.count }

  public func standing(of entry: EntryKey) -> FailureStanding { known.index(of: entry) == nil ? .counts : .known }

  private func add(_ key: EntryKey) { _ = known.indexAdding(key) }
}

extension FinishedReport {
  /// Throws where failures are counted only, with what to do.
  func checkThatAllFailuresAreListed(path: String) throws(ReportReadingError) {
    guard failuresOmitted > 0 else { return }
    let counts = "\(grouped(UInt64(failures.count))) of \(counted(totals.bad, "failure"))"
    throw ReportReadingError(path: path, message: "lists only \(counts); name the JSON Lines report of that run instead")
  }
}

extension FailureRecord {
  /// What its entry is recognised by.
  var key: EntryKey {
    var url = url
    return url.withUTF8 { EntryKey(url: UnsafeRawBufferPointer($0), variant: variant) }
  }
}
