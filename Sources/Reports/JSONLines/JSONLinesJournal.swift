import Glibc
public import ImagePrimitives

/// A JSON Lines report: one object an entry and line, written as the run goes.
///
/// An older report in the file stays until the run begins. The file grows in place, so a killed run leaves its rows, the last of
/// them perhaps cut. Rows are gathered to 64 KiB before they are written. After an error nothing more is written: the file then
/// ends with a cut row at worst, never with a gap.
public final class JSONLinesJournal: ReportWriter, ReportJournal {
  /// The path as the job names it; `-` is standard output.
  public let path: String
  private let descriptor: OutputDescriptor
  private var rows = JournalRows<JSONRow>(capacity: RowPieces.bytes + 4096)
  private var pieces = RowPieces()

  /// Opens the report at `path`, makes the folders above it, and touches nothing that is there already.
  public init(path: String) throws(ReportError) {
    self.path = path
    if path == "-" {
      descriptor = OutputDescriptor()
      return
    }
    do {
      try makeParentFolders(of: path)
    } catch {
      throw ReportError(.makeFolder, path: path, code: error.code)
    }
    do {
      descriptor = try OutputDescriptor(opening: path, flags: O_CREAT)
    } catch {
      throw ReportError(.open, path: path, code: error.code)
    }
  }

  /// Itself.
  public var journal: (any ReportJournal)? { self }

  /// Writes what is left; the file has its name already.
  public func finish(_ report: FinishedReport) throws(ReportError) { try flush() }

  /// Empties the file of an older report.
  public func begin() {
    guard path != "-" else { return }
    do {
      try descriptor.truncate()
    } catch {
      pieces.fail(ReportError(.write, path: path, code: error.code))
    }
  }

  /// Makes the column of a manifest, which its rows share.
  public func addManifest(_ path: String, file: String?) { rows.addManifest(path) }

  /// Makes the columns of a way to ask, which its rows share.
  public func addVariant(_ variant: ReportedVariant) { rows.addVariant(variant) }

  /// Adds the row of an entry, and writes the rows where 64 KiB of them have gathered.
  public func append(_ result: EntryResult, of entry: ReportedEntry, standing: FailureStanding) {
    guard pieces.error == nil else { return }
    rows.append(result, of: entry)
    if rows.buffer.count >= RowPieces.bytes { writeOut() }
  }

  /// Writes the rows that were gathered; throws the first error that was met, now or before, and again each time.
  public func flush() throws(ReportError) {
    writeOut()
    try pieces.check()
  }

  private func writeOut() {
    pieces.write(&rows.buffer) { bytes throws(ReportError) in
      do throws(SystemError) {
        try descriptor.write(bytes)
      } catch {
        throw ReportError(.write, path: path, code: error.code)
      }
    }
  }
}
