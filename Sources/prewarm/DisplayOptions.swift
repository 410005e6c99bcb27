import ArgumentParser
import Glibc
import ImagePrimitives
import Reports
import Synchronization
import WarmJobs

/// When colours are used.
enum ColorChoice: String, ExpressibleByArgument, CaseIterable {
  case auto, always, never
}

/// How progress is shown.
enum ProgressChoice: String, ExpressibleByArgument, CaseIterable {
  case auto, bar, lines, none
}

/// How many failures text reports list.
struct FailureCount: ExpressibleByArgument {
  /// `.max`: all.
  let limit: Int

  static let standard = FailureCount(limit: TextReport.defaultFailureLimit)

  private init(limit: Int) { self.limit = limit }

  init?(argument: String) {
    if argument == "all" {
      limit = .max
    } else {
      guard let count = Int(argument), count >= 0 else { return nil }
      limit = count
    }
  }

  var defaultValueDescription: String { "\(limit)" }
}

/// What text reports have, for the subcommands that print them.
struct TextOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("How many failures text reports list: a number or all.", valueName: "count"),
    completion: .list(["all"])
  )
  var failures = FailureCount.standard
}

/// What and how the command prints, for every subcommand.
struct DisplayOptions: ParsableArguments {
  @Flag(name: .shortAndLong, help: "Print only failures and errors; nothing if all is well.")
  var quiet = false

  @Flag(
    name: .shortAndLong,
    help: "Say what each job opened, and how it ended; add hosts, speed and curl lines to text reports."
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
  func reportOptions(_ text: TextOptions, _ order: TextReport.Order = .verdictFirst) -> ReportOptions {
    var options = ReportOptions()
    options.terminal = TextReport(
      width: pageWidth(of: STDOUT_FILENO),
      isCut: isatty(STDOUT_FILENO) == 1,
      hasColor: usesColor(on: STDOUT_FILENO),
      order: order,
      detail: quiet ? .failures : verbose ? .all : .normal,
      failureLimit: text.failures.limit
    )
    // What GitHub Actions and GitLab set for each job (their lists of default and of predefined variables).
    options.stepSummaryPath = variable("GITHUB_STEP_SUMMARY")
    options.workspace = variable("GITHUB_WORKSPACE") ?? variable("CI_PROJECT_DIR") ?? currentFolder()
    return options
  }

  /// A variable of the environment; nil if it is empty or not there.
  private func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }
}

/// Shows progress on standard error: a bar that is redrawn on a terminal, a line every 10 s elsewhere.
///
/// Notes of other threads go through it too, so that none is erased with the bar, and none breaks it.
final class ProgressPrinter: JobProgress, Sendable {
  private static let lineInterval = Duration.seconds(10)

  private enum Form {
    case bar, lines, none
  }

  private struct Screen {
    /// The bar as it is drawn now; empty if there is none.
    var bar: [String] = []
    var nextLine: MonotonicInstant

    /// Moves to the first line of the bar and clears to the end of the screen (ECMA-48: CUU, ED).
    var eraser: String { bar.isEmpty ? "" : "\u{1B}[\(bar.count)A\r\u{1B}[J" }
    var drawnBar: String { bar.map { "\($0)\n" }.joined() }
  }

  private let form: Form
  private let hasColor: Bool
  private let isQuiet: Bool
  private let screen: Mutex<Screen>

  init(_ display: DisplayOptions) {
    hasColor = display.usesColor(on: STDERR_FILENO)
    isQuiet = display.quiet
    screen = Mutex(Screen(nextLine: TimeSource.system.monotonic().advanced(by: Self.lineInterval)))
    form =
      switch display.progress {
      case _ where display.quiet: .none
      case .none: .none
      case .bar: .bar
      case .lines: .lines
      case .auto: isatty(STDERR_FILENO) == 1 ? .bar : .lines
      }
  }

  func show(_ snapshot: ProgressSnapshot) {
    switch form {
    case .none: break
    case .bar:
      let renderer = ProgressRenderer(width: terminalWidth(of: STDERR_FILENO) ?? TextReport.defaultWidth, hasColor: hasColor)
      let lines = renderer.bar(snapshot)
      screen.withLock { screen in
        let eraser = screen.eraser
        screen.bar = lines
        writeToStandardError(eraser + screen.drawnBar)
      }
    case .lines:
      let now = TimeSource.system.monotonic()
      screen.withLock { screen in
        guard now >= screen.nextLine else { return }
        screen.nextLine = now.advanced(by: Self.lineInterval)
        writeToStandardError(ProgressRenderer(width: 80, hasColor: false).line(snapshot) + "\n")
      }
    }
  }

  func end() {
    screen.withLock { screen in
      writeToStandardError(screen.eraser)
      screen.bar = []
    }
  }

  /// Prints a line, above the bar if one is drawn; from any thread.
  func note(_ text: String) {
    if !isQuiet { write(text) }
  }

  /// Prints a warning, also if it is to be quiet; as ``note(_:)`` does.
  func warn(_ text: String) { write("prewarm: \(text)") }

  private func write(_ text: String) {
    screen.withLock { screen in
      writeToStandardError(screen.eraser + "\(escapedForTerminal(text))\n" + screen.drawnBar)
    }
  }
}
