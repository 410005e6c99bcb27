#if Queue
import ArgumentParser
import QueuedJobs
import Reports
import Threads
import WarmJobs
import WorkQueues

/// `prewarm enqueue`: puts a job into a queue for workers.
struct EnqueueCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "enqueue",
    abstract: "Put a job into a queue on Redis, for workers on many machines.",
    discussion: """
      The job is checked as by prewarm run, its manifests are read here, and each URL goes into the queue; prewarm worker fetches them. The job's \
      text goes there too, with its variables as they are written: each worker fills them in from its own environment. Stopped at any time, the \
      same command goes on where it was. A queue whose job is done and reported on begins anew.

      With --wait it shows progress until all is done, then writes the job's reports and ends with the exit status of prewarm run. Else it \
      ends when the queue is filled, and may be called again with --wait. Interrupted, it leaves the queue as it is.
      """
  )

  @Argument(help: "The job file (YAML).", completion: .file(extensions: ["yaml", "yml"]))
  var job: String

  @OptionGroup(title: "The queue")
  var queue: QueueOptions

  @Flag(help: "Wait until all is done, and write the job's reports.")
  var wait = false

  @Flag(help: "Throw away what the queue holds, whether it is done or not.")
  var replace = false

  @OptionGroup(title: "Options that set keys of the job")
  var keys: KeyOptions

  @OptionGroup(title: "Display")
  var text: TextOptions

  @OptionGroup(title: "Display")
  var display: DisplayOptions

  func run() throws {
    // Signals end the process until there is something to stop.
    let (loaded, contents, overrides) = try load()
    let location = try queue.location()
    // Before anything can start a thread.
    SignalWatcher.prepare()
    OpenFiles.raiseLimit()
    let control = RunControl()
    let progress = ProgressPrinter(display)
    // Lists and Redis are waited for with a limit.
    try SignalWatcher.start(whileEnding: { true }) { control.stop(signal: $0) }
    let reports = wait ? try openReports(loaded, control) : nil
    var options = JobEnqueuer.Options()
    options.replaces = replace
    options.waits = wait
    let enqueuer = JobEnqueuer(
      loaded,
      path: job,
      contents: contents,
      overrides: overrides,
      location: location,
      options: options,
      control: control
    ) { progress.warn($0) }
    let size: QueueSize
    let remarks: ListRemarks
    switch try ending(
      on: control,
      "\(location) is not filled; the same command goes on",
      { () throws(QueueJobError) in
        try enqueuer.fill(progress: progress)
      }
    ) {
    case .filled(let filled, let told):
      (size, remarks) = (filled, told)
      progress.note(
        "\(loaded.name): \(counted(size.entries, "URL")) put into \(location) in \(counted(size.messages, "message"))"
      )
    case .wasFull(let filled, let told):
      (size, remarks) = (filled, told)
      progress.note("\(loaded.name): \(location) was filled before, with \(counted(size.entries, "URL"))")
    }
    guard let reports else {
      for warning in remarks.warnings { progress.note("\(loaded.name): \(warning)") }
      guard let breakage = remarks.breakage else { return }
      throw CommandError(.couldNotFinish, "\(loaded.name): \(breakage); what was read before is in \(location)")
    }
    throw ExitCode(try report(on: loaded, at: location, of: size, reports, control, progress).rawValue)
  }

  /// The job, its file's text, and its overrides; all errors are printed before this throws exit status 3.
  private func load() throws -> (Job, [UInt8], [JobOverride]) {
    let overrides = try keys.overrides()
    do throws(JobFileErrors) {
      let contents = try JobFile.read(job)
      let loaded = try JobFile.parse(contents, path: job, overrides: overrides, environment: JobLoading.environment())
      return (loaded, contents, overrides)
    } catch {
      throw JobLoading.failure(error, display)
    }
  }

  private func openReports(_ job: Job, _ control: RunControl) throws -> JobReports {
    do throws(JobClash) {
      try [job].checkOutputs()
    } catch {
      throw CommandError(.misused, "\(error)")
    }
    do throws(JobError) {
      let reports = try JobReports(job, options: display.reportOptions(text)) { control.signal != nil }
      reports.warnings.forEach { Note.error("\(job.name): \($0)") }
      return reports
    } catch {
      throw CommandError(error, of: job)
    }
  }

  /// Waits for the workers, and writes the reports on what they did.
  private func report(
    on job: Job,
    at location: QueueLocation,
    of size: QueueSize,
    _ reports: JobReports,
    _ control: RunControl,
    _ progress: ProgressPrinter
  ) throws -> ExitStatus {
    let follower = QueueReport(job, at: location, reports: reports, version: PrewarmVersion.current, control: control) {
      progress.warn($0)
    }
    let report = try ending(
      on: control,
      "\(location) stays as it is",
      { () throws(QueueJobError) in
        try follower.follow(size, progress: progress)
      }
    )
    var status = report.exitStatus
    if let breakage = report.end.breakage { Note.error("\(report.job.name): \(breakage)") }
    let failures = reports.write(report)
    for error in failures {
      Note.error("\(error)")
      status = max(status, .couldNotFinish)
    }
    // What could not be written is written by the next try.
    if follower.isFinal, failures.isEmpty {
      try ending(
        on: control,
        "the reports are written, but \(location) does not know",
        { () throws(QueueJobError) in try follower.close(report) }
      )
    }
    return status
  }

  /// Does `body`; what it throws ends the command, a signal with `onSignal`.
  private func ending<Result>(
    on control: RunControl,
    _ onSignal: String,
    _ body: () throws(QueueJobError) -> Result
  ) throws -> Result {
    do throws(QueueJobError) {
      return try body()
    } catch {
      guard case .interrupted = error, let signal = control.signal else { throw CommandError(.couldNotFinish, "\(error)") }
      throw CommandError(SignalWatcher.status(of: signal), "interrupted: \(onSignal)")
    }
  }
}
#endif
