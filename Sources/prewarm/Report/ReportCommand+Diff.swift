import ArgumentParser
import Glibc
import Base
import Reports

extension ReportCommand {
  struct Diff: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "diff",
      abstract: "Compare two reports: broken, fixed and changed URLs",
      discussion: """
        Two JSON Lines reports show all differences. A JSON report that lists every failure shows broken and fixed URLs. Entries match \
        by URL, variant and edge.

        EXAMPLES:
          prewarm report diff yesterday.jsonl today.jsonl
          prewarm report diff old.jsonl new.jsonl --exit-code
        """
    )

    @Argument(help: "Compare this earlier report; '-' is standard input", completion: .file())
    var before: String

    @Argument(help: "Compare this later report; '-' is standard input", completion: .file())
    var after: String

    @Option(help: ArgumentHelp("List at most this many URLs per group", valueName: "count"))
    var limit = 10

    @Flag(help: "Exit with 2 if a URL is newly broken")
    var exitCode = false

    @Flag(help: "Print a JSON object per difference, then one with the counts")
    var json = false

    func validate() throws {
      guard limit >= 0 else { throw ValidationError("--limit \(limit) is negative; use 0 or more") }
      guard before != "-" || after != "-" else {
        throw ValidationError("standard input can be read only once; name a file for the other report")
      }
    }

    func run() throws {
      let comparison = json ? try printRows() : try printText()
      if exitCode, comparison.broke > 0 { throw ExitCode(ExitStatus.beyondLimits.rawValue) }
    }

    private func printText() throws -> ReportComparison {
      var page = ComparisonText(limit: limit, width: pageWidth(of: STDOUT_FILENO))
      let comparison = try ReportComparison(from: before, to: after) { page.add($0) }
      try printData(page.text(comparison, from: before, to: after))
      return comparison
    }

    private func printRows() throws -> ReportComparison {
      let output = LineOutput(STDOUT_FILENO)
      func append(_ row: JSONTree) { Array(row.line.utf8).withUnsafeBytes { output.append($0) } }
      let comparison = try ReportComparison(from: before, to: after) { append($0.json) }
      append(comparison.json)
      try output.finish()
      return comparison
    }
  }
}

extension ReportDifference {
  fileprivate var json: JSONTree {
    .sorted([
      "difference": change.rawValue,
      "aspects": aspects.isEmpty ? nil : aspects.map(\.rawValue),
      "url": entry.url,
      "variant": entry.variant.name,
      "edge": entry.variant.edge,
      "manifest": entry.manifest,
      "line": entry.line > 0 ? entry.line : nil,
      "before": before.json,
      "after": after.json,
    ])
  }
}

extension EntryFacts {
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
      "notes": notes,
    ])
  }
}
