import ArgumentParser
import ImageManaging
import ImagePrimitives
import Reports
import WarmJobs

/// `prewarm check`: asks for images and keeps nothing.
struct CheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Check whether images are there and good; nothing is kept.",
    discussion: """
      A SOURCE is a URL of an image; the URL of a sitemap, whose path ends in .xml or .xml.gz; a file of URLs, or a pattern of such \
      files (text, CSV, TSV, JSON Lines, a sitemap, or a web server's log; compressed or not); '-', which is standard input; or a job \
      file (.yaml, .yml), of which manifests, request, verify, report and fail-on count. Job files are checked one after another, after \
      all other sources, which are one job named 'check'.

      Images are asked for by their first 64 KiB (--method probe), which tell format and size; with --decode full, or a job that \
      proves as much, they are fetched whole and every pixel is decoded. Cache and blacklist are neither read nor written. The \
      report ends with the verdict. Exit statuses are those of prewarm run; a SOURCE that cannot be meant ends in 3, before anything is fetched.
      """
  )

  @Argument(
    help: ArgumentHelp("URLs, sitemaps, files of URLs, job files, or '-'.", valueName: "source"),
    completion: .file()
  )
  var sources: [String]

  @OptionGroup(title: "Options that set keys of the job")
  var keys: KeyOptions

  @OptionGroup var shards: ShardOptions

  @Flag(help: "Read manifests, print the URLs that would be asked for, and ask for nothing.")
  var dryRun = false

  @OptionGroup(title: "Display")
  var display: DisplayOptions

  func run() throws {
    try JobsRun(display: display, isDryRun: dryRun, order: .failuresFirst).run {
      try shards.parts(of: try jobs(of: try readSources()))
    }
  }

  private func readSources() throws -> [CheckSource] {
    var read: [CheckSource] = []
    var errors: [CheckSource.SourceError] = []
    for source in sources {
      do throws(CheckSource.SourceError) {
        read.append(try CheckSource(source))
      } catch {
        errors.append(error)
      }
    }
    guard errors.isEmpty else {
      errors.forEach { Note.error($0.sentence) }
      throw ExitCode(ExitStatus.misused.rawValue)
    }
    return read
  }

  /// The jobs of all sources; all errors of all of them are printed before this throws exit status 3.
  private func jobs(of sources: [CheckSource]) throws -> [Job] {
    let checking = CheckedJobs(overrides: try keys.overrides())
    let environment = JobLoading.environment()
    var jobs: [Job] = []
    var errors: [JobFileError] = []
    func add(_ load: ([JobOverride]) throws(JobFileErrors) -> Job) {
      do throws(JobFileErrors) {
        jobs.append(try checking.job(load))
      } catch {
        errors += error.errors
      }
    }
    let manifests = sources.manifests
    if !manifests.isEmpty {
      add { overrides throws(JobFileErrors) in
        try JobFile.make(name: "check", manifests: manifests, overrides: overrides, environment: environment)
      }
    }
    for path in sources.jobPaths {
      add { overrides throws(JobFileErrors) in
        try JobFile.load(path: path, overrides: overrides, environment: environment)
      }
    }
    guard errors.isEmpty else { throw JobLoading.failure(JobFileErrors(errors), display) }
    return jobs
  }
}

/// Jobs as a check runs them.
struct CheckedJobs {
  /// What a check sets over each job: nothing is kept.
  private static let keepingNothing = [("cache.mode", "bypass"), ("cache.memory", "off"), ("transform", "none")]
    .map { JobOverride(path: $0, value: $1, origin: "prewarm check") }

  /// What the command line sets above all.
  let overrides: [JobOverride]

  /// A job by `load`, which gets what is set over the job file.
  ///
  /// Where nothing says how images are asked for, and their headers are all that is looked at, they are probed.
  func job(_ load: ([JobOverride]) throws(JobFileErrors) -> Job) throws(JobFileErrors) -> Job {
    let job = try load(Self.keepingNothing + overrides)
    if job.verify.rules.depth == .full || job.verify.rules.isStrict { return job }
    var probe = JobOverride(path: "request.method", value: "probe", origin: "prewarm check")
    probe.yields = true
    return try load(Self.keepingNothing + [probe] + overrides)
  }
}
