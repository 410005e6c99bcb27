/// The forms in which a report can be written; the names are those of job files and options.
public enum ReportFormat: String, Sendable, CaseIterable {
  /// For a person at a terminal.
  case text
  /// `prewarm.report/1`.
  case json
  /// A JSON object an entry.
  case jsonl
  /// A row an entry.
  case csv
  /// JUnit's XML, as GitLab and Jenkins read it.
  case junit
  /// For pull requests and summaries.
  case markdown
  /// Workflow commands of GitHub Actions.
  case github
  /// One page that needs nothing else.
  case html
  /// For the node exporter's text-file collector.
  case prometheus

  /// The form of files with this extension, in lower case, without the dot; nil if it is none's.
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

  /// The form of a file by the extension of its name.
  public init?(path: String) {
    guard let dot = path.lastIndex(of: "."), !path[dot...].contains("/") else { return nil }
    self.init(fileExtension: path[path.index(after: dot)...].lowercased())
  }

  /// Opens a report of this form at `path`, where `-` is standard output; makes the folders above it, and touches nothing that
  /// is there already.
  public func open(_ path: String, options: ReportOptions = ReportOptions()) throws(ReportError) -> any ReportWriter {
    switch self {
    case .jsonl: try JSONLinesJournal(path: path)
    case .text: FormWriter(path == "-" ? options.terminal : options.terminal.forFile, file: try ReportFile(path: path))
    case .json: FormWriter(JSONReport(), file: try ReportFile(path: path))
    case .csv: CSVJournal(file: try ReportFile(path: path))
    case .junit:
      try JUnitWriter(
        file: try ReportFile(path: path),
        listsSuccesses: options.listsSuccesses,
        workspace: options.workspace
      )
    case .markdown: FormWriter(MarkdownReport(), file: try ReportFile(path: path))
    case .github: GitHubWriter(file: try ReportFile(path: path), options: options)
    case .prometheus: FormWriter(PrometheusReport(), file: try ReportFile(path: path))
    case .html: FormWriter(HTMLReport(), file: try ReportFile(path: path))
    }
  }
}

/// What is known of the place where reports are written.
public struct ReportOptions: Sendable {
  /// Lays out a text report on standard output; in a file the same has 80 columns and no colours.
  public var terminal = TextReport()
  /// Whether a JUnit report lists what was good, too; no by default.
  public var listsSuccesses = false
  /// The file of a GitHub step's summary, which a report for GitHub adds to; nil if there is none.
  public var stepSummaryPath: String?
  /// The absolute path of the repository's folder, to which paths in reports for GitHub and of JUnit are relative; nil: they name no file.
  public var workspace: String?

  public init() {}
}

/// A form of the finished report: what it looks like, wherever it goes.
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

/// Writes one report into one file: opened before the run, given each entry if it has a journal, and finished after it.
///
/// Owned by one thread at a time.
public protocol ReportWriter: AnyObject {
  /// Gets a row for each entry while the run goes; nil if the report is made of the finished run alone.
  var journal: (any ReportJournal)? { get }

  /// Writes what is left and puts the file in its place; to be called once, after the run.
  func finish(_ report: FinishedReport) throws(ReportError)
}

extension ReportWriter {
  public var journal: (any ReportJournal)? { nil }
}

/// A report that is made of the finished run alone.
final class FormWriter: ReportWriter {
  private let form: any ReportForm
  private let file: ReportFile

  init(_ form: any ReportForm, file: ReportFile) {
    self.form = form
    self.file = file
  }

  func finish(_ report: FinishedReport) throws(ReportError) { try form.write(report, to: file) }
}
