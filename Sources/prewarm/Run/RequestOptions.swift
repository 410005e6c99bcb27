import ArgumentParser
import Reports
import Jobs

/// The title of options that only `--help-hidden` shows.
let rareOptions = "Rare options"

/// Options that set keys of a job other than those of cache and blacklist.
struct RequestOptions: ParsableArguments {
  @OptionGroup(title: "Requests")
  var transfers: TransferOptions

  @OptionGroup(title: "Verification")
  var rules: RuleOptions

  @OptionGroup(title: "Reports")
  var reports: ReportKeyOptions

  @OptionGroup(title: rareOptions, visibility: .hidden)
  var rare: RareRequestOptions

  func overrides() throws -> [JobOverride] {
    try transfers.overrides() + rare.overrides + rules.overrides() + reports.overrides()
  }
}

/// Options that set how images are requested.
struct TransferOptions: ParsableArguments {
  @Option(
    key: "prefetch.concurrency",
    "Limit concurrent transfers (default: 32)",
    "count",
    name: [.customShort("j", allowingJoined: true), .long]
  )
  var concurrency: JobOverride?

  @Option(key: "prefetch.per-host", "Limit concurrent transfers per host (default: 8)", "count")
  var perHost: JobOverride?

  @Option(key: "prefetch.rate", "Limit requests over all hosts, such as 200/s (default: none)", "rate")
  var rate: JobOverride?

  @Option(key: "prefetch.deadline", "Cancel unfinished URLs of a job after this time, such as 30m", "duration")
  var deadline: JobOverride?

  @Option(key: "prefetch.order", "Order URLs of a priority: fifo or lifo (default: fifo)", "order", completes: true)
  var order: JobOverride?

  @Option(
    key: "request.method",
    "Request images by get, head or probe",
    "method",
    discussion: "probe requests the first 64 KiB only. prewarm check probes by default, prewarm run uses get.",
    completes: true
  )
  var method: JobOverride?

  @Option(
    name: [.customShort("H"), .long],
    help: ArgumentHelp("Send a header with each request; repeatable", discussion: TransferOptions.headers, valueName: "header")
  )
  var header: [String] = []

  private static let headers = "Such as -H 'X-Token: abc'. Redirects to other hosts don't get it."

  @Option(key: "request.timeout", "Limit the time of a transfer, redirects included (default: 60s)", "duration")
  var timeout: JobOverride?

  @Option(key: "request.retries", "Limit retries of a transient failure (default: 2)", "count")
  var retries: JobOverride?

  func overrides() throws -> [JobOverride] {
    try [concurrency, perHost, order, rate, deadline, method, timeout, retries].compactMap(\.self)
      + header.map { header in
        if let override = JobOverride(header: header, origin: "--header") { return override }
        // Without a colon, the text may be a secret.
        throw CommandError(.misused, "--header has no colon; write --header 'Name: value'")
      }
  }
}

struct RareRequestOptions: ParsableArguments {
  @Option(key: "prefetch.per-host-rate", "Limit requests per host, such as 20/s (default: none)", "rate")
  var perHostRate: JobOverride?

  @Option(key: "request.recheck", "Request temporary failures again at the end, after this pause", "pause")
  var recheck: JobOverride?

  var overrides: [JobOverride] { [perHostRate, recheck].compactMap(\.self) }
}

/// Options that set which images and which runs are good.
struct RuleOptions: ParsableArguments {
  @Option(key: "verify.decode", "Decode images: none, header or full (default: header)", "depth", completes: true)
  var decode: JobOverride?

  @Flag(help: "Report how good images are delivered: caching, sizes, metadata, markup")
  var lint = false

  @Option(
    help: ArgumentHelp("Set a limit, such as failures=1% or baseline=known.jsonl; repeatable", valueName: "rule=value"),
    completion: .list(JobKeys.settings(in: "fail-on."))
  )
  var failOn: [String] = []

  func overrides() throws -> [JobOverride] {
    try [decode, .flag(lint, "--lint", "lint.all", "warn")].compactMap(\.self)
      + failOn.map { rule in
        let (name, value) = try optionPair(rule, option: "--fail-on", example: "failures=1%")
        return JobOverride(path: "fail-on.\(name)", value: value, origin: "--fail-on \(name)")
      }
  }
}

/// Options that add reports to those of a job.
struct ReportKeyOptions: ParsableArguments {
  @Option(
    name: [.customShort("o"), .long],
    help: ArgumentHelp(
      "Add a report in the form of the file's extension; repeatable",
      discussion: ReportKeyOptions.forms,
      valueName: "file"
    ),
    completion: .file()
  )
  var output: [String] = []

  private static let forms = "Extensions: txt, json, jsonl, csv, xml (JUnit), md, html and prom."

  @Option(
    help: ArgumentHelp("Add a report of a form, such as json=report.json; repeatable", valueName: "format=file"),
    completion: ReportOutputs.completion
  )
  var report: [String] = []

  func overrides() throws -> [JobOverride] {
    let named = try report.map { report in
      let (word, file) = try optionPair(report, option: "--report", example: "json=report.json")
      return Self.report(try ReportOutputs.format(word, path: file), file, origin: "--report \(word)")
    }
    return try named
      + output.map { file in
        if let format = ReportFormat(path: file) { return Self.report(format, file, origin: "-o \(file)") }
        let (file, advice) = (prewarm.named(file), "no report format has this extension; write --report FORMAT=FILE")
        throw CommandError(.misused, "-o \(file): \(advice), such as --report json=\(file)")
      }
  }

  /// - Parameter file: a path, or a section as in a job file, such as `{path: junit.xml, successes: true}`.
  private static func report(_ format: ReportFormat, _ file: String, origin: String) -> JobOverride {
    let target = ReportOutputs.isSection(file) ? file : JobOverride.quoted(file)
    return JobOverride(path: "report", value: "{\(format.rawValue): \(target)}", origin: origin, appends: true)
  }
}

protocol CacheOverriding: ParsableArguments {
  var overrides: [JobOverride] { get }
}

/// Options that set keys of cache and blacklist.
struct CacheKeyOptions: CacheOverriding {
  @OptionGroup(title: "Cache")
  var directory: CacheDirectoryOption

  @OptionGroup(title: "Cache")
  var rules: CacheRuleOptions

  @OptionGroup(title: rareOptions, visibility: .hidden)
  var rare: RareCacheOptions

  var overrides: [JobOverride] { directory.overrides + rules.overrides + rare.overrides }
}

struct CacheRuleOptions: ParsableArguments {
  @Option(
    key: "cache.mode",
    "Set the cache mode: use, bypass, only or refresh (default: use)",
    "mode",
    origin: "--cache-mode",
    completes: true
  )
  var cacheMode: JobOverride?

  @Option(key: "cache.freshness", "Expire entries by age or by http headers (default: age)", "rule", completes: true)
  var freshness: JobOverride?

  @Option(key: "cache.min-fresh", "Request entries that expire within this time (default: 0s)", "duration")
  var minFresh: JobOverride?

  @Option(key: "cache.namespace", "Use this namespace of the cache (default: default)", "name")
  var namespace: JobOverride?

  @Flag(help: "Request blacklisted URLs again")
  var retryBlacklisted = false

  var overrides: [JobOverride] {
    [cacheMode, freshness, minFresh, namespace, .flag(retryBlacklisted, "--retry-blacklisted", "blacklist.retry")]
      .compactMap(\.self)
  }
}

struct RareCacheOptions: ParsableArguments {
  @Flag(help: "Read the body of each hit and verify its checksum")
  var verifyHits = false

  var overrides: [JobOverride] { [.flag(verifyHits, "--verify-hits", "cache.verify-hits")].compactMap(\.self) }
}

/// The folder of caches, which each machine has for itself.
struct CacheDirectoryOption: ParsableArguments {
  @Option(
    key: "cache.directory",
    "Keep caches in this folder (default: ~/.cache/prewarm)",
    "folder",
    origin: "--cache-directory",
    isText: true,
    completion: .directory
  )
  var cacheDirectory: JobOverride?

  var overrides: [JobOverride] { [cacheDirectory].compactMap(\.self) }
}

/// Which keys `--set` completes to in a command.
protocol SettingScope {
  static var completion: CompletionKind { get }
}

enum AllKeys: SettingScope {
  static let completion = CompletionKind.list(JobKeys.settings())
}

/// Keys that have an effect on a check, which keeps nothing.
enum CheckKeys: SettingScope {
  static let completion = CompletionKind.list(
    JobKeys.settings().filter { setting in
      !CheckedJobs.sectionsOfKeeping.contains { setting.hasPrefix("\($0).") || setting.hasPrefix("\($0)=") }
        && !setting.hasPrefix("fail-on.evicted=")
    }
  )
}

/// `--set`, which sets any key of the job.
struct SettingOptions<Scope: SettingScope>: ParsableArguments {
  @Option(
    help: ArgumentHelp("Set a key by its path, such as request.max-bytes=1MiB; repeatable", valueName: "key=value"),
    completion: Scope.completion
  )
  var set: [String] = []

  func overrides() throws -> [JobOverride] {
    try set.map { setting in
      if let override = JobOverride(setting: setting) { return override }
      throw CommandError(.misused, "--set \(setting) isn't a pair; write --set prefetch.order=lifo")
    }
  }
}

extension Option where Value == JobOverride? {
  /// An option that sets a key of the job, whose last part is its name unless `origin` says otherwise.
  ///
  /// - Parameters:
  ///   - isText: whether the value is a text, whatever it would mean in YAML.
  ///   - completes: whether shells offer the words of the key.
  init(
    key: String,
    _ help: String,
    _ valueName: String,
    name: NameSpecification = .long,
    discussion: String = "",
    origin: String? = nil,
    isText: Bool = false,
    completes: Bool = false,
    completion: CompletionKind? = nil
  ) {
    self.init(
      name: name,
      help: ArgumentHelp(help, discussion: discussion, valueName: valueName),
      completion: completes ? .list(JobKeys.suggestions(for: key)) : completion
    ) { value in
      let origin = origin ?? "--\(key.split(separator: ".").last ?? "")"
      return isText
        ? JobOverride(path: key, text: value, origin: origin) : JobOverride(path: key, value: value, origin: origin)
    }
  }
}

extension JobOverride {
  /// What a flag sets; nil if it isn't given.
  static func flag(_ isGiven: Bool, _ option: String, _ key: String, _ value: String = "true") -> JobOverride? {
    isGiven ? JobOverride(path: key, value: value, origin: option) : nil
  }
}

/// The two sides of `NAME=VALUE`, both non-empty; anything else ends the command with status 3.
private func optionPair(_ text: String, option: String, example: String) throws -> (String, String) {
  guard let equals = text.firstIndex(of: "="), equals != text.startIndex, equals != text.indices.last else {
    throw CommandError(.misused, "\(option) \(text) isn't a pair; write \(option) \(example)")
  }
  return (String(text[..<equals]), String(text[text.index(after: equals)...]))
}

/// Which part of the jobs' entries a run has.
struct ShardOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Run one part of each job, such as 2/5; auto/5 or auto in task arrays", valueName: "shard"))
  var shard: String?

  @Option(help: ArgumentHelp("Divide rates by this many shards at once (default: all)", valueName: "count"))
  var atOnce: Int?

  /// The jobs, each with the entries of the chosen shard; unchanged without `--shard`.
  func parts(of jobs: [Job]) throws -> [Job] {
    if let atOnce, shard == nil || atOnce < 1 {
      throw CommandError(.misused, "--at-once \(atOnce): use a number from 1 with --shard, such as --shard 3/64 --at-once 16")
    }
    guard let shard else { return jobs }
    let number = try Self.number(shard, named: "--shard \(shard)")
    return jobs.map { $0.sharded(number, atOnce: atOnce) }
  }

  /// The shard that `text` means in this environment; an invalid one ends the command with status 3 and a sentence with that name.
  static func number(_ text: String, named name: String) throws -> ShardNumber {
    do throws(ShardError) {
      return try ShardRequest(text).number(environment: JobLoading.environment)
    } catch {
      throw CommandError(.misused, "\(name): \(error)")
    }
  }
}
