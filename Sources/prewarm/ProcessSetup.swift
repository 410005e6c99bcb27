import Glibc
import ImagePrimitives
import Reports
import Threads

/// Takes SIGINT and SIGTERM on a thread of its own: the first asks for the end, the second ends the process at once.
enum SignalWatcher {
  /// What comes so soon after the first is the same wish: timeout(1) signals its child, and then the child's process group.
  private static let echo = Duration.milliseconds(100)

  private static let watched = [SIGINT, SIGTERM]

  /// Blocks the signals for all threads; to be called before any other thread starts.
  static func prepare() {
    var set = signalSet()
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Starts to watch; `onFirst` gets the first signal. What was committed before a second one stays good.
  ///
  /// Throws if the system starts no thread: then all signals would be ignored.
  static func start(onFirst: @escaping @Sendable (Int32) -> Void) throws(ThreadError) {
    _ = try WorkerThread(name: "signals") {
      var set = signalSet()
      var received: Int32 = 0
      guard sigwait(&set, &received) == 0 else { return }
      let first = TimeSource.system.monotonic()
      onFirst(received)
      repeat {
        guard sigwait(&set, &received) == 0 else { return }
      } while TimeSource.system.monotonic().since(first) < echo
      _exit(status(of: received).rawValue)
    }
  }

  /// The exit status of a run that `signal` ended.
  static func status(of signal: Int32) -> ExitStatus { signal == SIGINT ? .interrupted : .terminated }

  private static func signalSet() -> sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in watched { sigaddset(&set, signal) }
    return set
  }
}

/// How many files and sockets the process may have open at once.
enum OpenFiles {
  /// Raises the limit to what the system allows this user; a job with thousands of transfers and large images needs more than the
  /// usual 1,024. Where it cannot be raised, less runs at once and errors say what to do.
  static func raiseLimit() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
