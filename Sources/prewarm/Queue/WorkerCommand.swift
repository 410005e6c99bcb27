#if Queue
import ArgumentParser
import ImageManaging
import QueuedJobs
import Reports
import Threads
import WarmJobs

/// `prewarm worker`: fetches what others put into a queue.
struct WorkerCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "worker",
    abstract: "Work on the job in a queue on Redis, beside workers on other machines.",
    discussion: """
      The job comes from the queue, where prewarm enqueue put it; until there is one, it is waited for. Relative paths in it start at the \
      current folder, variables come from this environment, the cache is this machine's own, and what options set holds here alone. Any number \
      of workers may come and go: what one that died had begun, others take over; each URL is reported once.

        0          nothing is left in the queue; failures are judged by prewarm enqueue --wait
        1          it could not go on: cache unusable, Redis refuses
        3          the job or the command line is wrong, such as a variable that is missing here
        130, 143   interrupted by SIGINT, SIGTERM: what was in flight had 5 s to finish, the rest went back
      """
  )

  @OptionGroup(title: "The queue")
  var queue: QueueOptions

  @Flag(help: "Wait for the next job when one is done.")
  var keep = false

  @Option(
    help: ArgumentHelp(
      "How long what another worker holds stays its own without a sign of it; the same for all workers of a queue.",
      valueName: "duration"
    )
  )
  var takeOverAfter = "30s"

  @OptionGroup(title: "Options that set keys of the job, on this machine")
  var limits: LimitOptions

  @OptionGroup(title: "Options that set keys of the job, on this machine")
  var cache: CacheDirectoryOption

  @OptionGroup(title: "Options that set keys of the job, on this machine")
  var settings: SettingOptions

  @OptionGroup(title: "Display")
  var display: DisplayOptions

  func run() throws {
    // Before anything can start a thread.
    SignalWatcher.prepare()
    OpenFiles.raiseLimit()
    let location = try queue.location()
    var options = QueueWorker.Options()
    options.keepsWaiting = keep
    guard options.setTakeOverAfter(takeOverAfter) else {
      throw CommandError(.misused, "--take-over-after \(takeOverAfter): write a duration of at least 1s, such as 30s")
    }
    let overrides = try limits.overrides + cache.overrides + settings.overrides()
    if let refusal = overrides.compactMap(\.refusalByWorkers).first { throw CommandError(.misused, refusal) }
    let control = RunControl()
    let progress = ProgressPrinter(display)
    let manager: ImageManager
    // Redis is waited for with a limit.
    try SignalWatcher.start(whileEnding: { true }) { signal in
      control.stop(signal: signal)
      progress.note("stopping: what is in flight has 5 s to finish; a second signal ends at once")
    }
    do {
      manager = try ImageManager()
    } catch {
      throw CommandError(.couldNotFinish, "\(error)")
    }
    let worker = QueueWorker(
      location,
      manager: manager,
      overrides: overrides,
      environment: JobLoading.environment(),
      options: options,
      control: control,
      note: { progress.note($0) },
      warn: { progress.warn($0) }
    )
    var status = ExitStatus.withinLimits
    do throws(QueueWorker.StartError) {
      try worker.run(progress: progress) { status = max(status, told($0)) }
    } catch {
      throw end(of: error, control)
    }
    manager.shutDown()
    throw ExitCode(status.rawValue)
  }

  /// Prints what was done of a job, and returns the status that it ends with.
  private func told(_ summary: WorkerSummary) -> ExitStatus {
    if !display.quiet {
      for line in summary.lines { writeToStandardOutput("\(escapedForTerminal(line))\n") }
    }
    switch summary.ending {
    case .drained: return .withinLimits
    case .interrupted(let interruption): return interruption == .interrupt ? .interrupted : .terminated
    case .replaced:
      Note.error("\(summary.name): the queue was deleted, or filled anew, before its job was done")
      return .couldNotFinish
    case .failed(let why):
      Note.error("\(summary.name): \(why)")
      return .couldNotFinish
    }
  }

  private func end(of refusal: QueueWorker.StartError, _ control: RunControl) -> any Error {
    switch refusal {
    case .jobFile(let errors): return JobLoading.failure(errors, display)
    case .job(let name, let error): return CommandError(.couldNotFinish, "\(name): \(error)")
    case .queue(.interrupted): return ExitCode((control.signal.map(SignalWatcher.status) ?? .couldNotFinish).rawValue)
    case .queue(let error): return CommandError(.couldNotFinish, "\(error)")
    }
  }
}
#endif
