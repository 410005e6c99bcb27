/// The forms of reports; raw values are the names in job files and options.
public enum ReportFormat: String, Sendable, CaseIterable {
  case text
  /// `prewarm.report/1`.
  case json
  case jsonl
  case csv
  /// JUnit XML for GitLab and Jenkins.
  case junit
  /// For pull requests and step summaries.
  case markdown
  /// Workflow commands of GitHub Actions.
  case github
  /// One self-contained page.
  case html
  /// For the node exporter's textfile collector.
  case prometheus

  /// The form of files with this extension, in lower case, without the dot; nil if there is none.
  public init?(fileExtension: some StringProtocol) {
    switch fileExtension {
    case "txt", "text": self = .text
    case "json": self = .json
    case "jsonl", "ndjson": self = .jsonl
    case "csv": self = .csv
    case "xml": self = .junit
    case "md", "markdown": self = .markdown
    case "html", "htm": self = .html
    case "prom": self = .prometheus
    default: return nil
    }
  }

  public init?(path: String) {
    guard let dot = path.lastIndex(of: "."), !path[dot...].contains("/") else { return nil }
    self.init(fileExtension: path[path.index(after: dot)...].lowercased())
  }

  /// Opens a report of this form at `path`, where `-` is standard output, and creates the folders above it; an existing report stays
  /// unchanged.
  package func open(_ path: String, options: ReportOptions = ReportOptions()) throws(ReportError) -> any ReportWriter {
    switch self {
    case .jsonl: try JSONLinesJournal(path: path, growsInPlace: options.rowsGrowInPlace)
    case .text: FormWriter(path == "-" ? options.terminal : options.terminal.forFile, file: try ReportFile(path: path))
    case .json: FormWriter(JSONReport(), file: try ReportFile(path: path))
    case .csv: RowJournal<CSVRow>(file: try ReportFile(path: path))
    case .junit:
      try JUnitWriter(file: try ReportFile(path: path), listsSuccesses: options.listsSuccesses, workspace: options.workspace)
    case .markdown: FormWriter(MarkdownReport(), file: try ReportFile(path: path))
    case .github: GitHubWriter(file: try ReportFile(path: path), options: options)
    case .prometheus: FormWriter(PrometheusReport(), file: try ReportFile(path: path))
    case .html: FormWriter(HTMLReport(), file: try ReportFile(path: path))
    }
  }
}

/// Options that depend on the environment of the command, not on the job.
public struct ReportOptions: Sendable {
  /// The layout of a text report on standard output; in a file it has 80 columns and no colours.
  public var terminal = TextReport()
  /// Whether rows in JSON Lines are visible during the run, the default; otherwise the file gets its name at the end.
  public var rowsGrowInPlace = true
  /// Whether a JUnit report lists good entries, too; no by default.
  public var listsSuccesses = false
  /// The file of a GitHub step's summary, to which a report for GitHub appends; nil if there is none.
  public var stepSummaryPath: String?
  /// The absolute path of the repository's folder, to which paths in GitHub and JUnit reports are relative; nil: they name no file.
  public var workspace: String?

  public init() {}
}

/// A form of the finished report, whatever its destination.
protocol ReportForm: Sendable {
  func write(_ report: FinishedReport, to output: inout OutputBuffer)
}

extension ReportForm {
  func write(_ report: FinishedReport, to file: ReportFile) throws(ReportError) {
    var output = OutputBuffer(capacity: 65_536)
    write(report, to: &output)
    try output.withUnsafeBytes { bytes throws(ReportError) in try file.write(bytes) }
    try file.commit()
  }
}

/// Writes one report to one file: opened before the run, given each entry if it has a journal, and finished after the run.
///
/// Owned by one thread at a time.
package protocol ReportWriter: AnyObject {
  /// Gets a row for each entry during the run; nil if the report needs the finished run only.
  var journal: (any ReportJournal)? { get }

  /// Writes the rest and commits the file; must be called once, after the run.
  func finish(_ report: FinishedReport) throws(ReportError)
}

extension ReportWriter {
  package var journal: (any ReportJournal)? { nil }
}

final class FormWriter: ReportWriter {
  private let form: any ReportForm
  private let file: ReportFile

  init(_ form: any ReportForm, file: ReportFile) { (self.form, self.file) = (form, file) }
  func finish(_ report: FinishedReport) throws(ReportError) { try form.write(report, to: file) }
}
