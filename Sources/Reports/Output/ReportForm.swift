/// A form of the finished report: what it looks like, wherever it goes.
public protocol ReportForm: Sendable {
  /// Appends the whole report to `output`.
  func write(_ report: FinishedReport, to output: inout OutputBuffer)
}

extension ReportForm {
  /// Writes the whole report to `file` and puts it in its place.
  public func write(_ report: FinishedReport, to file: ReportFile) throws(ReportError) {
    var output = OutputBuffer(capacity: 65_536)
    write(report, to: &output)
    try output.withUnsafeBytes { bytes throws(ReportError) in try file.write(bytes) }
    try file.commit()
  }
}
