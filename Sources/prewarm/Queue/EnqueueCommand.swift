#if Queue
import ArgumentParser
import QueuedJobs
import Reports
import Threads
import WarmJobs
import WorkQueues

/// `prewarm enqueue`: puts a job into a queue.
struct EnqueueCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "enqueue",
    abstract: "Put a job into a queue for workers on many machines",
    discussion: """
      prewarm reads the job's lists and puts each URL into the queue on Redis; prewarm worker fetches them. Each worker fills in the job's \
      variables from its own environment. If interrupted, run the same command again to resume.

      Without --wait the command ends when the queue is filled. With --wait it shows progress until the workers are done, writes the \
      job's reports and exits as prewarm run does.

      EXAMPLES:
        prewarm enqueue --queue redis://10.0.0.1 job.yaml
        prewarm enqueue --queue redis://10.0.0.1 --wait job.yaml

      Show rare options with 'prewarm enqueue --help-hidden'.
      """
  )

  @Argument(help: "Enqueue this job file (YAML)", completion: .file(extensions: ["yaml", "yml"]))
  var job: String

  @OptionGroup(title: "Queue")
  var queue: QueueOptions

  @Flag(help: "Wait for the workers, then write the job's reports")
  var wait = false

  @Flag(help: "Replace the job in the queue, even if it is unfinished")
  var replace = false

  @OptionGroup var keys: KeyOptions

  @OptionGroup(title: "Display")
  var text: TextOptions

  @OptionGroup(title: "Display")
  var displayOptions: DisplayOptions

  private var display: Display { displayOptions.display }

  func run() throws {
    // Until there is something to stop, signals end the process.
    let (loaded, contents, overrides) = try load()
    let location = try queue.location()
    // Reading lists and waiting for Redis have time limits.
    let (control, progress) = try SignalWatcher.setUp(display) { _ in false }
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
      "\(location) isn't filled; run the same command again to resume",
      { () throws(QueueJobError) in
        try enqueuer.fill(progress: progress)
      }
    ) {
    case .filled(let filled, let noted):
      (size, remarks) = (filled, noted)
      progress.note(
        "\(loaded.name): put \(counted(size.entries, "URL")) into \(location) in \(counted(size.messages, "message"))"
      )
    case .wasFull(let filled, let noted):
      (size, remarks) = (filled, noted)
      progress.note("\(loaded.name): \(location) is already filled with \(counted(size.entries, "URL"))")
    }
    guard let reports else {
      for warning in remarks.warnings { progress.note("\(loaded.name): \(warning)") }
      guard let breakage = remarks.breakage else { return }
      throw CommandError(.couldNotFinish, "\(loaded.name): \(breakage); \(location) has the URLs read before")
    }
    throw ExitCode(try report(on: loaded, at: location, of: size, reports, control, progress).rawValue)
  }

  /// Returns the job, the text of its file, and its overrides; prints all errors before it throws exit status 3.
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

  /// Waits for the workers, then writes the reports.
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
      "\(location) is unchanged",
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
    // The next call writes the reports that failed.
    if follower.isFinal, failures.isEmpty {
      try ending(
        on: control,
        "the reports are written, but \(location) isn't marked as reported",
        { () throws(QueueJobError) in try follower.close(report) }
      )
    }
    return status
  }

  /// Calls `body`; its errors end the command, after a signal with the sentence `onSignal`.
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
