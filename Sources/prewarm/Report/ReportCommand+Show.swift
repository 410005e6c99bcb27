import ArgumentParser
import Reports
import Jobs

/// `prewarm report`: reads reports of earlier runs.
struct ReportCommand: GroupCommand {
  static let configuration = CommandConfiguration(
    commandName: "report",
    abstract: "Show, convert, merge and compare reports",
    subcommands: [Show.self, Merge.self, Diff.self]
  )
}

extension RowReplay {
  /// Counts rows for reports of a job of that name.
  convenience init(_ name: String, _ journals: [any ReportJournal], _ text: TextOptions) {
    self.init(
      into: RunReport(
        version: PrewarmVersion.current,
        job: JobIdentity(name: name, file: nil),
        words: .reading,
        startedAt: nil,
        journals: journals,
        listedFailures: text.failures.limit
      )
    )
  }
}

/// Prints a note on what a report of rows lacks.
func noteRows(_ path: String, _ display: Display) {
  guard !display.isQuiet else { return }
  let name = path == "-" ? "standard input" : path
  Note.plain("\(name): rows have no times, no cache figures and no fail-on of their run; the default fail-on applies")
}

extension ReportCommand {
  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Show a JSON or JSON Lines report as text or in another form",
      discussion: """
        The forms csv, jsonl and junit require a JSON Lines report. JSON Lines have no times, cache figures and fail-on of their run. \
        Exits with 0 if the report is shown, even if it has failures.

        EXAMPLES:
          prewarm report show report.json
          prewarm report show report.json --report html=report.html
        """
    )

    @Argument(help: ArgumentHelp("Show this report; '-' is standard input", valueName: "report"), completion: .file())
    var file: String

    @OptionGroup var outputs: ReportOutputs

    @OptionGroup(title: "Display")
    var text: TextOptions

    @OptionGroup(title: "Display")
    var displayOptions: ReportDisplayOptions

    private var display: Display { displayOptions.display }

    func run() throws {
      let targets = try outputs.targets()
      try ReportOutputs.check(targets, against: file)
      let input = try ReportInput(path: file)
      try ReportOutputs.check(targets, against: input)
      switch input.kind {
      case .report:
        let report = try input.report(words: .reading)
        try ReportOutputs.finish(try ReportOutputs.open(targets, text, display), report)
      case .rows:
        if try !input.namesShard() { noteRows(file, display) }
        let writers = try ReportOutputs.open(targets, text, display)
        let replay = RowReplay(RowReplay.name(ofFile: file), writers.compactMap(\.journal), text)
        try replay.add(input)
        try ReportOutputs.finish(writers, try replay.finish())
      }
    }
  }
}
