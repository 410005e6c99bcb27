import ArgumentParser
import Reports
import WarmJobs

/// `prewarm report`: reads reports that runs have written.
struct ReportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report",
    abstract: "Show reports in other forms, join them, compare them.",
    subcommands: [Show.self, Merge.self, Diff.self]
  )

  func run() throws {
    throw CommandError(.misused, "name what to do with reports: show, merge or diff")
  }
}

/// Reading a report that cannot be read ends a command with status 1.
func withReadingErrors<Result>(_ body: () throws(ReportReadingError) -> Result) throws -> Result {
  do throws(ReportReadingError) {
    return try body()
  } catch {
    throw CommandError(.couldNotFinish, "\(error)")
  }
}

/// Says of rows what they cannot tell.
func noteRows(_ path: String, _ display: DisplayOptions) {
  guard !display.quiet else { return }
  let name = path == "-" ? "standard input" : path
  Note.plain(
    "\(name): rows tell neither times nor the cache nor the rules of their run; failures are judged by the default fail-on"
  )
}

extension ReportCommand {
  /// `prewarm report show`.
  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Show a JSON or JSON Lines report as text, or in any other form.",
      discussion: """
        csv, jsonl and junit are made of rows, which only a JSON Lines report has. Rows in turn do not tell when their run began \
        and ended, what its cache holds, and what its fail-on is. Ends with 0 where the report is shown, whatever it says.
        """
    )

    @Argument(help: "The report; '-' is standard input.", completion: .file())
    var file: String

    @OptionGroup var outputs: ReportOutputs

    @OptionGroup(title: "Display")
    var text: TextOptions

    @OptionGroup(title: "Display")
    var display: DisplayOptions

    func run() throws {
      let targets = try outputs.targets()
      try ReportOutputs.check(targets, against: file)
      let input = try withReadingErrors { () throws(ReportReadingError) in try ReportInput(path: file) }
      try ReportOutputs.check(targets, against: input)
      switch input.kind {
      case .report:
        let report = try withReadingErrors { () throws(ReportReadingError) in try input.report(words: .job) }
        try ReportOutputs.finish(try ReportOutputs.open(targets, text, display), report)
      case .rows:
        noteRows(file, display)
        let writers = try ReportOutputs.open(targets, text, display)
        let replay = RowReplay(
          version: PrewarmVersion.current,
          job: JobIdentity(name: RowReplay.name(ofFile: file), file: nil),
          words: .job,
          journals: writers.compactMap(\.journal),
          listedFailures: text.failures.limit
        )
        try withReadingErrors { () throws(ReportReadingError) in try replay.add(input) }
        try ReportOutputs.finish(writers, try replay.finished())
      }
    }
  }
}
