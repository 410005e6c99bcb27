import ArgumentParser
import Glibc
import ImageCoding
import ImageDownloading
import ImageManaging
import Base
import Reports
import Jobs

/// The arguments of `run` and `check`, whose `--set` completes to the keys of `Scope`.
struct JobsOptions<Cache: CacheOverriding, Scope: SettingScope>: ParsableArguments {
  @Argument(
    help: ArgumentHelp("Read URLs, sitemaps, lists, job files or '-' (standard input)", valueName: "source"),
    completion: .file()
  )
  var sources: [String]

  @OptionGroup(title: "Lists")
  var lists: SourceOptions

  @OptionGroup var requests: RequestOptions

  @OptionGroup var cache: Cache

  @OptionGroup(title: "Job")
  var dryRun: DryRunFlag

  @OptionGroup(title: "Job")
  var shards: ShardOptions

  @OptionGroup(title: "Job")
  var settings: SettingOptions<Scope>

  @OptionGroup(title: "Display")
  var text: TextOptions

  @OptionGroup(title: "Display")
  var display: DisplayOptions

  @OptionGroup(title: rareOptions, visibility: .hidden)
  var sandbox: SandboxFlag

  /// What the options set; `--set` comes last and wins.
  func overrides() throws -> [JobOverride] { try cache.overrides + requests.overrides() + settings.overrides() }

  /// Runs the jobs, which `prepare` makes from what loads them; the one of all sources that aren't job files is called `name`.
  func run(
    name: String,
    order: TextReport.Order = .verdictFirst,
    _ prepare: (@escaping SourceOptions.Loader) throws(JobFileErrors) -> Job
  ) throws {
    if dryRun.dryRun, let report = requests.reports.report.first(where: { $0.hasSuffix("=-") }) {
      throw DryRunFlag.conflict(with: "--report \(report)")
    }
    var run = JobsRun(display: display.display, text: text, confinement: try sandbox.confinement())
    (run.isDryRun, run.order) = (dryRun.dryRun, order)
    try run.run {
      try shards.parts(of: try lists.jobs(of: sources, name: name, display: display.display, prepare))
    }
  }
}

struct DryRunFlag: ParsableArguments {
  @Flag(help: "Print the URLs that would be requested; request no image")
  var dryRun = false

  /// The error of an option that sets another form of what a dry run prints.
  static func conflict(with option: String) -> CommandError {
    CommandError(.misused, "\(option) has no effect with --dry-run, which prints one URL per line; leave out one of them")
  }
}

/// `prewarm run`: runs jobs, one after another, over one shared manager.
struct RunCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Warm caches from job files, lists and sitemaps",
    discussion: """
      Sources are job files (.yaml, .yml), lists of URLs, URLs of images, sitemaps (.xml) or lists (.txt, .csv, .tsv, .jsonl), or '-' \
      for standard input. Patterns such as 'lists/*.csv' name several lists. Job files run one after another; all other sources are \
      one job named 'run'.

      prewarm reports all errors before the first request. If interrupted, run the same command again to resume.

      EXIT STATUS:
        0         within the limits of fail-on
        1         couldn't run: broken cache, list or report
        2         beyond the limits of fail-on: too many bad URLs
        3         invalid job or command line; nothing fetched
        130, 143  interrupted by SIGINT, SIGTERM

      EXAMPLES:
        prewarm run urls.txt
        prewarm run homepage.yaml --report html=report.html
        prewarm run homepage.yaml --dry-run

      Show rare options with 'prewarm run --help-hidden'.
      """
  )

  @OptionGroup var jobs: JobsOptions<CacheKeyOptions, AllKeys>

  func run() throws {
    let overrides = try jobs.overrides()
    try jobs.run(name: "run") { load throws(JobFileErrors) in try load(overrides) }
  }
}

struct JobsRun {
  let display: Display
  let text: TextOptions
  /// What the process gives up before the first request; nil: nothing.
  let confinement: Confinement?
  /// Whether to print what would be fetched instead of fetching it.
  var isDryRun = false
  var order = TextReport.Order.verdictFirst
  /// Whether rows are visible during the run.
  var rowsGrowInPlace = true

  /// Opens everything that the jobs of `load` need, runs them, and throws the worst exit status.
  ///
  /// - Parameters:
  ///   - isDone: whether a job needn't run, asked when all are prepared.
  ///   - finish: writes the reports of a job and returns its exit status; nil: all are written, and the report decides.
  func run(
    _ load: () throws -> [Job],
    unless isDone: () -> Bool = { false },
    finishing finish: ((PreparedJob, FinishedReport) throws -> ExitStatus)? = nil
  ) throws {
    let (control, progress) = try SignalWatcher.setUp(display, isConfined: confinement != nil)
    let jobs = try load()
    let prepared = try prepare(jobs, control)
    if isDone() { return }
    // Decoders start as a program, which a confined process can't.
    let configuration = configuration(of: prepared)
    confine(to: prepared)
    let manager = try ImageManager(configuration)
    defer { manager.blocking.shutDown() }
    let runner = JobRunner(manager: manager, version: PrewarmVersion.current, control: control)
    var worst = ExitStatus.withinLimits
    for job in prepared {
      if let interruption = control.interruption {
        Note.error("\(job.job.name): not started: interrupted by \(interruption.signalName)")
        worst = max(worst, interruption.exitStatus)
        continue
      }
      worst = max(worst, isDryRun ? try listMisses(job, runner) : try warm(job, runner, progress, finish))
    }
    throw ExitCode(worst.rawValue)
  }

  /// Gives up all that the jobs don't need. All threads that start later inherit it.
  private func confine(to prepared: [PreparedJob]) {
    guard let confinement else { return }
    var files = JobFiles()
    for job in prepared { job.addFiles(to: &files) }
    if let path = display.reportOptions(text).stepSummaryPath, !isDryRun, prepared.contains(where: \.job.reportsToGitHub) {
      // A rule needs the file, which the end of the run adds to.
      let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666)
      if descriptor >= 0 { close(descriptor) }
      files.written.append(path)
    }
    let sentence = confinement.begin(keeping: files)
    if display.isVerbose, let sentence { Note.plain(sentence) }
  }

  /// The jobs with their caches, lists and reports opened.
  private func prepare(_ jobs: [Job], _ control: RunControl) throws -> [PreparedJob] {
    guard jobs.flatMap(\.manifests).filter(\.isStandardInput).count <= 1 else {
      throw CommandError(.misused, "standard input can be read only once; name it once")
    }
    do throws(JobClash) {
      try jobs.checkOutputs()
    } catch {
      throw CommandError(.misused, "\(error)")
    }
    var prepared: [PreparedJob] = []
    for job in jobs {
      do throws(JobError) {
        var options = display.reportOptions(text, order)
        options.rowsGrowInPlace = rowsGrowInPlace
        prepared.append(
          try PreparedJob(
            job,
            reportOptions: options,
            isDryRun: isDryRun,
            spoolFolder: confinement?.spoolFolder ?? temporaryFolder(),
            isStopped: { control.signal != nil }
          ) { sentence in
            if !display.isQuiet { Note.plain("\(job.name): \(sentence)") }
          }
        )
      } catch {
        throw CommandError(error, of: job)
      }
      if !isDryRun { prepared.last?.reports.warnings.forEach { Note.error("\(job.name): \($0)") } }
      if display.isVerbose { prepared.last?.notes.forEach { Note.plain("\(job.name): \($0)") } }
    }
    return prepared
  }

  /// The manager's configuration. If a job decodes images, it starts the process of decoders, which inherits what this process has now.
  private func configuration(of prepared: [PreparedJob]) -> ImageManager.Configuration {
    var configuration = ImageManager.Configuration()
    guard confinement != nil, !isDryRun, prepared.contains(where: { $0.job.decodesImages }) else { return configuration }
    do throws(ImageError) {
      configuration.coders = .standard.isolated(by: try DecodingWorkers(command: "/proc/self/exe"))
    } catch {
      if display.isVerbose { Note.plain("\(error.message); images are decoded in this process") }
    }
    return configuration
  }

  private func warm(
    _ prepared: PreparedJob,
    _ runner: JobRunner,
    _ progress: ProgressPrinter,
    _ finish: ((PreparedJob, FinishedReport) throws -> ExitStatus)?
  ) throws -> ExitStatus {
    var report = runner.run(prepared, progress: progress)
    var status = report.exitStatus
    if !display.isQuiet { prepared.pageNotes.forEach { Note.plain($0) } }
    if let breakage = report.end.breakage { Note.error("\(report.job.name): \(breakage)") }
    if display.isVerbose {
      Note.plain("\(report.job.name): exits with \(report.exitStatus.rawValue)")
      for reason in report.verdict.reasons { Note.plain("\(report.job.name): \(reason)") }
    }
    if let finish { return try finish(prepared, report) }
    for error in prepared.reports.write(report) {
      Note.error("\(error)")
      report.end.breakage = report.end.breakage ?? "\(error)"
      status = max(status, .couldNotFinish)
    }
    for sentence in prepared.reports.notify(about: report) { Note.error("\(report.job.name): \(sentence)") }
    return status
  }

  /// Prints the URLs of a dry run to standard output, and a summary to standard error.
  private func listMisses(_ prepared: PreparedJob, _ runner: JobRunner) throws -> ExitStatus {
    let output = LineOutput(STDOUT_FILENO)
    var misses: UInt64 = 0
    let report = runner.run(prepared) { url in
      misses += 1
      output.append(url)
    }
    try output.finish()
    let verdict = report.verdictOnLists(fetching: misses)
    if !display.isQuiet {
      let others = prepared.job.cache.mode == .only ? "filtered out or not cached" : "filtered out"
      prepared.pageNotes.forEach { Note.plain($0) }
      Note.plain(Self.summary(of: report, misses: misses, others: others))
      for warning in report.warnings where warning != report.end.breakage { Note.plain("\(report.job.name): \(warning)") }
    }
    if let breakage = report.end.breakage {
      Note.error("\(report.job.name): \(breakage)")
      return .couldNotFinish
    }
    if report.end.interruption != nil { return report.exitStatus }
    for entry in report.failureGroups.flatMap(\.examples) where entry.outcome == .failed {
      let isInvalid = entry.failure?.kind == .invalidURL
      let location = isInvalid && entry.line > 0 ? "\(entry.manifest):\(entry.line)" : entry.url
      Note.error("\(location): \(entry.failure?.message ?? "not a valid URL")")
    }
    for reason in verdict.reasons { Note.error("\(report.job.name): \(reason)") }
    return verdict.exitStatus
  }

  private static func summary(of report: FinishedReport, misses: UInt64, others: String) -> String {
    let totals = report.totals
    let counts = [
      (misses, "to fetch"), (totals.hits, "cached"), (totals.blacklisted, "blacklisted"),
      (report.invalidURLs, "invalid"), (totals.failed - report.invalidURLs, "known to fail"), (totals.skipped - misses, others),
    ]
    let parts = counts.filter { $0.0 > 0 }.map { "\(grouped($0.0)) \($0.1)" }
    let list = parts.isEmpty ? "" : ": \(parts.joined(separator: ", "))"
    return "\(report.job.name): \(counted(totals.urls, "URL"))\(list); nothing was fetched"
  }
}

extension Job {
  fileprivate var reportsToGitHub: Bool { reports.contains { $0.format == .github } }
}
