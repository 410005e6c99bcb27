import ArgumentParser
import Glibc
import ImageManaging
import Base
import Lists
import Reports
import Jobs

/// `prewarm shards`: one job on many machines.
struct ShardsCommand: GroupCommand {
  static let configuration = CommandConfiguration(
    commandName: "shards",
    abstract: "Divide a job, run its parts on many machines, merge their reports",
    discussion: """
      EXAMPLES:
        prewarm shards plan job.yaml --shards 64 --output plan
        prewarm shards run plan 1
        prewarm shards merge plan
      """,
    subcommands: [Plan.self, Run.self, Status.self, Merge.self]
  )

  /// Opens a folder with a plan; an error ends the command with that status.
  fileprivate static func open(_ path: String, _ status: ExitStatus) throws -> ShardFolder {
    do throws(ReportReadingError) {
      return try ShardFolder(path)
    } catch {
      throw CommandError(status, "\(error); make a plan with prewarm shards plan")
    }
  }
}

struct PlanArgument: ParsableArguments {
  @Argument(help: ArgumentHelp("Use the plan in this folder", valueName: "plan"), completion: .directory)
  var plan: String
}

extension ShardsCommand {
  struct Plan: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "plan",
      abstract: "Read all lists once, and write the entries of each shard",
      discussion: """
        The folder gets plan.json, the job as it is, without values of variables, and the entries of each shard, with the credentials of \
        their URLs. All URLs of a host are in one shard, the largest hosts first, so that limits per host hold. Shards are numbered in the \
        order in which they should start. Rates are divided by --workers, the number of shards that run at once.

        EXIT STATUS:
          0    the plan is written
          1    a list can't be read, or the plan can't be written
          3    invalid job or command line

        EXAMPLES:
          prewarm shards plan job.yaml --shards 64 --output plan
        """
    )

    @Argument(
      help: ArgumentHelp("Divide the job of this file", valueName: "job"),
      completion: .file(extensions: ["yaml", "yml"])
    )
    var job: String

    @Option(help: ArgumentHelp("Make this many shards", valueName: "count"))
    var shards: Int?

    @Option(help: ArgumentHelp("Make shards of about this many entries", valueName: "count"))
    var entries: Int?

    @Option(help: ArgumentHelp("Run this many shards at once", valueName: "count"))
    var workers = 1

    @Option(help: ArgumentHelp("Divide by host or url", valueName: "rule"), completion: .list(["host", "url"]))
    var by = "host"

    @Option(help: ArgumentHelp("Write the plan to this new folder", valueName: "folder"), completion: .directory)
    var output: String

    @OptionGroup(title: "Display")
    var displayOptions: CheckedFileDisplayOptions

    private var size: ShardDivision.Size {
      get throws {
        switch (shards, entries) {
        case (let count?, nil) where (1...Shard.maximumCount).contains(count): return .shards(count)
        case (.some, nil): throw CommandError(.misused, "--shards: a job may have 1 to \(Shard.maximumCount) shards")
        case (nil, let count?) where count > 0: return .entries(count)
        case (nil, .some): throw CommandError(.misused, "--entries: a shard has at least one entry")
        default: throw CommandError(.misused, "name the size of shards with --shards 64 or --entries 500")
        }
      }
    }

    func run() throws {
      let display = displayOptions.display
      guard let rule = Shard.Rule(rawValue: by) else { throw CommandError(.misused, "--by \(named(by)): use host or url") }
      guard (1...100_000).contains(workers) else { throw CommandError(.misused, "--workers: use a number from 1 to 100000") }
      let size = try size
      try LocalTarget.check(output, option: "--output ")
      let (control, _) = try SignalWatcher.setUp(display)
      let planner = try JobLoading.load([job], display) { job throws(JobFileErrors) in
        try ShardPlanner(jobAt: job, by: rule, workers: workers, environment: JobLoading.environment)
      }[0]
      let manager = try ImageManager(ImageManager.Configuration())
      defer { manager.blocking.shutDown() }
      let written: (plan: ShardPlan, advice: [String])?
      do throws(JobError) {
        written = try planner.write(size, to: output, version: PrewarmVersion.current, manager: manager) { control.signal != nil }
      } catch {
        throw CommandError(error, of: planner.job)
      }
      guard let (plan, advice) = written else { throw ExitCode(SignalWatcher.status(of: control.signal ?? SIGTERM).rawValue) }
      if display.isQuiet { return }
      let hosts = plan.shards.reduce(0) { $0 + $1.hosts }
      let parts = [counted(plan.list.entries, "entry", plural: "entries")] + (hosts > 0 ? ["of \(counted(hosts, "host"))"] : [])
      Note.plain(
        "\(plan.job.name): \(parts.joined(separator: " ")) in \(counted(UInt64(plan.shards.count), "shard")), in \(output)"
      )
      for warning in plan.warnings + advice { Note.plain("\(plan.job.name): \(warning)") }
    }
  }

  struct Run: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "run",
      abstract: "Run one shard of a plan, and commit its report",
      discussion: """
        Writes done/I.jsonl and done/I.json in the plan's folder, both by rename. If they are there, it exits with 0 at once, so the same \
        command resumes. The merge judges the images.

        EXIT STATUS:
          0         committed, whatever its images
          3         stop all: invalid plan, job or command line
          others    run it again, best on another machine

        EXAMPLES:
          prewarm shards run plan 3
          prewarm shards run plan auto --exit-with-parent

        Show rare options with 'prewarm shards run --help-hidden'.
        """
    )

    @OptionGroup var plan: PlanArgument

    @Argument(help: ArgumentHelp("Run the shard with this number, or auto in task arrays", valueName: "shard"))
    var shard: String

    // The main function reads it, before anything else.
    @Flag(help: "End at once when the process that started this one ends")
    var exitWithParent = false

    @OptionGroup(title: "Job")
    var cacheDirectory: CacheDirectoryOption

    @OptionGroup(title: "Job")
    var settings: SettingOptions<AllKeys>

    @OptionGroup(title: "Display")
    var text: TextOptions

    @OptionGroup(title: "Display")
    var display: DisplayOptions

    @OptionGroup(title: rareOptions, visibility: .hidden)
    var sandbox: SandboxFlag

    func run() throws {
      let folder = try ShardsCommand.open(plan.plan, .misused)
      let count = folder.plan.shards.count
      let display = display.display
      guard let number = try number(of: count) else {
        if !display.isQuiet { Note.plain("\(folder.plan.job.name): the plan has \(count) shards only; nothing to do") }
        return
      }
      if folder.isDone(number.index) {
        if !display.isQuiet { Note.plain("\(folder.plan.job.name): shard \(number.index) of \(count) is done") }
        return
      }
      let run = JobsRun(display: display, text: text, confinement: try sandbox.confinement(), rowsGrowInPlace: false)
      try run.run(
        {
          let overrides = try cacheDirectory.overrides + settings.overrides()
          return try JobLoading.load([number], display) { number throws(JobFileErrors) in
            try folder.job(number, overrides: overrides, environment: JobLoading.environment)
          }
        },
        // Another process may have finished it while this one waited.
        unless: { folder.isDone(number.index) },
        finishing: { prepared, report in
          try commit(report, of: prepared, folder.plan.difference(of: report, from: number.index), display)
        }
      )
    }

    /// The shard; nil for a task of an array beyond the last one.
    private func number(of count: Int) throws -> ShardNumber? {
      do throws(ShardError) {
        return try ShardNumber(shard, ofPlan: count, environment: JobLoading.environment)
      } catch {
        throw CommandError(.misused, "shard \(named(shard)): \(error)")
      }
    }

    /// Writes the reports of a shard that finished; returns the status of this command.
    ///
    /// - Parameter problem: why the report isn't that of the whole shard; nil if it is.
    private func commit(
      _ report: FinishedReport,
      of prepared: PreparedJob,
      _ problem: String?,
      _ display: Display
    ) throws -> ExitStatus {
      try ReportOutputs.finish(try ReportOutputs.open([.init(format: .text, path: "-")], text, display), report)
      if let problem {
        Note.error("\(report.job.title) isn't done: it \(problem); run it again")
        return max(report.exitStatus, .couldNotFinish)
      }
      let errors = prepared.reports.write(report)
      for error in errors { Note.error("\(error)") }
      return errors.isEmpty ? .withinLimits : .couldNotFinish
    }
  }

  struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "status",
      abstract: "Show how many shards of a plan are done",
      discussion: """
        EXAMPLES:
          prewarm shards status plan
        """
    )

    @OptionGroup var plan: PlanArgument

    @OptionGroup(title: "Display")
    var displayOptions: CheckedFileDisplayOptions

    func run() throws {
      let folder = try ShardsCommand.open(plan.plan, .misused)
      let plan = folder.plan
      var (done, rows, failures, broken) = ([Int](), UInt64(0), UInt64(0), [String]())
      var time = Duration.zero
      for number in 1...plan.shards.count {
        do throws(ReportReadingError) {
          guard let report = try folder.report(number) else { continue }
          guard let problem = plan.difference(of: report, from: number) else {
            done.append(number)
            rows += report.totals.urls + report.repeats.urls
            failures += report.totals.bad
            time += report.end.duration
            continue
          }
          broken.append("the report of shard \(number) \(problem)")
        } catch {
          broken.append("\(error)")
        }
      }
      let all = plan.shards.reduce(0) { $0 + $1.rows }
      var lines = [
        "\(plan.job.name)  \(grouped(UInt64(done.count))) of \(counted(UInt64(plan.shards.count), "shard")) done",
        "  entries   \(grouped(rows)) of \(grouped(all))",
        "  failures  \(grouped(failures))",
      ]
      if done.count < plan.shards.count {
        if rows > 0 {
          let rest = time * (Double(all - min(all, rows)) / Double(rows)) / plan.workers
          lines.append("  rest      about \(elapsed(rest)) with \(counted(UInt64(plan.workers), "worker"))")
        }
        let missing = (1...plan.shards.count).filter { !Set(done).contains($0) }
        lines.append("  missing   \(numbers(of: missing))")
      }
      try printData(lines.map { escapedForTerminal($0) + "\n" }.joined())
      for sentence in broken { Note.error(sentence) }
    }
  }

  struct Merge: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "merge",
      abstract: "Merge the reports of a plan's shards into that of the job",
      discussion: """
        Writes the reports of --report, else those that the job names, and prints a text report. The job's fail-on judges all entries.

        EXIT STATUS:
          0    within the limits of fail-on
          1    a shard is missing, or its report can't be read
          2    beyond the limits of fail-on

        EXAMPLES:
          prewarm shards merge plan --report html=report.html
        """
    )

    @OptionGroup var plan: PlanArgument

    @OptionGroup var outputs: ReportOutputs

    @OptionGroup(title: "Display")
    var text: TextOptions

    @OptionGroup(title: "Display")
    var displayOptions: ReportDisplayOptions

    func run() throws {
      let folder = try ShardsCommand.open(plan.plan, .misused)
      let targets = try outputs.targets(usual: folder.plan.reports.map { .init(format: $0.format, path: $0.path) })
      for number in 1...folder.plan.shards.count {
        for path in [folder.reportPath(number), folder.rowsPath(number)] { try ReportOutputs.check(targets, against: path) }
      }
      let display = displayOptions.display
      let writers = try ReportOutputs.open(targets, text, display)
      let merged = FinishedReport(merging: folder.plan) { number throws(ReportReadingError) in try folder.report(number) }
      let journals = writers.compactMap(\.journal)
      if !journals.isEmpty { try copyRows(of: folder, to: journals) }
      try ReportOutputs.finish(writers, merged)
      if let breakage = merged.end.breakage { Note.error("\(merged.job.name): \(breakage)") }
      throw ExitCode(merged.exitStatus.rawValue)
    }

    /// Writes the rows of all shards that are done.
    private func copyRows(of folder: ShardFolder, to journals: [any ReportJournal]) throws {
      let replay = RowReplay(folder.plan.job.name, journals, text)
      for number in 1...folder.plan.shards.count where folder.isDone(number) {
        try replay.add(try ReportInput(path: folder.rowsPath(number)))
      }
      _ = try replay.finish()
    }
  }
}
