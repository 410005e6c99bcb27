package import Base

/// A report that grows during the run by a row for each entry.
package protocol ReportJournal: AnyObject {
  /// Called when the run starts; empties an older report. An error is kept for ``flush()``.
  func begin()

  /// Called for each added manifest; its index is the number of those before. See ``ManifestSummary/file``.
  func addManifest(_ path: String, file: String?)

  /// Called for each added variant; numbers start at 1.
  func addVariant(_ variant: RequestVariant)

  /// Names the shard of the next rows, such as `2/5`; nil if they are of a whole job.
  func setShard(_ label: String?)

  /// Writes the end of a shard's rows, read from another report.
  func append(_ end: RowsEnd)

  /// Writes the row of an entry, now or with the next flush; an error is kept for ``flush()``.
  ///
  /// - Parameter standing: whether a failed or blacklisted entry counts in the verdict; ``FailureStanding/counts`` for all others.
  func append(_ result: EntryResult, of entry: ReportedEntry, standing: FailureStanding)

  /// Writes all rows so far; throws the first error, now or earlier, and again each time.
  func flush() throws(ReportError)
}

extension ReportJournal {
  package func setShard(_ label: String?) {}
  package func append(_ end: RowsEnd) {}
}

/// A report of rows, written during the run: JSON Lines or CSV.
///
/// The line feed after the last row is written when the report is complete, so that readers recognise a report of a killed run, or one
/// that a run is still writing. A complete file without rows has only the line feed. After an error, nothing more is written: the file may
/// end with a cut row, but never has a gap.
final class RowJournal<Syntax: RowSyntax>: ReportWriter, ReportJournal {
  /// One value, so that a row takes one exclusive access to its owner.
  private struct Output: ~Copyable {
    var rows = JournalRows<Syntax>(capacity: RowPieces.bytes + 4096)
    var pieces = RowPieces()
    let file: ReportFile

    mutating func append(_ result: EntryResult, of entry: ReportedEntry, standing: FailureStanding) {
      guard pieces.error == nil else { return }
      rows.append(result, of: entry, standing: standing)
      if rows.buffer.count >= RowPieces.bytes { writeOut() }
    }

    /// Writes all but the last line feed.
    mutating func writeOut() {
      guard rows.buffer.count > 1 else { return }
      rows.buffer.removeLast(1)
      pieces.write(&rows.buffer) { bytes throws(ReportError) in try file.write(bytes) }
      rows.buffer.append(UInt8(ascii: "\n"))
    }

    /// Writes the last line feed, unless standard output has no rows.
    mutating func end() {
      guard !rows.buffer.isEmpty || file.path != "-" else { return }
      rows.buffer.removeAll()
      rows.buffer.append(UInt8(ascii: "\n"))
      pieces.write(&rows.buffer) { bytes throws(ReportError) in try file.write(bytes) }
    }
  }

  private var output: Output
  private var hasEnd = false

  init(file: ReportFile) {
    output = Output(file: file)
    Syntax.appendHeader(to: &output.rows.buffer)
  }

  var journal: (any ReportJournal)? { self }

  func begin() {
    let file = output.file
    output.pieces.attempt { () throws(ReportError) in try file.empty() }
  }

  func addManifest(_ path: String, file: String?) { output.rows.addManifest(path) }

  func addVariant(_ variant: RequestVariant) { output.rows.addVariant(variant) }

  func setShard(_ label: String?) { output.rows.shard = label }

  // Called through a protocol, it would look up generic metadata for each row: 1,900 instructions more.
  @_specialize(where Syntax == JSONRow)
  @_specialize(where Syntax == CSVRow)
  func append(_ result: EntryResult, of entry: ReportedEntry, standing: FailureStanding) {
    output.append(result, of: entry, standing: standing)
  }

  func append(_ end: RowsEnd) {
    guard Syntax.namesEnds, output.pieces.error == nil else { return }
    end.append(to: &output.rows.buffer)
    hasEnd = true
  }

  func flush() throws(ReportError) {
    output.writeOut()
    try output.pieces.check()
  }

  func finish(_ report: FinishedReport) throws(ReportError) {
    if report.job.shard != nil, !hasEnd { append(RowsEnd(report)) }
    try flush()
    output.end()
    try output.pieces.check()
    try output.file.commit()
  }
}

/// One object per entry and line.
///
/// An older report in the file stays until the run starts. By default the file grows in place, so a killed run leaves its rows; the last
/// one may be cut and has no line feed.
typealias JSONLinesJournal = RowJournal<JSONRow>

extension RowJournal<JSONRow> {
  /// Opens the report at `path` and creates the folders above it; an existing report stays unchanged.
  convenience init(path: String, growsInPlace: Bool = true) throws(ReportError) {
    self.init(file: try ReportFile(path: path, growsInPlace: growsInPlace))
  }
}

/// Writes rows in pieces, and nothing more after an error, so that a file never has a gap.
struct RowPieces {
  /// How many bytes are collected before they are written.
  static let bytes = 65_536

  /// The first error.
  private(set) var error: ReportError?

  /// Writes the collected rows with `body`, and empties the buffer.
  mutating func write(_ buffer: inout OutputBuffer, _ body: (UnsafeRawBufferPointer) throws(ReportError) -> Void) {
    attempt { () throws(ReportError) in try buffer.withUnsafeBytes(body) }
    buffer.removeAll()
  }

  /// Calls `body` and keeps its error; does nothing after an error.
  mutating func attempt(_ body: () throws(ReportError) -> Void) {
    guard error == nil else { return }
    do throws(ReportError) {
      try body()
    } catch { self.error = error }
  }

  /// Throws the first error, again each time.
  func check() throws(ReportError) {
    if let error { throw error }
  }
}
