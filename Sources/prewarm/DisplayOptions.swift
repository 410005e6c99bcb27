import ArgumentParser
import Glibc
import Base
import Reports
import Synchronization
import Jobs

enum ColorChoice: String, ExpressibleByArgument, CaseIterable {
  case auto, always, never
}

enum ProgressChoice: String, ExpressibleByArgument, CaseIterable {
  case auto, bar, lines, none
}

struct FailureCount: ExpressibleByArgument {
  /// `.max`: all.
  let limit: Int

  static let standard = FailureCount(limit: TextReport.defaultFailureLimit)

  private init(limit: Int) { self.limit = limit }

  init?(argument: String) {
    guard let count = argument == "all" ? .max : Int(argument), count >= 0 else { return nil }
    limit = count
  }

  var defaultValueDescription: String { "\(limit)" }
}

/// The option of subcommands that print text reports.
struct TextOptions: ParsableArguments {
  @Option(help: ArgumentHelp("List at most this many failures, or all", valueName: "count"), completion: .list(["all"]))
  var failures = FailureCount.standard
}

struct QuietFlag: ParsableArguments {
  @Flag(name: .shortAndLong, help: "Print only failures and errors")
  var quiet = false
}

struct VerboseFlag: ParsableArguments {
  @Flag(name: .shortAndLong, help: "Print details: hosts, speed and curl lines")
  var verbose = false
}

struct ColorOption: ParsableArguments {
  @Option(help: "Use colors (auto respects NO_COLOR)")
  var color = ColorChoice.auto
}

struct ProgressOption: ParsableArguments {
  @Option(help: "Show progress (auto: a bar on terminals, else lines)")
  var progress = ProgressChoice.auto
}

/// The display options of commands that run jobs.
struct DisplayOptions: ParsableArguments {
  @OptionGroup var quiet: QuietFlag
  @OptionGroup var verbose: VerboseFlag
  @OptionGroup var color: ColorOption
  @OptionGroup var progress: ProgressOption

  var display: Display {
    Display(isQuiet: quiet.quiet, isVerbose: verbose.verbose, color: color.color, progress: progress.progress)
  }
}

/// The display options of commands that print reports; `--progress` is accepted without an effect.
struct ReportDisplayOptions: ParsableArguments {
  @OptionGroup var quiet: QuietFlag
  @OptionGroup var verbose: VerboseFlag
  @OptionGroup var color: ColorOption
  @OptionGroup(visibility: .private) var progress: ProgressOption

  var display: Display { Display(isQuiet: quiet.quiet, isVerbose: verbose.verbose, color: color.color) }
}

/// The display options of commands that only check files; `--verbose` and `--progress` are accepted without an effect.
struct CheckedFileDisplayOptions: ParsableArguments {
  @OptionGroup var quiet: QuietFlag
  @OptionGroup var color: ColorOption
  @OptionGroup(visibility: .private) var verbose: VerboseFlag
  @OptionGroup(visibility: .private) var progress: ProgressOption

  var display: Display { Display(isQuiet: quiet.quiet, color: color.color) }
}

struct Display {
  var isQuiet = false
  var isVerbose = false
  var color = ColorChoice.auto
  var progress = ProgressChoice.auto

  /// Whether output to `descriptor` is colored; see https://no-color.org for NO_COLOR.
  func usesColor(on descriptor: Int32) -> Bool {
    switch color {
    case .always: true
    case .never: false
    case .auto: isatty(descriptor) == 1 && (getenv("NO_COLOR").map { $0.pointee == 0 } ?? true)
    }
  }

  /// The options of reports for this terminal and environment; `order` is that of text reports.
  func reportOptions(_ text: TextOptions, _ order: TextReport.Order = .verdictFirst) -> ReportOptions {
    var options = ReportOptions()
    options.terminal.width = pageWidth(of: STDOUT_FILENO)
    options.terminal.isCut = isatty(STDOUT_FILENO) == 1
    options.terminal.hasColor = usesColor(on: STDOUT_FILENO)
    options.terminal.order = order
    options.terminal.detail = isQuiet ? .failures : isVerbose ? .all : .normal
    options.terminal.failureLimit = text.failures.limit
    // GitHub Actions and GitLab set these for each job (see their lists of default and predefined variables).
    options.stepSummaryPath = variable("GITHUB_STEP_SUMMARY")
    options.workspace = variable("GITHUB_WORKSPACE") ?? variable("CI_PROJECT_DIR") ?? currentFolder()
    return options
  }

  private func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }
}

/// Shows progress on standard error: a bar on a terminal, else a line every 10 s.
///
/// Notes of all threads go through it, so that redrawing the bar never erases one.
final class ProgressPrinter: JobProgress, Sendable {
  private static let lineInterval = Duration.seconds(10)

  private enum Form {
    case bar, lines, none
  }

  private struct Screen {
    /// The bar on the screen; empty if none is drawn.
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

  init(_ display: Display) {
    hasColor = display.usesColor(on: STDERR_FILENO)
    isQuiet = display.isQuiet
    screen = Mutex(Screen(nextLine: TimeSource.system.monotonic().advanced(by: Self.lineInterval)))
    form =
      switch display.progress {
      case _ where display.isQuiet: .none
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

  /// Prints a warning as ``note(_:)`` does, even with `--quiet`.
  func warn(_ text: String) { write("prewarm: \(text)") }

  private func write(_ text: String) {
    screen.withLock { screen in
      writeToStandardError(screen.eraser + "\(escapedForTerminal(text))\n" + screen.drawnBar)
    }
  }
}
