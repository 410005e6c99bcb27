import Glibc
import ImagePrimitives
import Reporting
import WarmJobs

/// Shows progress on standard error: a bar that is redrawn on a terminal, a line every 10 s elsewhere.
final class ProgressPrinter: JobProgress {
  private static let lineInterval = Duration.seconds(10)

  private enum Form {
    case bar, lines, none
  }

  private let form: Form
  private let hasColor: Bool
  private var drawnLines = 0
  private var nextLine: MonotonicInstant

  init(_ display: DisplayOptions) {
    hasColor = display.usesColor(on: STDERR_FILENO)
    nextLine = TimeSource.system.monotonic().advanced(by: Self.lineInterval)
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
      writeToStandardError(eraser + lines.map { "\($0)\n" }.joined())
      drawnLines = lines.count
    case .lines:
      let now = TimeSource.system.monotonic()
      guard now >= nextLine else { return }
      nextLine = now.advanced(by: Self.lineInterval)
      writeToStandardError(ProgressRenderer(width: 80, hasColor: false).line(snapshot) + "\n")
    }
  }

  func end() {
    writeToStandardError(eraser)
    drawnLines = 0
  }

  /// Moves to the first drawn line and clears to the end of the screen (ECMA-48: CUU, ED).
  private var eraser: String { drawnLines == 0 ? "" : "\u{1B}[\(drawnLines)A\r\u{1B}[J" }
}
