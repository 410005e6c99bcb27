import ArgumentParser
import Reports
import WarmJobs

extension ReportCommand {
  struct Merge: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "merge",
      abstract: "Merge the reports of several runs or shards into one",
      discussion: """
        JSON and JSON Lines reports may be mixed. Exits with the worst exit status of the reports; the default fail-on applies to JSON \
        Lines. The forms csv, jsonl and junit require JSON Lines reports only.

        The JSON reports of all shards of a job become the report of the whole job, and its fail-on applies to all entries. Exits with 1 \
        if a shard is missing, repeated or unfinished, or has read other lists.

        EXAMPLES:
          prewarm report merge shards/*.json
          prewarm report merge a.json b.json --report html=all.html
        """
    )

    @Argument(help: ArgumentHelp("Merge these reports; '-' is standard input", valueName: "report"), completion: .file())
    var files: [String]

    @OptionGroup var outputs: ReportOutputs

    @OptionGroup(title: "Display")
    var text: TextOptions

    @OptionGroup(title: "Display")
    var displayOptions: ReportDisplayOptions

    private var display: Display { displayOptions.display }

    func run() throws {
      let targets = try outputs.targets()
      guard files.count(where: { $0 == "-" }) < 2 else {
        throw CommandError(.misused, "standard input can be read only once; name it once")
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

    /// Reads a report; adds one of rows to `rows`, which are read later.
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

    /// Counts the rows of all files as one run.
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

    /// The name of the job, which rows lack: that of the other reports.
    private func name(of reports: [FinishedReport], _ rows: [ReportInput]) -> String {
      if let first = reports.first {
        return reports.allSatisfy { $0.job.name == first.job.name } ? first.job.name : "merged"
      }
      return rows.count == 1 ? RowReplay.name(ofFile: rows[0].path) : "merged"
    }
  }
}
