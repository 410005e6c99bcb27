import ArgumentParser
import Glibc
import ImageDownloading
import ImageManaging
import ImagePrimitives
import Reports
import Threads
import WarmJobs

/// `prewarm run`: runs jobs, one after another, over one shared manager.
struct RunCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Warm caches from job files, lists and sitemaps.",
    discussion: """
      A SOURCE is a job file (.yaml, .yml), or, without a job file, what prewarm check takes: a list of URLs, a pattern of lists, '-' for \
      standard input, the URL of a sitemap (.xml, .xml.gz) or of an image. Lists and URLs are one job named 'run' with the defaults of a \
      job file, over the cache in the default folder. 'prewarm init' writes a job file to begin with.

      Jobs run one after another over one shared manager and cache. All of them are checked, and everything they need is \
      opened, before the first request. A report may not go to the file of another one, to a file that a job reads, or into its \
      cache, and no other run may be writing it. Of several jobs the worst exit status counts:

        0          done, within fail-on
        1          could not run or finish: cache unusable, report unwritable, a manifest unreadable or broken midway
        2          done, but beyond fail-on
        3          the job file or the command line is wrong, or another run writes the same report; nothing was fetched
        130, 143   interrupted by SIGINT, SIGTERM; a re-run goes on from the cache

      PREWARM_CONCURRENCY, PREWARM_TIMEOUT, PREWARM_USER_AGENT and PREWARM_PROXY set what neither the job file nor an option sets.
      """
  )

  @Argument(
    help: ArgumentHelp("Job files, lists of URLs, sitemaps, URLs, or '-'.", valueName: "source"),
    completion: .file()
  )
  var sources: [String]

  @OptionGroup(title: "How lists are read")
  var lists: SourceOptions

  @OptionGroup(title: "Options that set keys of the job")
  var keys: KeyOptions

  @OptionGroup var shards: ShardOptions

  @Flag(
    help: """
      Read lists and the cache, print the URLs that would be fetched, and fetch no image. Lists with a URL are fetched. An invalid \
      list exits as in a run. A URL that is listed more than once may be printed as often, and is fetched once.
      """
  )
  var dryRun = false

  @OptionGroup(title: "Display")
  var text: TextOptions

  @OptionGroup(title: "Display")
  var display: DisplayOptions

  func run() throws {
    try JobsRun(display: display, text: text, isDryRun: dryRun).run {
      let overrides = try keys.overrides()
      return try shards.parts(
        of: try lists.jobs(of: sources, name: "run", display: display) { load throws(JobFileErrors) in try load(overrides) }
      )
    }
  }
}

/// Runs jobs for the commands that do, one after another over one shared manager.
struct JobsRun {
  let display: DisplayOptions
  let text: TextOptions
  /// Whether it only prints what would be fetched.
  var isDryRun = false
  /// The order of text reports.
  var order = TextReport.Order.verdictFirst

  /// Opens all that the jobs of `load` need, runs them, and throws the exit status: of several jobs the worst.
  func run(_ load: () throws -> [Job]) throws {
    // Before anything can start a thread.
    SignalWatcher.prepare()
    OpenFiles.raiseLimit()
    let control = RunControl()
    let progress = ProgressPrinter(display)
    try SignalWatcher.start(whileEnding: { control.isRunning }) { signal in
      control.stop(signal: signal)
      guard control.isRunning else { return }
      progress.note("stopping: what is in flight has 5 s to finish; a second signal ends at once")
    }
    let jobs = try load()
    let prepared = try prepare(jobs, control)
    let manager: ImageManager
    do {
      manager = try ImageManager()
    } catch {
      throw CommandError(.couldNotFinish, "\(error)")
    }
    let runner = JobRunner(manager: manager, version: PrewarmVersion.current, control: control)
    var worst = ExitStatus.withinLimits
    for job in prepared {
      worst = max(worst, isDryRun ? listMisses(job, runner) : warm(job, runner, progress))
    }
    manager.shutDown()
    throw ExitCode(worst.rawValue)
  }

  /// The jobs with everything open that they need.
  private func prepare(_ jobs: [Job], _ control: RunControl) throws -> [PreparedJob] {
    guard jobs.flatMap(\.manifests).filter(\.isStandardInput).count <= 1 else {
      throw CommandError(.misused, "standard input is named more than once, but can be read only once")
    }
    do throws(JobClash) {
      try jobs.checkOutputs()
    } catch {
      throw CommandError(.misused, "\(error)")
    }
    var prepared: [PreparedJob] = []
    for job in jobs {
      do throws(JobError) {
        let options = display.reportOptions(text, order)
        prepared.append(
          try PreparedJob(job, reportOptions: options, isDryRun: isDryRun) { control.signal != nil }
        )
      } catch {
        // Manifests that no job file names, the command line does.
        if case .manifest = error, job.file == nil { throw CommandError(.misused, "\(error)") }
        throw CommandError(error, of: job)
      }
      if !isDryRun { prepared.last?.warnings.forEach { Note.error("\(job.name): \($0)") } }
      if display.verbose { prepared.last?.notes.forEach { Note.plain("\(job.name): \($0)") } }
    }
    return prepared
  }

  private func warm(_ prepared: PreparedJob, _ runner: JobRunner, _ progress: ProgressPrinter) -> ExitStatus {
    let report = runner.run(prepared, progress: progress)
    var status = report.exitStatus
    if let breakage = report.end.breakage { Note.error("\(report.job.name): \(breakage)") }
    if display.verbose {
      Note.plain("\(report.job.name): done with exit status \(report.exitStatus.rawValue)")
      for reason in report.verdict.reasons { Note.plain("\(report.job.name): \(reason)") }
    }
    for error in prepared.writeReports(report) {
      Note.error("\(error)")
      status = max(status, .couldNotFinish)
    }
    return status
  }

  /// A dry run: URLs to standard output, a summary to standard error.
  private func listMisses(_ prepared: PreparedJob, _ runner: JobRunner) -> ExitStatus {
    let output = LineOutput(STDOUT_FILENO)
    var misses: UInt64 = 0
    let report = runner.run(prepared) { url in
      misses += 1
      output.append(url)
    }
    output.flush()
    let verdict = report.verdictOnLists(fetching: misses)
    if !display.quiet {
      let others = prepared.job.cache.mode == .only ? "filtered out or not in the cache" : "filtered out"
      Note.plain(Self.summary(of: report, misses: misses, others: others))
      for warning in report.warnings where warning != report.end.breakage { Note.plain("\(report.job.name): \(warning)") }
    }
    if let breakage = report.end.breakage {
      Note.error("\(report.job.name): \(breakage)")
      return .couldNotFinish
    }
    if output.hasFailed { Note.error("standard output could not be written") }
    if output.hasFailed || report.end.interruption != nil { return output.hasFailed ? .couldNotFinish : report.exitStatus }
    for entry in report.failureGroups.filter({ $0.kind == .invalidURL }).flatMap(\.examples) {
      let location = entry.line > 0 ? "\(entry.manifest):\(entry.line)" : entry.url
      Note.error("\(location): \(entry.failure?.message ?? "no valid URL")")
    }
    for reason in verdict.reasons { Note.error("\(report.job.name): \(reason)") }
    return verdict.exitStatus
  }

  private static func summary(of report: FinishedReport, misses: UInt64, others: String) -> String {
    let totals = report.totals
    let counts = [
      (misses, "to fetch"), (totals.hits, "in the cache"), (totals.blacklisted, "known bad"), (totals.failed, "no valid URL"),
      (totals.skipped - misses, others),
    ]
    let parts = counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    let list = parts.isEmpty ? "" : ": \(parts.joined(separator: ", "))"
    return "\(report.job.name): \(counted(totals.urls, "URL"))\(list); no image was fetched"
  }
}
