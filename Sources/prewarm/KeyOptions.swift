import ArgumentParser
import Reports
import WarmJobs

/// The options that mirror keys of the job file; they stand above what the file says.
struct KeyOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("prefetch.order: fifo or lifo.", valueName: "order"),
    completion: KeyCompletions.order
  )
  var order: String?

  @OptionGroup var machine: MachineOptions

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
      ("--cache-mode", "cache.mode", cacheMode),
      ("--freshness", "cache.freshness", freshness),
      ("--min-fresh", "cache.min-fresh", minFresh),
      ("--verify-hits", "cache.verify-hits", verifyHits ? "true" : nil),
      ("--namespace", "cache.namespace", namespace),
      ("--retry-blacklisted", "blacklist.retry", retryBlacklisted ? "true" : nil),
    ]
    var overrides =
      machine.overrides
      + plain.compactMap { option, key, value in
        value.map { JobOverride(path: key, value: $0, origin: option) }
      }
    for rule in failOn {
      let (name, value) = try Self.pair(rule, option: "--fail-on", example: "failures=1%")
      overrides.append(JobOverride(path: "fail-on.\(name)", value: value, origin: "--fail-on \(name)"))
    }
    for report in report {
      let (format, file) = try Self.pair(report, option: "--report", example: "json=report.json")
      overrides.append(
        JobOverride(
          path: "report",
          value: "{\(JobOverride.quoted(format)): \(JobOverride.quoted(file))}",
          origin: "--report \(format)",
          appends: true
        )
      )
    }
    return try overrides + settings.overrides()
  }

  private static func pair(_ text: String, option: String, example: String) throws -> (String, String) {
    guard let equals = text.firstIndex(of: "="), equals != text.startIndex, equals != text.indices.last else {
      throw CommandFailure(.misused, "\(option) \(text): write it as \(option) \(example)")
    }
    return (String(text[..<equals]), String(text[text.index(after: equals)...]))
  }
}
