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
      var page = ComparisonText(limit: limit, width: pageWidth(of: STDOUT_FILENO))
      let comparison = try withReadingErrors { () throws(ReportReadingError) in
        try ReportComparison(from: before, to: after) { page.add($0) }
      }
      try printData(page.text(comparison, from: before, to: after))
      return comparison
    }

    private func printRows() throws -> ReportComparison {
      let output = LineOutput(STDOUT_FILENO)
      func append(_ row: JSONTree) { Array(row.line.utf8).withUnsafeBytes { output.append($0) } }
      let comparison = try withReadingErrors { () throws(ReportReadingError) in
        try ReportComparison(from: before, to: after) { append($0.json) }
      }
      append(comparison.json)
      output.flush()
      if output.hasFailed { throw CommandError(.couldNotFinish, "standard output could not be written") }
      return comparison
    }
  }
}

extension ReportDifference {
  /// The difference as `--json` prints it.
  fileprivate var json: JSONTree {
    .sorted([
      "difference": change.rawValue,
      "aspects": aspects.isEmpty ? nil : aspects.names,
      "url": url,
      "variant": variant.name,
      "edge": variant.edge,
      "manifest": manifest,
      "line": line > 0 ? line : nil,
      "before": before.json,
      "after": after.json,
    ])
  }
}

extension ReportDifference.End {
  fileprivate var json: JSONTree {
    .sorted([
      "kind": kind?.name,
      "status": status,
      "format": format?.name,
      "width": width > 0 ? width : nil,
      "height": height > 0 ? height : nil,
      "bytes": bytes > 0 ? bytes : nil,
    ])
  }
}

extension ReportComparison {
  /// The counts as `--json` prints them at the end.
  fileprivate var json: JSONTree {
    .sorted([
      "broke": broke,
      "healed": healed,
      "changed": changed,
      "still_bad": stillBad,
      "compared": compared,
      "appeared": appeared,
      "appeared_bad": appearedBad,
      "disappeared": disappeared,
      "disappeared_bad": disappearedBad,
      "notes": untold,
    ])
  }
}
