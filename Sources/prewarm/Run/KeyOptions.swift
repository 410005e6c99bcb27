import ArgumentParser
import Reports
import WarmJobs

/// The options that mirror keys of the job file; they stand above what the file says.
struct KeyOptions: ParsableArguments {
  @OptionGroup var requests: RequestOptions
  @OptionGroup var cache: CacheKeyOptions

  /// What they set; `--set` last, since it is the most exact.
  func overrides() throws -> [JobOverride] { try cache.overrides + requests.overrides() }
}

/// The options that mirror keys of the job file, except those of cache and blacklist.
struct RequestOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("prefetch.order: fifo or lifo.", valueName: "order"),
    completion: KeyCompletions.order
  )
  var order: String?

  @OptionGroup var limits: LimitOptions

  @Option(help: ArgumentHelp("prefetch.rate: requests begun over all hosts, such as 200/s.", valueName: "rate"))
  var rate: String?

  @Option(help: ArgumentHelp("prefetch.per-host-rate: the same at one host.", valueName: "rate"))
  var perHostRate: String?

  @Flag(help: "prefetch.adaptive: find each host's concurrency, up to per-host.")
  var adaptive = false

  @Option(help: ArgumentHelp("prefetch.deadline: for each whole job, such as 30m.", valueName: "duration"))
  var deadline: String?

  @Option(help: ArgumentHelp("request.method: get, head or probe.", valueName: "method"), completion: KeyCompletions.method)
  var method: String?

  @Option(
    name: [.customShort("H"), .long],
    help: ArgumentHelp(
      "A header of each request, such as 'X-Token: abc', sent to the entry's own host only; may be repeated.",
      valueName: "header"
    )
  )
  var header: [String] = []

  @Option(help: ArgumentHelp("request.timeout: for one transfer, redirects included.", valueName: "duration"))
  var timeout: String?

  @Option(help: ArgumentHelp("request.retries: of transient failures.", valueName: "count"))
  var retries: String?

  @Option(
    help: ArgumentHelp("verify.decode: none, header or full.", valueName: "depth"),
    completion: KeyCompletions.decode
  )
  var decode: String?

  @Option(
    help: ArgumentHelp("A rule of fail-on, such as failures=1% or empty=false; may be repeated.", valueName: "rule=value"),
    completion: KeyCompletions.rules
  )
  var failOn: [String] = []

  @Option(
    help: ArgumentHelp("A further report, such as json=report.json; may be repeated.", valueName: "format=file"),
    completion: KeyCompletions.reports
  )
  var report: [String] = []

  @Option(
    name: [.customShort("o"), .long],
    help: ArgumentHelp(
      "A further report in the form of the file's extension, such as report.html (txt, json, jsonl, csv, xml for JUnit, md, html, prom); may be repeated.",
      valueName: "file"
    ),
    completion: .file()
  )
  var output: [String] = []

  @OptionGroup var settings: SettingOptions

  /// What they set; `--set` last, since it is the most exact.
  func overrides() throws -> [JobOverride] {
    let plain: [(option: String, key: String, value: String?)] = [
      ("--order", "prefetch.order", order),
      ("--rate", "prefetch.rate", rate),
      ("--per-host-rate", "prefetch.per-host-rate", perHostRate),
      ("--adaptive", "prefetch.adaptive", adaptive ? "true" : nil),
      ("--deadline", "prefetch.deadline", deadline),
      ("--method", "request.method", method),
      ("--timeout", "request.timeout", timeout),
      ("--retries", "request.retries", retries),
      ("--decode", "verify.decode", decode),
    ]
    var overrides =
      limits.overrides
      + plain.compactMap { option, key, value in
        value.map { JobOverride(path: key, value: $0, origin: option) }
      }
    for header in header {
      guard let override = JobOverride(header: header, origin: "--header") else {
        // Without a colon it may be a secret alone.
        throw CommandError(.misused, "--header: write it as --header 'Name: value'")
      }
      overrides.append(override)
    }
    for rule in failOn {
      let (name, value) = try Self.pair(rule, option: "--fail-on", example: "failures=1%")
      overrides.append(JobOverride(path: "fail-on.\(name)", value: value, origin: "--fail-on \(name)"))
    }
    for report in report {
      let (word, file) = try Self.pair(report, option: "--report", example: "json=report.json")
      overrides.append(Self.report(try ReportOutputs.format(word, path: file), file, origin: "--report \(word)"))
    }
    for file in output {
      guard let format = ReportFormat(path: file) else {
        let advice = "write --report FORMAT=\(named(file)), such as --report json=\(named(file))"
        throw CommandError(.misused, "-o \(named(file)): no report format has this extension; \(advice)")
      }
      overrides.append(Self.report(format, file, origin: "-o \(file)"))
    }
    return try overrides + settings.overrides()
  }

  private static func report(_ format: ReportFormat, _ file: String, origin: String) -> JobOverride {
    JobOverride(
      path: "report",
      value: "{\(format.rawValue): \(JobOverride.quoted(file))}",
      origin: origin,
      appends: true
    )
  }

  private static func pair(_ text: String, option: String, example: String) throws -> (String, String) {
    guard let equals = text.firstIndex(of: "="), equals != text.startIndex, equals != text.indices.last else {
      throw CommandError(.misused, "\(option) \(text): write it as \(option) \(example)")
    }
    return (String(text[..<equals]), String(text[text.index(after: equals)...]))
  }
}

/// The options that mirror keys of cache and blacklist.
struct CacheKeyOptions: ParsableArguments {
  @OptionGroup var directory: CacheDirectoryOption

  @Option(
    help: ArgumentHelp("cache.mode: use, bypass, only or refresh.", valueName: "mode"),
    completion: KeyCompletions.cacheMode
  )
  var cacheMode: String?

  @Option(
    help: ArgumentHelp("cache.freshness: age or http.", valueName: "rule"),
    completion: KeyCompletions.freshness
  )
  var freshness: String?

  @Option(help: ArgumentHelp("cache.min-fresh: fetch again now what would expire sooner, such as 2h.", valueName: "duration"))
  var minFresh: String?

  @Flag(help: "cache.verify-hits: read every hit's body and check its sum.")
  var verifyHits = false

  @Option(help: ArgumentHelp("cache.namespace.", valueName: "name"))
  var namespace: String?

  @Flag(help: "blacklist.retry: ask blacklisted URLs all the same.")
  var retryBlacklisted = false

  /// What they set.
  var overrides: [JobOverride] {
    let plain: [(option: String, key: String, value: String?)] = [
      ("--cache-mode", "cache.mode", cacheMode),
      ("--freshness", "cache.freshness", freshness),
      ("--min-fresh", "cache.min-fresh", minFresh),
      ("--verify-hits", "cache.verify-hits", verifyHits ? "true" : nil),
      ("--namespace", "cache.namespace", namespace),
      ("--retry-blacklisted", "blacklist.retry", retryBlacklisted ? "true" : nil),
    ]
    return directory.overrides
      + plain.compactMap { option, key, value in value.map { JobOverride(path: key, value: $0, origin: option) } }
  }
}

/// The limits on transfers, which each machine has for itself.
struct LimitOptions: ParsableArguments {
  @Option(
    name: [.customShort("j", allowingJoined: true), .long],
    help: ArgumentHelp("prefetch.concurrency: transfers in flight.", valueName: "count")
  )
  var concurrency: String?

  @Option(help: ArgumentHelp("prefetch.per-host: transfers in flight to one host.", valueName: "count"))
  var perHost: String?

  /// What they set.
  var overrides: [JobOverride] {
    let all = [
      concurrency.map { JobOverride(path: "prefetch.concurrency", value: $0, origin: "--concurrency") },
      perHost.map { JobOverride(path: "prefetch.per-host", value: $0, origin: "--per-host") },
    ]
    return all.compactMap(\.self)
  }
}

/// The folder of caches, which each machine has for itself.
struct CacheDirectoryOption: ParsableArguments {
  @Option(help: ArgumentHelp("cache.directory.", valueName: "folder"), completion: .directory)
  var cacheDirectory: String?

  /// What it sets.
  var overrides: [JobOverride] {
    cacheDirectory.map { [JobOverride(path: "cache.directory", text: $0, origin: "--cache-directory")] } ?? []
  }
}

/// `--set`, which sets any key of the job.
struct SettingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("Any key by its dotted path, such as request.max-bytes=1MiB; may be repeated.", valueName: "key=value"),
    completion: KeyCompletions.settings
  )
  var set: [String] = []

  /// What they set, in their order.
  func overrides() throws -> [JobOverride] {
    try set.map { setting in
      guard let override = JobOverride(setting: setting) else {
        throw CommandError(.misused, "--set \(setting): write KEY=VALUE, such as prefetch.order=lifo")
      }
      return override
    }
  }
}

/// Which part of the jobs' entries a run has.
struct ShardOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Run one of N parts of each job's entries, cut by the key shard-by: 2/5; or auto/5, the part that this task of an array \
      is, by JOB_COMPLETION_INDEX (Kubernetes), SLURM_ARRAY_TASK_ID, AWS_BATCH_JOB_ARRAY_INDEX, CI_NODE_INDEX (GitLab) or \
      PARALLEL_SEQ (GNU parallel); or auto, where Slurm, AWS Batch or GitLab say how many tasks there are. Join the JSON \
      reports with 'prewarm report merge'.
      """,
      valueName: "shard"
    )
  )
  var shard: String?

  /// The jobs, each with the entries of the shard alone; all of them where none is named.
  func parts(of jobs: [Job]) throws -> [Job] {
    guard let shard else { return jobs }
    let number = try Self.number(shard)
    return jobs.map { $0.sharded(number) }
  }

  /// The shard that `text` means here.
  static func number(_ text: String) throws -> ShardNumber {
    do throws(ShardError) {
      return try ShardRequest(text).number(environment: JobLoading.environment())
    } catch {
      throw CommandError(.misused, "\(error)")
    }
  }
}

/// What shells offer as values of the options that set keys of the job; made once, since options are made anew for each command.
enum KeyCompletions {
  static let listFormat = CompletionKind.list(JobKeys.suggestions(for: "manifests[].format"))
  static let method = CompletionKind.list(JobKeys.suggestions(for: "request.method"))
  static let order = CompletionKind.list(JobKeys.suggestions(for: "prefetch.order"))
  static let decode = CompletionKind.list(JobKeys.suggestions(for: "verify.decode"))
  static let cacheMode = CompletionKind.list(JobKeys.suggestions(for: "cache.mode"))
  static let freshness = CompletionKind.list(JobKeys.suggestions(for: "cache.freshness"))
  static let rules = CompletionKind.list(JobKeys.settings(in: "fail-on."))
  static let reports = CompletionKind.list(ReportFormat.allCases.map { "\($0.rawValue)=-" })
  static let settings = CompletionKind.list(JobKeys.settings())
}
