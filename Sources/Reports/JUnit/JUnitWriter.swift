import ImagePrimitives

/// A JUnit report as GitLab (`lib/gitlab/ci/parsers/test/junit.rb`) and Jenkins (`hudson.tasks.junit.CaseResult`) read it.
///
/// The suite that is named like the job has a case for each failed and blacklisted entry, timeouts included, and for all others
/// where successes are asked for. Its counts are those of the run, listed or not. The suite `JOB: verdict` has a case for the run itself and
/// for each rule of `fail-on` that is switched on, so that there always is a case, as Jenkins wants it, and one fails whenever the exit
/// status is not 0. A failure that does not count in the verdict is `skipped`, with its sentence.
///
/// Cases are spooled as they come, since the counts stand above them. The file stays below 30 MB, GitLab's limit: what is beyond is counted
/// in a last case, which fails where one that it stands for would. Successes take two thirds of that at most.
final class JUnitWriter: ReportWriter, ReportJournal {
  private let file: ReportFile
  /// Bytes of cases beyond which no more is listed.
  private let caseBytesLimit: Int
  private var cases: JUnitCases
  private var spool: ReportSpool
  private var pieces = RowPieces()
  private var left = LeftOut()

  /// Cases that are not listed for the file's size.
  struct LeftOut {
    /// Those that would fail.
    var failures: UInt64 = 0
    /// All others.
    var others: UInt64 = 0
  }

  /// A report that goes to `file`; nothing is written there before ``finish(_:)``.
  ///
  /// - Parameter caseBytesLimit: what the file may take but for what stands around the cases, which is far less than 1 MB.
  init(
    file: ReportFile,
    listsSuccesses: Bool,
    workspace: String?,
    caseBytesLimit: Int = 29_000_000
  ) throws(ReportError) {
    self.file = file
    self.caseBytesLimit = caseBytesLimit
    cases = JUnitCases(capacity: RowPieces.bytes + 16_384, listsSuccesses: listsSuccesses, workspace: workspace)
    spool = try ReportSpool()
  }

  var journal: (any ReportJournal)? { self }

  func begin() {}

  func addManifest(_ path: String, file: String?) { cases.addManifest(path, file: file) }

  func addVariant(_ variant: ReportedVariant) { cases.addVariant(variant) }

  func append(_ result: EntryResult, of entry: ReportedEntry, standing: FailureStanding) {
    guard cases.lists(result.outcome), pieces.error == nil else { return }
    let isBad = result.outcome == .failed || result.outcome == .blacklisted
    guard spool.count + cases.buffer.count < (isBad ? caseBytesLimit : caseBytesLimit / 3 * 2) else {
      if isBad, standing == .counts { left.failures += 1 } else { left.others += 1 }
      return
    }
    cases.append(result, of: entry, standing: standing)
    if cases.buffer.count >= RowPieces.bytes { writeOut() }
  }

  func flush() throws(ReportError) {
    writeOut()
    try pieces.check()
  }

  private func writeOut() {
    pieces.write(&cases.buffer) { bytes throws(ReportError) in try spool.append(bytes) }
  }

  func finish(_ report: FinishedReport) throws(ReportError) {
    try flush()
    var output = OutputBuffer(capacity: 65_536)
    output.appendJUnitStart(report, leftOut: left)
    try output.withUnsafeBytes { bytes throws(ReportError) in try file.write(bytes) }
    try spool.read { bytes throws(ReportError) in try file.write(bytes) }
    output.removeAll()
    output.appendJUnitEnd(report, leftOut: left, listsSuccesses: cases.lists(.hitDisk))
    try output.withUnsafeBytes { bytes throws(ReportError) in try file.write(bytes) }
    try file.commit()
  }
}
