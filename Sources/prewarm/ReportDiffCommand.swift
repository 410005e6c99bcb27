import ArgumentParser
import Glibc
import ImagePrimitives
import Reports

extension ReportCommand {
  /// `prewarm report diff`.
  struct Diff: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "diff",
      abstract: "Say what broke, what healed and which images changed from one report to another.",
      discussion: """
        URLs are the same by their text, variant and edge. All can be told of two JSON Lines reports; a JSON report that lists \
        every failure tells what broke and what healed. Ends with 0, or with --exit-code with 2 where something broke.
        """
    )

    @Argument(help: "The earlier report; '-' is standard input.", completion: .file())
    var before: String

    @Argument(help: "The later report; '-' is standard input.", completion: .file())
    var after: String

    @Option(help: ArgumentHelp("How many of each group are listed.", valueName: "count"))
    var limit = 10

    @Flag(help: "End with 2 where something broke.")
    var exitCode = false

    @Flag(help: "Print JSON: every difference as an object a line, and the counts in the last one.")
    var json = false

    func validate() throws {
      guard limit >= 0 else { throw ValidationError("--limit \(limit): name a number from 0 on") }
      guard before != "-" || after != "-" else {
        throw ValidationError("standard input holds one report; name a file for the other")
      }
    }

    func run() throws {
      let comparison = json ? try printRows() : try printText()
      if exitCode, comparison.broke > 0 { throw ExitCode(ExitStatus.beyondLimits.rawValue) }
    }

    private func printText() throws -> ReportComparison {
      var page = ComparisonText(limit: limit, width: terminalWidth(of: STDOUT_FILENO) ?? 80)
      let comparison = try withReadingErrors { () throws(ReportReadingError) in
        try ReportComparison(from: before, to: after) { page.add($0) }
      }
      try printData(page.text(comparison, from: before, to: after))
      return comparison
    }

    private func printRows() throws -> ReportComparison {
      let output = LineOutput(STDOUT_FILENO)
      var failure: (any Error)?
      func append(_ row: some Encodable) {
        do {
          Array(try jsonText(row).utf8).withUnsafeBytes { output.append($0) }
        } catch {
          failure = failure ?? error
        }
      }
      let comparison = try withReadingErrors { () throws(ReportReadingError) in
        try ReportComparison(from: before, to: after) { append(DifferenceRow($0)) }
      }
      append(ComparisonRow(comparison))
      output.flush()
      if let failure { throw failure }
      if output.hasFailed { throw CommandFailure(.couldNotFinish, "standard output could not be written") }
      return comparison
    }
  }
}

/// A difference as `--json` prints it.
private struct DifferenceRow: Encodable {
  struct End: Encodable {
    let kind: String?
    let status: Int?
    let format: String?
    let width: UInt32?
    let height: UInt32?
    let bytes: UInt64?

    init(_ end: ReportDifference.End) {
      kind = end.kind?.name
      status = end.status
      format = end.format?.name
      width = end.width > 0 ? end.width : nil
      height = end.height > 0 ? end.height : nil
      bytes = end.bytes > 0 ? end.bytes : nil
    }
  }

  let difference: String
  let aspects: [String]?
  let url: String
  let variant: String?
  let edge: String?
  let manifest: String
  let line: UInt64?
  let before: End
  let after: End

  init(_ difference: ReportDifference) {
    self.difference = difference.change.rawValue
    aspects = difference.aspects.isEmpty ? nil : difference.aspects.names
    url = difference.url
    variant = difference.variant.name
    edge = difference.variant.edge
    manifest = difference.manifest
    line = difference.line > 0 ? difference.line : nil
    before = End(difference.before)
    after = End(difference.after)
  }
}

/// The counts as `--json` prints them at the end.
private struct ComparisonRow: Encodable {
  let broke: UInt64
  let healed: UInt64
  let changed: UInt64
  let still_bad: UInt64
  let compared: UInt64
  let appeared: UInt64?
  let appeared_bad: UInt64
  let disappeared: UInt64?
  let disappeared_bad: UInt64
  let notes: [String]

  init(_ comparison: ReportComparison) {
    broke = comparison.broke
    healed = comparison.healed
    changed = comparison.changed
    still_bad = comparison.stillBad
    compared = comparison.compared
    appeared = comparison.appeared
    appeared_bad = comparison.appearedBad
    disappeared = comparison.disappeared
    disappeared_bad = comparison.disappearedBad
    notes = comparison.untold
  }
}
