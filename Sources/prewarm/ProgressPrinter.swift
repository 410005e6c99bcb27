import Glibc
import ImagePrimitives
import Reports
import Synchronization
import WarmJobs

/// Shows progress on standard error: a bar that is redrawn on a terminal, a line every 10 s elsewhere.
///
/// Notes of other threads go through it too, so that none is erased with the bar, and none breaks it.
final class ProgressPrinter: JobProgress, Sendable {
  private static let lineInterval = Duration.seconds(10)

  private enum Form {
    case bar, lines, none
  }

  private struct Screen {
    /// The bar as it is drawn now; empty where there is none.
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
      let renderer = ProgressRenderer(width: terminalWidth(of: STDERR_FILENO) ?? 80, hasColor: hasColor)
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

  /// Tells something, above the bar where one is drawn; from any thread.
  func note(_ text: String) {
    if !isQuiet { write(text) }
  }

  /// Tells what somebody may have to do something about, also where it is to be quiet; as ``note(_:)`` does.
  func warn(_ text: String) { write("prewarm: \(text)") }

  private func write(_ text: String) {
    screen.withLock { screen in
      writeToStandardError(screen.eraser + "\(escapedForTerminal(text))\n" + screen.drawnBar)
    }
  }
}
