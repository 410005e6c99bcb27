import Glibc
import Base
import Platform
import Reports
import Jobs

/// Handles SIGINT and SIGTERM on its own thread: the first stops the work, the second ends the process at once.
enum SignalWatcher {
  /// Signals this soon after the first are ignored: timeout(1) signals its child, and then the child's process group.
  private static let echo = Duration.milliseconds(100)

  private static let watched = [SIGINT, SIGTERM]

  /// How long the process may wait for anything but a run after the first signal, such as a pipe without a reader.
  private static let patience = Duration.milliseconds(800)

  /// How long transfers may take to end after the first signal.
  private static let grace = Duration.seconds(10)

  /// Prepares the process for work that signals can stop. Call it before any thread starts.
  ///
  /// It blocks the signals in all threads, raises the limit of open files, and starts to watch: the first
  /// signal stops the control. Afterwards the process also ends if it waits while nothing runs that ends by itself: then a file
  /// or a pipe blocks it, and no other thread could wake it. Whatever was committed stays valid. Without its thread all signals
  /// would be ignored, so it throws then.
  ///
  /// - Parameter isConfined: whether the thread gives up all files: it starts too early to do so with the others.
  static func setUp(_ display: Display, isConfined: Bool = false) throws(CommandError) -> (
    control: RunControl, progress: ProgressPrinter
  ) {
    var set = signalSet()
    pthread_sigmask(SIG_BLOCK, &set, nil)
    OpenFiles.raiseLimit()
    let (control, progress) = (RunControl(), ProgressPrinter(display))
    do {
      _ = try WorkerThread(name: "signals") {
        if isConfined { Confinement.giveUpFiles() }
        watch {
          control.isRunning
        } onFirst: { signal in
          control.stop(signal: signal)
          if control.isRunning { progress.note("stopping: transfers have 5 s to finish; a second signal ends at once") }
        }
      }
    } catch {
      throw CommandError(.couldNotFinish, "\(error)")
    }
    return (control, progress)
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

  private static func processorTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  static func status(of signal: Int32) -> ExitStatus { signal == SIGINT ? .interrupted : .terminated }

  private static func signalSet() -> sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in watched { sigaddset(&set, signal) }
    return set
  }
}

/// The limit of files and sockets that the process may have open.
enum OpenFiles {
  /// Raises the limit to the user's maximum: jobs with thousands of transfers need more than the usual 1,024.
  ///
  /// If that fails, fewer transfers run at once, and errors say what to do.
  static func raiseLimit() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}

/// Ends this process when its parent ends, for `--exit-with-parent`.
enum ParentWatch {
  /// Must be called at the start of the process. A parent that names itself in PREWARM_PARENT is noticed even if it has ended before:
  /// then this process has another parent already.
  static func start() {
    let parent = getenv("PREWARM_PARENT").flatMap { pid_t(String(cString: $0)) } ?? getppid()
    system_end_with_parent()
    if getppid() != parent { _exit(ExitStatus.couldNotFinish.rawValue) }
  }
}
