/// Who writes one report into one file: opened before the run, told each entry where it asks for them, and finished after it.
///
/// Owned by one thread at a time.
public protocol ReportWriter: AnyObject {
  /// Who takes a row for each entry while the run goes; nil where the report is made of the finished run alone.
  var journal: (any ReportJournal)? { get }

  /// Writes what is left and puts the file in its place; to be called once, after the run.
  func finish(_ report: FinishedReport) throws(ReportError)
}

/// A report that is made of the finished run alone.
final class FormWriter: ReportWriter {
  var journal: (any ReportJournal)? { nil }
  private let form: any ReportForm
  private let file: ReportFile

  /// A report in `form` that goes to `file`.
  init(_ form: any ReportForm, file: ReportFile) {
    self.form = form
    self.file = file
  }

  func finish(_ report: FinishedReport) throws(ReportError) { try form.write(report, to: file) }
}
