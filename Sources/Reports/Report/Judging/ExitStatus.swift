/// How a run ended, as the exit status tells it; ordered so that of several jobs the greatest, which is the worst, counts.
public enum ExitStatus: Int32, Sendable, Comparable {
  /// Done, within `fail-on`.
  case withinLimits = 0
  /// It could not run or finish: cache unusable, report unwritable, a manifest unreadable or broken midway.
  case couldNotFinish = 1
  /// Done, but beyond `fail-on`.
  case beyondLimits = 2
  /// The job file or the command line is wrong; nothing was fetched.
  case misused = 3
  /// Stopped by SIGINT; a re-run goes on from the cache.
  case interrupted = 130
  /// Stopped by SIGTERM; a re-run goes on from the cache.
  case terminated = 143

  private var severity: Int {
    switch self {
    case .withinLimits: 0
    case .beyondLimits: 1
    case .couldNotFinish: 2
    case .misused: 3
    case .interrupted: 4
    case .terminated: 5
    }
  }

  /// Orders by how much it matters: of several jobs the greatest counts.
  public static func < (left: ExitStatus, right: ExitStatus) -> Bool { left.severity < right.severity }
}
