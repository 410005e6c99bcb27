import Base
import Glibc

/// A JUnit report as GitLab (`lib/gitlab/ci/parsers/test/junit.rb`) and Jenkins (`hudson.tasks.junit.CaseResult`) read it.
///
/// The suite has a case for each failed and blacklisted entry, and for all others if the report lists successes; otherwise one case
/// stands for the others, since Jenkins requires a case. Its counts are those of the run, listed or not. A case fails for each
/// reason of the exit status that isn't a failed entry: a run that didn't finish, and broken rules such as `fail-on.empty`. A failure
/// that doesn't count in the verdict is `skipped`, with its message.
///
/// Cases are spooled during the run, since the counts precede them in the file. The file stays below 30 MB, GitLab's limit: a last case
/// counts the omitted ones, and fails if one of them would. Successes take at most two thirds of the limit.
final class JUnitWriter: ReportWriter, ReportJournal {
  private static let warningLimit = 100

  private let file: ReportFile
  private let listsSuccesses: Bool
  private let workspace: String?
  private let caseBytesLimit: Int
  private var manifests: [(path: String, file: String?)] = []
  private var variants = [RequestVariant.plain]
  /// How many cases had a name, by its hash: a collision only adds a number that the case wouldn't need.
  private var names: [UInt64: UInt32] = [:]
  private var cases = OutputBuffer(capacity: RowPieces.bytes + 16_384)
  private var spool: ReportSpool
  private var pieces = RowPieces()
  /// Cases that the limit omits: those that would fail, and others.
  private var omitted: (failures: UInt64, others: UInt64) = (0, 0)

  /// Creates a report in `file`, which stays unchanged until ``finish(_:)``.
  ///
  /// - Parameter caseBytesLimit: limits the cases; the rest of the file has far less than 1 MB.
  init(file: ReportFile, listsSuccesses: Bool, workspace: String?, caseBytesLimit: Int = 29_000_000) throws(ReportError) {
    (self.file, self.listsSuccesses, self.workspace, self.caseBytesLimit) = (file, listsSuccesses, workspace, caseBytesLimit)
    spool = try ReportSpool()
  }

  var journal: (any ReportJournal)? { self }
  func begin() {}
  func addManifest(_ path: String, file: String?) { manifests.append((path, file.flatMap { pathInWorkspace($0, workspace) })) }
  func addVariant(_ variant: RequestVariant) { variants.append(variant) }

  func append(_ result: EntryResult, of entry: ReportedEntry, standing: FailureStanding) {
    let isBad = result.outcome == .failed || result.outcome == .blacklisted
    // The counts have each image once.
    guard isBad || listsSuccesses, !entry.isRepeated, pieces.error == nil else { return }
    guard spool.count + cases.count < (isBad ? caseBytesLimit : caseBytesLimit / 3 * 2) else {
      if isBad, standing == .counts { omitted.failures += 1 } else { omitted.others += 1 }
      return
    }
    cases.append(testCase(result, of: entry, standing: standing).markup)
    if cases.count >= RowPieces.bytes { writeOut() }
  }

  func flush() throws(ReportError) {
    writeOut()
    try pieces.check()
  }

  private func writeOut() { pieces.write(&cases) { bytes throws(ReportError) in try spool.append(bytes) } }

  func finish(_ report: FinishedReport) throws(ReportError) {
    try flush()
    try file.write(start(of: report).markup)
    try spool.read { bytes throws(ReportError) in try file.write(bytes) }
    try file.write(end(of: report).markup)
    try file.commit()
  }

  // MARK: Entries

  private func testCase(_ result: EntryResult, of entry: ReportedEntry, standing: FailureStanding) -> XML {
    let manifest = manifests[entry.manifest]
    let host: XML = entry.host.isEmpty ? "(no host)" : "\(entry.host)"
    let line = manifest.file != nil && entry.line > 0 ? "\(entry.line)" : nil
    let content: XML =
      switch result.outcome {
      case .failed, .blacklisted: ">\n\(failure(result, of: entry, manifest: manifest.path, standing))    </testcase>\n"
      case .skipped: #"><skipped message="filtered out, or not cached (cache.mode: only)"/></testcase>\#n"#
      case .cancelled: #"><skipped message="not finished when the run stopped"/></testcase>\#n"#
      case .hitMemory, .hitDisk, .downloaded, .revalidated, .checked: "/>\n"
      }
    return """
          <testcase classname="\(host)" name="\(name(of: entry))" time="\(seconds: Double(result.durationNanoseconds) / 1e9)"\
      \(attribute: "file", manifest.file)\(attribute: "line", line)\(content)
      """
  }

  /// The URL with the names of its variant and edge, so that a CI server recognises the case in the next run. The server would count two
  /// cases with the same name as one, so further ones get a number: `https://… (2)`.
  private func name(of entry: ReportedEntry) -> XML {
    let variant = variants[entry.variant].title.map { " [\($0)]" as XML }
    let name: XML = "\(entry.url)\(variant)"
    var text = name.markup
    let key = text.withUTF8 { EntryKey(url: UnsafeRawBufferPointer($0)).low }
    names[key, default: 0] += 1
    let number = names[key]!
    return number > 1 ? "\(name) (\(UInt64(number)))" : name
  }

  /// A failure that doesn't count is skipped, as other test runners report tests that are expected to fail: visible, but not red.
  private func failure(_ result: EntryResult, of entry: ReportedEntry, manifest: String, _ standing: FailureStanding) -> XML {
    let failure = result.failureWithRedirect
    let message = failure?.message ?? "known bad"
    let facts = [
      failure?.status.map { "HTTP status \($0)" },
      result.attempts > 0 ? counted(UInt64(result.attempts), "attempt") : nil,
      standing.sentence,
      result.outcome == .blacklisted ? "blacklisted, not requested" : nil,
      result.outcome == .failed && result.isBlacklisted ? "blacklisted now" : nil,
    ].compactMap(\.self)
    let element: XML = standing == .counts ? "failure" : "skipped"
    // GitLab shows only the text.
    return """
            <\(element) type="\(failure?.kind.name ?? "blacklisted")" message="\(message)\(standing.sentence.map { " (\($0))" as XML })">\
      \(manifest)\(entry.line > 0 ? ":\(entry.line)" : ""): \(message)\
      \(facts.isEmpty ? nil : "\n\(facts.joined(separator: ", "))")</\(element)>

      """
  }

  // MARK: The suite

  private func start(of report: FinishedReport) -> XML {
    let reasons = report.otherReasons
    // Entries without a result, and failures that don't count.
    let skipped = report.totals.skipped + report.totals.cancelled + report.standings.excused
    let suite: XML = """
      name="\(report.job.title)" tests="\(report.totals.urls + UInt64(reasons.count))" \
      failures="\(report.standings.counting + UInt64(reasons.count))" errors="0" skipped="\(skipped)" \
      time="\(seconds: report.end.duration.inSeconds)"\(attribute: "timestamp", report.startedAt?.iso8601Seconds)
      """
    let properties = [("verdict", report.headline.sentence), ("description", report.job.description)].filter { !$0.1.isEmpty }
    return """
      <?xml version="1.0" encoding="UTF-8"?>
      <testsuites \(suite)>
        <testsuite \(suite)>
          <properties>\(properties.map { #"<property name="\#($0)" value="\#($1)"/>"# as XML })</properties>
      \(reasons)
      """
  }

  private func end(of report: FinishedReport) -> XML {
    var cases: [XML] = []
    if omitted.failures + omitted.others > 0 {
      let failures = omitted.failures > 0 ? counted(omitted.failures, "more failure") : nil
      let others = omitted.others > 0 ? counted(omitted.others, "more case") : nil
      let sentence = "\([failures, others].compactMap(\.self).joined(separator: " and ")) omitted: this file is limited to 30 MB"
      cases.append(.testCase("(cut)", "omitted cases", reason: sentence, isFailure: omitted.failures > 0))
    }
    if !listsSuccesses || report.totals.urls == 0 {
      cases.append(.testCase("(not listed)", "URLs that didn't fail", reason: nil))
    }
    var lines = [report.headline.sentence]
    if !listsSuccesses {
      let listed = report.totals.bad - min(report.totals.bad, omitted.failures + omitted.others)
      let good = "\(grouped(report.totals.urls - report.totals.bad)) of \(counted(report.totals.urls, "URL")) didn't fail"
      lines.append("\(good); \(counted(listed, "case")) listed")
    }
    let (fixed, moreFixed) = report.baseline?.fixedEntries() ?? ([], 0)
    lines += fixed.map { "fixed since the baseline: \($0.title)" }
    if moreFixed > 0, !fixed.isEmpty { lines.append("… \(grouped(moreFixed)) more fixed") }
    lines += report.warnings.prefix(Self.warningLimit)
    return """
      \(cases)    <system-out>\(lines.map { "\($0)\n" as XML })</system-out>
        </testsuite>
      </testsuites>

      """
  }
}

extension XML {
  /// A case that isn't of an entry; without a reason why it failed or was skipped, it passed.
  fileprivate static func testCase(_ className: String, _ name: String, reason: String?, isFailure: Bool = true) -> XML {
    let start: XML = #"    <testcase classname="\#(className)" name="\#(name)" time="0.0""#
    guard let reason else { return "\(start)/>\n" }
    let element: XML = isFailure ? "failure" : "skipped"
    return """
      \(start)>
            <\(element) type="\(name)" message="\(reason)">\(reason)</\(element)>
          </testcase>

      """
  }
}

extension FinishedReport {
  /// Why the exit status isn't 0, apart from failed entries, which have cases of their own.
  fileprivate var otherReasons: [XML] {
    if let stop = end.interruption.map({ "interrupted by \($0.signalName)" }) ?? end.breakage {
      return [.testCase("run", "run finishes", reason: stop)]
    }
    return failOn.rules.compactMap { rule in
      if case .failures = rule { return nil }
      if case .kind = rule { return nil }
      return failOn.reason(rule, in: self).map { .testCase(words.rules, words.key(rule), reason: $0) }
    }
  }
}

/// An unnamed file for parts of a report whose place in it is known only after the run.
struct ReportSpool {
  private static let pieceBytes = 65_536

  private let file: UnnamedFile
  private let folder: String
  private(set) var count = 0

  /// - Parameter folder: the folder for the file, by default that of TMPDIR.
  init(folder: String = temporaryFolder()) throws(ReportError) {
    self.folder = folder
    do { file = try UnnamedFile(in: folder) } catch { throw ReportError(.spool, path: folder, code: error.code) }
  }

  mutating func append(_ bytes: UnsafeRawBufferPointer) throws(ReportError) {
    do { try file.append(bytes) } catch { throw ReportError(.spool, path: folder, code: error.code) }
    count += bytes.count
  }

  /// Calls `body` with all appended bytes, in pieces.
  func read(_ body: (UnsafeRawBufferPointer) throws(ReportError) -> Void) throws(ReportError) {
    let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceBytes, alignment: 8)
    defer { piece.deallocate() }
    var offset = 0
    while offset < count {
      let length = readAll(file.descriptor, at: UInt64(offset), into: piece)
      guard let length, length > 0 else { throw ReportError(.spool, path: folder, code: length == nil ? errno : EIO) }
      try body(UnsafeRawBufferPointer(rebasing: piece[..<length]))
      offset += length
    }
  }
}
