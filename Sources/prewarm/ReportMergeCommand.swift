import ArgumentParser
import ReportReading
import Reporting
import WarmJobs

extension ReportCommand {
  /// `prewarm report merge`.
  struct Merge: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "merge",
      abstract: "Join the reports of several runs into one.",
      discussion: """
        JSON and JSON Lines reports may be mixed. Counts and histograms are added up exactly; the duration is the sum of all \
        durations. Ends with the worst exit status of the reports; rows, which do not tell theirs, are judged by the default \
        fail-on. csv, jsonl and junit are made of rows, so that each of the reports must have them.
        """
    )

    @Argument(help: "The reports; '-' is standard input.", completion: .file())
    var files: [String]

    @OptionGroup var outputs: ReportOutputs

    @OptionGroup(title: "Display")
    var display: DisplayOptions

    func run() throws {
      let targets = try outputs.targets()
      guard files.count(where: { $0 == "-" }) < 2 else {
        throw CommandFailure(.misused, "standard input holds one report; name it once")
      }
      OpenFiles.raiseLimit()
      var reports: [FinishedReport] = []
      var rows: [ReportInput] = []
      for path in files {
        let input = try withReadingErrors { () throws(ReportReadingError) in try ReportInput(path: path) }
        try ReportOutputs.check(targets, against: input)
        switch input.kind {
        case .report: reports.append(try withReadingErrors { () throws(ReportReadingError) in try input.report() })
        case .rows: rows.append(input)
        }
      }
      let writers = try ReportOutputs.open(targets, display)
      if !rows.isEmpty {
        reports.append(try count(rows, name: name(of: reports, rows), writers.compactMap(\.journal)))
      }
      let merged = reports.count == 1 ? reports[0] : FinishedReport(merging: reports)
      try ReportOutputs.finish(writers, merged)
      throw ExitCode(merged.exitStatus.rawValue)
    }

    /// Rows of all files are counted as of one run.
    private func count(_ rows: [ReportInput], name: String, _ journals: [any ReportJournal]) throws -> FinishedReport {
      let replay = RowReplay(
        version: PrewarmVersion.current,
        job: JobIdentity(name: name, file: nil),
        journals: journals
      )
      for input in rows {
        noteRows(input.path, display)
        try withReadingErrors { () throws(ReportReadingError) in try replay.add(input) }
      }
      return try replay.finished()
    }

    /// Rows do not tell their job: it is the one of the reports beside them.
    private func name(of reports: [FinishedReport], _ rows: [ReportInput]) -> String {
      if let first = reports.first {
        return reports.allSatisfy { $0.job.name == first.job.name } ? first.job.name : "merged"
      }
      return rows.count == 1 ? RowReplay.name(ofFile: rows[0].path) : "merged"
    }
  }
}
