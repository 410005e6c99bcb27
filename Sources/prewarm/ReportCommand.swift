import ArgumentParser
import Reports

/// `prewarm report`: reads reports that runs have written.
struct ReportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report",
    abstract: "Show reports in other forms, join them, compare them.",
    subcommands: [Show.self, Merge.self, Diff.self]
  )

  func run() throws {
    throw CommandFailure(.misused, "name what to do with reports: show, merge or diff")
  }
}

/// Reading a report that cannot be read ends a command with status 1.
func withReadingErrors<Result>(_ body: () throws(ReportReadingError) -> Result) throws -> Result {
  do throws(ReportReadingError) {
    return try body()
  } catch {
    throw CommandFailure(.couldNotFinish, "\(error)")
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
