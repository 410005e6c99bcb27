/// A file that is to be merged with others.
public struct ReportPart: Sendable {
  /// What is in it.
  public enum Content: Sendable {
    /// A JSON report.
    case report(FinishedReport)
    /// Rows, which do not tell their job.
    case rows
    /// Nothing that can be read, and why.
    case unreadable(ReportReadingError)
  }

  /// The path as it was given; `-` is standard input.
  public var path: String
  /// What is in it.
  public var content: Content

  /// A file and what is in it.
  public init(path: String, content: Content) {
    self.path = path
    self.content = content
  }

  /// What sentences call it.
  var name: String { path == "-" ? "standard input" : path }

  var report: FinishedReport? { if case .report(let report) = content { report } else { nil } }
}
