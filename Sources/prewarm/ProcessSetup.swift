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

  /// How long a process may wait for something else than a run after the first signal: a pipe without a reader or writer, say.
  private static let patience = Duration.milliseconds(800)

  /// What ends by itself after the first signal has ended by then: transfers, and questions to Redis.
  private static let grace = Duration.seconds(10)

  /// Starts to watch; `onFirst` gets the first signal. What was committed before a second one stays good.
  ///
  /// After the first, the process also ends if it waits while nothing runs that ends by itself: it is blocked by a file or a pipe then, which
  /// no thread of its own can wake it from. What was committed stays good here, too.
  ///
  /// - Parameter isEnding: whether something runs that ends by itself soon after the first signal.
  /// - Throws: if the system starts no thread: then all signals would be ignored.
  static func start(
    whileEnding isEnding: @escaping @Sendable () -> Bool,
    onFirst: @escaping @Sendable (Int32) -> Void
  ) throws(CommandError) {
    do {
      _ = try WorkerThread(name: "signals") { watch(whileEnding: isEnding, onFirst: onFirst) }
    } catch {
      throw CommandError(.couldNotFinish, "\(error)")
    }
  }

  private static func watch(whileEnding isEnding: () -> Bool, onFirst: (Int32) -> Void) {
    var set = signalSet()
    var received: Int32 = 0
    guard sigwait(&set, &received) == 0 else { return }
    let first = TimeSource.system.monotonic()
    onFirst(received)
    var interval = timespec(tv_sec: 0, tv_nsec: 100_000_000)
    var (lastWork, work) = (first, processorTime())
    while true {
      let next = sigtimedwait(&set, nil, &interval)
      let now = TimeSource.system.monotonic()
      if next > 0, now.since(first) >= echo { _exit(status(of: next).rawValue) }
      let isWorking = processorTime() - work > .milliseconds(1)
      if isWorking || isEnding() && now.since(first) < grace { (lastWork, work) = (now, processorTime()) }
      if now.since(lastWork) >= patience { _exit(status(of: received).rawValue) }
    }
  }

  /// The processor time of all threads so far.
  private static func processorTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
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
