import ArgumentParser

/// `prewarm run`: runs jobs, one after another, over one shared manager.
struct RunCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Warm caches from job files.",
    discussion: """
      Jobs run one after another over one shared manager and cache. All of them are checked, and everything they need is \
      opened, before the first request; two of them may not write one file. Of several jobs the worst exit status counts:

        0          done, within fail-on
        1          could not run or finish: cache unusable, report unwritable, a manifest unreadable or broken midway
        2          done, but beyond fail-on
        3          the job file or the command line is wrong; nothing was fetched
        130, 143   interrupted by SIGINT, SIGTERM; a re-run goes on from the cache
      """
  )

  @Argument(help: "Job files (YAML).", completion: .file(extensions: ["yaml", "yml"]))
  var jobs: [String]

  @OptionGroup(title: "Options that set keys of the job")
  var keys: KeyOptions

  @OptionGroup var shards: ShardOptions

  @Flag(
    help: """
      Read manifests and the cache, print the URLs that would be fetched, and fetch nothing. A URL that stands in the lists \
      more than once may be printed as often, and is fetched once.
      """
  )
  var dryRun = false

  @OptionGroup(title: "Display")
  var display: DisplayOptions

  func run() throws {
    try JobsRun(display: display, isDryRun: dryRun).run {
      try shards.parts(of: try JobLoading.jobs(at: jobs, overrides: try keys.overrides(), display: display))
    }
  }
}
