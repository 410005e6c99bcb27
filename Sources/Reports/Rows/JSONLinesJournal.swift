import Base

/// A JSON Lines report: one object per entry and line, written during the run.
///
/// An older report in the file stays until the run starts. The file grows in place, so a killed run leaves its rows; the last one may be
/// cut and has no line feed. After an error, nothing more is written: the file may end with a cut row, but never has a gap.
final class JSONLinesJournal: ReportWriter, ReportJournal {
  private var output: RowOutput<JSONRow>
  private var hasEnd = false

  /// Opens the report at `path` and creates the folders above it; an existing report stays unchanged.
  init(path: String, growsInPlace: Bool = true) throws(ReportError) {
    output = RowOutput(file: try ReportFile(path: path, growsInPlace: growsInPlace))
  }

  var journal: (any ReportJournal)? { self }

  func begin() { output.begin() }

  func addManifest(_ path: String, file: String?) { output.rows.addManifest(path) }

  func addVariant(_ variant: RequestVariant) { output.rows.addVariant(variant) }

  func append(_ result: EntryResult, of entry: ReportedEntry, standing: FailureStanding) {
    output.append(result, of: entry, standing: standing)
  }

  func setShard(_ label: String?) { output.rows.shard = label }

  func flush() throws(ReportError) { try output.flush() }

  func append(_ end: RowsEnd) {
    output.append(end)
    hasEnd = true
  }

  func finish(_ report: FinishedReport) throws(ReportError) {
    if report.job.shard != nil, !hasEnd { append(RowsEnd(report)) }
    try output.finish()
  }
}

/// A row as a JSON object on a line; unknown values are omitted.
enum JSONRow: RowSyntax {
  static var quote: StaticString { "\"" }

  @inline(__always)
  static func begin(_ column: RowColumn, in output: inout OutputBuffer) {
    output.appendLiteral(column == .url ? "{\"" : ",\"")
    output.appendLiteral(column.name)
    output.appendLiteral("\":")
  }

  @inline(__always)
  static func skip(_ column: RowColumn, in output: inout OutputBuffer) {}

  @inline(__always)
  static func append(text: UnsafeRawBufferPointer, to output: inout OutputBuffer) { output.appendJSON(text) }

  static func append(list: [String], to output: inout OutputBuffer) {
    output.append(UInt8(ascii: "["))
    for (index, text) in list.enumerated() {
      if index > 0 { output.append(UInt8(ascii: ",")) }
      output.appendJSON(text)
    }
    output.append(UInt8(ascii: "]"))
  }

  @inline(__always)
  static func end(in output: inout OutputBuffer) { output.appendLiteral("}\n") }
}
