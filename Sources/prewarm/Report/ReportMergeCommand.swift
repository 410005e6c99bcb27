import ArgumentParser
import Reports
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

        The JSON reports of a job's shards (--shard) become the report of the whole job: its duration is that of the longest \
        shard, and it is judged by the job's fail-on over all entries. Ends with 1 unless every shard is there once, has run \
        to its end, and has read the same lists as the others.
        """
    )

    @Argument(help: "The reports; '-' is standard input.", completion: .file())
    var files: [String]

    @OptionGroup var outputs: ReportOutputs

    @OptionGroup(title: "Display")
    var text: TextOptions

    @OptionGroup(title: "Display")
    var display: DisplayOptions

    func run() throws {
      let targets = try outputs.targets()
      guard files.count(where: { $0 == "-" }) < 2 else {
        throw CommandError(.misused, "standard input holds one report; name it once")
      }
      OpenFiles.raiseLimit()
      var rows: [ReportInput] = []
      let parts = try files.map { try read($0, targets, &rows) }
      if let merged = FinishedReport(mergingShards: parts) {
        try ReportOutputs.finish(try ReportOutputs.open(targets, text, display), merged)
        if let breakage = merged.end.breakage { Note.error("\(merged.job.name): \(breakage)") }
        throw ExitCode(merged.exitStatus.rawValue)
      }
      var reports: [FinishedReport] = []
      for part in parts {
        switch part.content {
        case .report(let report): reports.append(report)
        case .rows: break
        case .unreadable(let error): throw CommandError(.couldNotFinish, "\(error)")
        }
      }
      let writers = try ReportOutputs.open(targets, text, display)
      if !rows.isEmpty {
        reports.append(try count(rows, name: name(of: reports, rows), writers.compactMap(\.journal)))
      }
      let merged = reports.count == 1 ? reports[0] : FinishedReport(merging: reports)
      try ReportOutputs.finish(writers, merged)
      throw ExitCode(merged.exitStatus.rawValue)
    }

    /// What is in a file; rows, which are read later, are added to `rows`.
    private func read(_ path: String, _ targets: [ReportOutputs.Target], _ rows: inout [ReportInput]) throws -> ReportPart {
      var content = ReportPart.Content.rows
      try ReportOutputs.check(targets, against: path)
      do {
        let input = try ReportInput(path: path)
        try ReportOutputs.check(targets, against: input)
        switch input.kind {
        case .report: content = .report(try input.report(words: .job))
        case .rows: rows.append(input)
        }
      } catch let error as ReportReadingError {
        content = .unreadable(error)
      }
      return ReportPart(path: path, content: content)
    }

    /// Rows of all files are counted as of one run.
    private func count(_ rows: [ReportInput], name: String, _ journals: [any ReportJournal]) throws -> FinishedReport {
      let replay = RowReplay(
        version: PrewarmVersion.current,
        job: JobIdentity(name: name, file: nil),
        words: .job,
        journals: journals,
        listedFailures: text.failures.limit
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
