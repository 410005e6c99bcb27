import ArgumentParser
import Reports
import Jobs

extension ReportCommand {
  struct Merge: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "merge",
      abstract: "Merge the reports of several runs or shards into one",
      discussion: """
        JSON and JSON Lines reports may be mixed. Exits with the worst exit status of the reports; the default fail-on applies to JSON \
        Lines. The forms csv, jsonl and junit require JSON Lines reports only.

        The reports of all shards of a job become the report of the whole job, and its fail-on applies to all entries. Exits with 1 if a \
        shard is missing, repeated or unfinished, or has read other lists.

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

    /// A file to merge: one with rows isn't read yet.
    private enum Input {
      case part(ReportPart)
      case rows(ReportInput)
    }

    func run() throws {
      let targets = try outputs.targets()
      guard files.count(where: { $0 == "-" }) < 2 else {
        throw CommandError(.misused, "standard input can be read only once; name it once")
      }
      OpenFiles.raiseLimit()
      let inputs = try files.map { try read($0, targets) }
      if try inputs.contains(where: { try isOfShard($0) }) { return try mergeShards(inputs, targets) }
      var (reports, rows): ([FinishedReport], [ReportInput]) = ([], [])
      for input in inputs {
        switch input {
        case .rows(let input): rows.append(input)
        case .part(let part): reports.append(try part.content.get())
        }
      }
      let writers = try ReportOutputs.open(targets, text, display)
      if !rows.isEmpty {
        let replay = RowReplay(name(of: reports, rows), writers.compactMap(\.journal), text)
        for input in rows {
          noteRows(input.path, display)
          try replay.add(input)
        }
        reports.append(try replay.finish())
      }
      let merged = reports.count == 1 ? reports[0] : FinishedReport(merging: reports)
      try ReportOutputs.finish(writers, merged)
      throw ExitCode(merged.exitStatus.rawValue)
    }

    private func isOfShard(_ input: Input) throws -> Bool {
      switch input {
      case .part(let part): if case .success(let report) = part.content { report.job.shard != nil } else { false }
      case .rows(let input): try input.namesShard()
      }
    }

    private func mergeShards(_ inputs: [Input], _ targets: [ReportOutputs.Target]) throws {
      let writers = try ReportOutputs.open(targets, text, display)
      let journals = writers.compactMap(\.journal)
      let copies = journals.isEmpty ? nil : RowReplay("merged", journals, text)
      let parts = inputs.flatMap { input -> [ReportPart] in
        switch input {
        case .part(let part): return [part]
        case .rows(let input):
          do throws(ReportReadingError) {
            return try RowReplay.reports(ofShardsIn: input, copies: copies) { RowReplay("merged", [], text) }
              .map { ReportPart(path: input.path, content: .success($0)) }
          } catch {
            return [ReportPart(path: input.path, content: .failure(error))]
          }
        }
      }
      // Completes the rows that the copies have written.
      _ = try copies?.finish()
      guard let merged = FinishedReport(mergingShards: parts) else {
        for part in parts { _ = try part.content.get() }
        throw CommandError(.couldNotFinish, "no report names its shard")
      }
      try ReportOutputs.finish(writers, merged)
      if let breakage = merged.end.breakage { Note.error("\(merged.job.name): \(breakage)") }
      throw ExitCode(merged.exitStatus.rawValue)
    }

    private func read(_ path: String, _ targets: [ReportOutputs.Target]) throws -> Input {
      try ReportOutputs.check(targets, against: path)
      do {
        let input = try ReportInput(path: path)
        try ReportOutputs.check(targets, against: input)
        switch input.kind {
        case .report: return .part(ReportPart(path: path, content: .success(try input.report(words: .reading))))
        case .rows: return .rows(input)
        }
      } catch let error as ReportReadingError {
        return .part(ReportPart(path: path, content: .failure(error)))
      }
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
