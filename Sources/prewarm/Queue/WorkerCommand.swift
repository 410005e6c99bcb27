#if Queue
import ArgumentParser
import ImageManaging
import QueuedJobs
import Reports
import Threads
import WarmJobs

/// `prewarm worker`: fetches the URLs of a queue.
struct WorkerCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "worker",
    abstract: "Fetch URLs from a queue, with workers on other machines",
    discussion: """
      The worker waits for a job that prewarm enqueue puts into the queue. It fills in the job's variables from its own environment, \
      resolves relative paths against the current folder and uses this machine's cache. If a worker crashes, others take over its URLs.

      EXIT STATUS:
        0         queue done; enqueue --wait applies fail-on
        1         couldn't continue: broken cache or Redis error
        3         invalid job or command line
        130, 143  interrupted; unfinished URLs are requeued

      EXAMPLES:
        prewarm worker --queue redis://10.0.0.1
        prewarm worker --queue redis://10.0.0.1 --keep -j 64

      Show rare options with 'prewarm worker --help-hidden'.
      """
  )

  @OptionGroup(title: "Queue")
  var queue: QueueOptions

  @Flag(help: "Wait for the next job when one is done")
  var keep = false

  @OptionGroup(title: rareOptions, visibility: .hidden)
  var takeOver: TakeOverOption

  @OptionGroup(title: "Job keys on this machine")
  var limits: LimitOptions

  @OptionGroup(title: "Job keys on this machine")
  var cache: CacheDirectoryOption

  @OptionGroup(title: "Job keys on this machine")
  var settings: SettingOptions<WorkerKeys>

  @OptionGroup(title: "Display")
  var displayOptions: WorkerDisplayOptions

  private var display: Display { displayOptions.display }

  func run() throws {
    // Waiting for Redis has a time limit.
    let (control, progress) = try SignalWatcher.setUp(display) { _ in true }
    let location = try queue.location()
    var options = QueueWorker.Options()
    options.keepsWaiting = keep
    guard options.setTakeOverAfter(takeOver.takeOverAfter) else {
      let text = takeOver.takeOverAfter
      throw CommandError(.misused, "--take-over-after \(text) isn't a duration of at least 1s; write it as 30s or 2m")
    }
    let overrides = try limits.overrides + cache.overrides + settings.overrides()
    if let refusal = overrides.compactMap(\.refusalByWorkers).first { throw CommandError(.misused, refusal) }
    let manager: ImageManager
    do {
      manager = try ImageManager(ImageManager.Configuration())
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
      try worker.run(progress: progress) { status = max(status, report($0)) }
    } catch {
      throw end(of: error, control)
    }
    manager.shutDown()
    throw ExitCode(status.rawValue)
  }

  /// Prints the summary of a job and returns its exit status.
  private func report(_ summary: WorkerSummary) -> ExitStatus {
    if !display.isQuiet {
      for line in summary.lines { writeToStandardOutput("\(escapedForTerminal(line))\n") }
    }
    switch summary.ending {
    case .drained: return .withinLimits
    case .interrupted(let interruption): return interruption.exitStatus
    case .replaced:
      Note.error("\(summary.name): the queue was deleted or replaced before its job was done")
      return .couldNotFinish
    case .failed(let why):
      Note.error("\(summary.name): \(why)")
      return .couldNotFinish
    }
  }

  private func end(of error: QueueWorker.StartError, _ control: RunControl) -> any Error {
    switch error {
    case .jobFile(let errors): return JobLoading.failure(errors, display)
    case .job(let name, let error): return CommandError(.couldNotFinish, "\(name): \(error)")
    case .queue(.interrupted): return ExitCode((control.signal.map(SignalWatcher.status) ?? .couldNotFinish).rawValue)
    case .queue(let error): return CommandError(.couldNotFinish, "\(error)")
    }
  }
}

struct TakeOverOption: ParsableArguments {
  @Option(
    help: ArgumentHelp("Take over URLs of workers silent for this time", discussion: TakeOverOption.scope, valueName: "duration")
  )
  var takeOverAfter = "30s"

  private static let scope = "Use the same time for all workers of a queue."
}

/// Keys that a worker may set for itself.
enum WorkerKeys: SettingScope {
  static let completion = CompletionKind.list(
    JobKeys.settings().filter { JobOverride(setting: $0)?.refusalByWorkers == nil }
  )
}
#endif
