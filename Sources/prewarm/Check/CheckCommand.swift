import ArgumentParser
import ImageManaging
import ImagePrimitives
import Reports
import WarmJobs

/// `prewarm check`: asks for images and keeps nothing.
struct CheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Check that images are there and good; keep nothing.",
    discussion: """
      A SOURCE is a URL of an image; the URL of a sitemap, whose path ends in .xml or .xml.gz; a list of URLs, or a pattern of lists \
      (text, CSV, TSV, JSON Lines, a sitemap, or a web server's access log with --base-url; compressed or not); '-', which is standard \
      input; or a job file (.yaml, .yml). Job files are checked one after another, after all other sources, which are one job named 'check'.

      Each image is requested, by its first 64 KiB (--method probe), which show format and size; with --decode full, or a job with that \
      depth, the whole image is fetched and every pixel is decoded. Cache and blacklist are neither read nor written. Of a job file, \
      cache, blacklist, transform and report don't count: the report goes to standard output, and to the files of --report.

      The report ends with the verdict. Exit statuses are those of prewarm run; an invalid SOURCE exits with 3 before anything is fetched.

      Examples:

        prewarm check https://www.example.com/sitemap.xml
        prewarm check urls.txt 'lists/*.csv' --include '/hero/**'
        prewarm check access.log --base-url https://www.example.com
        prewarm check homepage.yaml --report junit=images.xml
      """
  )

  @Argument(
    help: ArgumentHelp("URLs, sitemaps, lists of URLs, job files, or '-'.", valueName: "source"),
    completion: .file()
  )
  var sources: [String]

  @OptionGroup(title: "How lists are read")
  var lists: SourceOptions

  @OptionGroup(title: "Options that set keys of the job")
  var keys: RequestOptions

  /// Parsed only to reject them with a hint.
  @OptionGroup(visibility: .hidden)
  var cache: CacheKeyOptions

  @Flag(help: "Print a JSON report instead of text.")
  var json = false

  @OptionGroup var shards: ShardOptions

  @Flag(help: "Read lists, print the URLs that would be requested, and request no image.")
  var dryRun = false

  @OptionGroup(title: "Display")
  var text: TextOptions

  @OptionGroup(title: "Display")
  var display: DisplayOptions

  func run() throws {
    try JobsRun(display: display, text: text, isDryRun: dryRun, order: .failuresFirst).run {
      let overrides = try keys.overrides()
      if let kept = (cache.overrides + overrides).first(where: CheckedJobs.isAboutKeeping) {
        throw CommandError(
          .misused,
          "\(kept.origin): prewarm check keeps nothing and uses neither cache nor blacklist; use prewarm run"
        )
      }
      let checking = CheckedJobs(overrides: overrides)
      let jobs = try shards.parts(of: try lists.jobs(of: sources, name: "check", display: display, checking.job))
      return json ? jobs.map(\.printingJSON) : jobs
    }
  }
}

extension Job {
  /// The job with a JSON report on standard output in place of any other there.
  fileprivate var printingJSON: Job {
    var job = self
    job.reports.removeAll { $0.destination == .standardOutput }
    job.reports.append(Job.ReportTarget(format: .json, destination: .standardOutput))
    return job
  }
}

/// Jobs as a check runs them.
struct CheckedJobs {
  /// The sections of a job that are about what is kept.
  private static let sectionsOfKeeping = ["cache", "blacklist", "transform"]

  /// What a check sets over each job file: nothing is kept, and the job's reports stay those of its runs.
  private static let keepingNothing =
    (sectionsOfKeeping + ["report"]).map { JobOverride(defaultOf: $0) }
    + [JobOverride(path: "cache.mode", value: "bypass", origin: "prewarm check")]

  /// What the command line sets above all.
  let overrides: [JobOverride]

  /// Whether a check has no use for what an option sets.
  static func isAboutKeeping(_ override: JobOverride) -> Bool {
    sectionsOfKeeping.contains { override.path == $0 || override.path.hasPrefix("\($0).") }
  }

  /// A job by `load`, which gets what is set over the job file.
  ///
  /// If nothing says how images are requested, and their headers are enough for the job's rules, they are probed.
  func job(_ load: @escaping SourceOptions.Loader) throws(JobFileErrors) -> Job {
    let job = try load(Self.keepingNothing + overrides)
    if job.verify.rules.depth == .full || job.verify.rules.isStrict { return job }
    var probe = JobOverride(path: "request.method", value: "probe", origin: "prewarm check")
    probe.yields = true
    return try load(Self.keepingNothing + [probe] + overrides)
  }
}
