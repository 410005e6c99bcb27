import ImagePrimitives

/// A CSV report: a header row, then a row an entry with the columns of JSON Lines in their order, written as the run goes.
///
/// It is RFC 4180 but for the end of a line, a line feed alone, which every reader of CSV takes and which leaves no carriage return
/// in the last column for those that split lines and commas. An apostrophe before a field says that it would be a formula without it;
/// several warnings of an entry are joined by `; `. Rows are gathered to 64 KiB before they are written. The file gets its name when
/// the run has ended, be it by a signal.
final class CSVJournal: ReportWriter, ReportJournal {
  private let file: ReportFile
  private var rows = JournalRows<CSVRow>(capacity: RowPieces.bytes + 4096)
  private var pieces = RowPieces()

  /// A report that goes to `file`.
  init(file: ReportFile) {
    self.file = file
    CSVRow.appendHeader(to: &rows.buffer)
  }

  var journal: (any ReportJournal)? { self }

  func begin() {}

  func addManifest(_ path: String, file: String?) { rows.addManifest(path) }

  func addVariant(_ variant: ReportedVariant) { rows.addVariant(variant) }

  func append(_ result: EntryResult, of entry: ReportedEntry, standing: FailureStanding) {
    guard pieces.error == nil else { return }
    rows.append(result, of: entry)
    if rows.buffer.count >= RowPieces.bytes { writeOut() }
  }

  func flush() throws(ReportError) {
    writeOut()
    try pieces.check()
  }

  func finish(_ report: FinishedReport) throws(ReportError) {
    try flush()
    try file.commit()
  }

  private func writeOut() {
    pieces.write(&rows.buffer) { bytes throws(ReportError) in try file.write(bytes) }
  }
}
