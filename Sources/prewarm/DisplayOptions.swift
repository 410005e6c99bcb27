import ArgumentParser
import Glibc
import Reports
import WarmJobs

/// When colours are used.
enum ColorChoice: String, ExpressibleByArgument, CaseIterable {
  case auto, always, never
}

/// How progress is shown.
enum ProgressChoice: String, ExpressibleByArgument, CaseIterable {
  case auto, bar, lines, none
}

/// What and how the command prints, for every subcommand.
struct DisplayOptions: ParsableArguments {
  @Flag(name: .shortAndLong, help: "Print reports and errors only.")
  var quiet = false

  @Flag(
    name: .shortAndLong,
    help: "Say what each job opened, and how it ended; in text reports, how to make failed requests again."
  )
  var verbose = false

  @Option(help: "When to use colours: auto, always or never. NO_COLOR is honoured.")
  var color = ColorChoice.auto

  @Option(help: "How to show progress: auto, bar, lines or none. auto: a bar on a terminal, elsewhere a line every 10 s.")
  var progress = ProgressChoice.auto

  /// Whether what goes to `descriptor` is coloured; see https://no-color.org for NO_COLOR.
  func usesColor(on descriptor: Int32) -> Bool {
    switch color {
    case .always: true
    case .never: false
    case .auto: isatty(descriptor) == 1 && (getenv("NO_COLOR").map { $0.pointee == 0 } ?? true)
    }
  }

  /// What reports have to know of this terminal and its surroundings; `order` is that of text reports.
  func reportOptions(_ order: TextReport.Order = .verdictFirst) -> ReportOptions {
    var options = ReportOptions()
    options.terminal = TextReport(
      width: terminalWidth(of: STDOUT_FILENO) ?? 80,
      hasColor: usesColor(on: STDOUT_FILENO),
      order: order,
      isVerbose: verbose
    )
    // What GitHub Actions and GitLab set for each job (their lists of default and of predefined variables).
    options.stepSummaryPath = variable("GITHUB_STEP_SUMMARY")
    options.workspace = variable("GITHUB_WORKSPACE") ?? variable("CI_PROJECT_DIR") ?? currentFolder()
    return options
  }

  /// A variable of the environment; nil where it is empty or not there.
  private func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }
}
