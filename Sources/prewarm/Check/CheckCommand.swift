import ArgumentParser
import ImageManaging
import Base
import Reports
import Jobs

/// `prewarm check`: requests images and stores nothing.
struct CheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Check that images are available and valid; store nothing",
    discussion: """
      Sources are URLs of images, pages, sitemaps (.xml), lists (.txt, .csv, .tsv, .jsonl) or a robots.txt; files with lists of URLs or \
      access logs; local pages (.html) and folders of these; job files (.yaml, .yml), or '-' for standard input. Patterns such as 'lists/*.csv' name several lists. Job files run one after \
      another; all other sources are one job named 'check'. Of a sitemap, prewarm also reads the pages of entries without images, at most \
      1,000 in all.

      prewarm requests the first 64 KiB of each image, which show its format and size, but not whether it is whole: with --decode full \
      it fetches whole images and decodes every pixel. What may have failed temporarily is requested once more after 30 s, unless \
      --recheck is off. It uses neither cache nor blacklist; of job files it ignores cache, blacklist, transform, report and notify.

      EXIT STATUS:
        0         within the limits of fail-on
        1         couldn't run or finish: a broken list or report
        2         beyond the limits of fail-on: too many bad URLs
        3         invalid source or command line; nothing fetched
        130, 143  interrupted by SIGINT, SIGTERM

      EXAMPLES:
        prewarm check https://www.example.com/sitemap.xml
        prewarm check urls.txt 'lists/*.csv' --include '/hero/**'
        prewarm check homepage.yaml --report junit=images.xml

      Show rare options with 'prewarm check --help-hidden'.
      """
  )

  @OptionGroup var jobs: JobsOptions<RejectedCacheOptions, CheckKeys>

  @OptionGroup(title: "Reports")
  var json: JSONReportFlag

  func run() throws {
    let overrides = try jobs.overrides()
    if let kept = overrides.first(where: CheckedJobs.isAboutKeeping) {
      throw CommandError(
        .misused,
        "\(kept.origin) has no effect: prewarm check uses neither cache nor blacklist; use prewarm run"
      )
    }
    if json.json, jobs.dryRun.dryRun { throw DryRunFlag.conflict(with: "--json") }
    let checking = CheckedJobs(overrides: overrides)
    try jobs.run(name: "check", order: .failuresFirst) { load throws(JobFileErrors) in
      var job = try checking.job(load)
      // Who checks a sitemap of pages means the images of these pages.
      if job.file == nil { job.readUndecidedPages() }
      return json.json ? job.printingJSON : job
    }
  }
}

/// Options of cache and blacklist, parsed only to reject them with a hint.
struct RejectedCacheOptions: CacheOverriding {
  @OptionGroup(visibility: .private)
  var options: CacheKeyOptions

  var overrides: [JobOverride] { options.overrides }
}

struct JSONReportFlag: ParsableArguments {
  @Flag(help: "Print a JSON report instead of text")
  var json = false
}

extension Job {
  /// The job with a JSON report on standard output instead of any other.
  fileprivate var printingJSON: Job {
    var job = self
    job.reports.removeAll { $0.destination == .standardOutput }
    job.reports.append(Job.ReportTarget(format: .json, destination: .standardOutput))
    return job
  }
}

/// Makes jobs that store nothing.
struct CheckedJobs {
  /// The sections of a job that only matter if images are stored.
  static let sectionsOfKeeping = ["cache", "blacklist", "transform"]

  /// The overrides of each job file: nothing is stored, the reports of earlier runs aren't replaced, and nobody is notified.
  private static let keepingNothing =
    (sectionsOfKeeping + ["report", "notify"]).map { JobOverride(defaultOf: $0) }
    + [JobOverride(path: "cache.mode", value: "bypass", origin: "prewarm check")]

  /// The overrides of the command line, which win.
  let overrides: [JobOverride]

  /// Whether an override has no effect on a check.
  static func isAboutKeeping(_ override: JobOverride) -> Bool {
    sectionsOfKeeping.contains { override.path == $0 || override.path.hasPrefix("\($0).") }
  }

  /// Returns the job that `load` makes with the overrides of a check.
  ///
  /// Unless the job or the command line says otherwise, images are probed if their headers are enough for the job's rules, and those that
  /// may have failed temporarily get a second look.
  func job(_ load: @escaping SourceOptions.Loader) throws(JobFileErrors) -> Job {
    let recheck = Self.default("request.recheck", "30s")
    let job = try load(Self.keepingNothing + [recheck] + overrides)
    if job.verify.rules.depth == .full || job.verify.rules.isStrict { return job }
    return try load(Self.keepingNothing + [recheck, Self.default("request.method", "probe")] + overrides)
  }

  /// The value of a key that neither the job nor the command line sets.
  private static func `default`(_ path: String, _ value: String) -> JobOverride {
    var override = JobOverride(path: path, value: value, origin: "prewarm check")
    override.yields = true
    return override
  }
}
