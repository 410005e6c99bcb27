internal import ImagePrimitives
internal import Manifests
internal import Reports

extension JobKeys {
  @JobKeyList static var report: [JobKey] {
    JobKey(
      "report",
      exactlyOneOf: ReportFormat.allCases.map(\.rawValue),
      \.reports,
      Job.ReportTarget(),
      text: { "{\($0.format.rawValue): \(JobOverride.quoted($0.destination.path))}" },
      "reports, each with a path, or '-' for standard output"
    )
    JobKey("report[].text", .given(.path), \.report[.text], example: #""-""#, "for a person")
    JobKey("report[].json", .given(.path), \.report[.json], example: "reports/homepage.json", "prewarm.report/1")
    JobKey("report[].jsonl", .given(.path), \.report[.jsonl], example: "reports/homepage.jsonl", "a JSON object an entry")
    JobKey("report[].csv", .given(.path), \.report[.csv], example: "reports/homepage.csv", "a row an entry")
    JobKey(
      "report[].junit",
      .junit,
      \.report[.junit],
      example: "reports/junit.xml",
      opens: { $0.report.format = .junit },
      "JUnit's XML, for CI; successes: what was good, too"
    )
    JobKey(
      "report[].junit.path",
      .given(.path),
      \.report[.junit],
      example: "reports/junit.xml",
      isRequired: true,
      "the file"
    )
    JobKey("report[].junit.successes", .boolean, \.report.listsSuccesses, "whether what was good is listed, too")
    JobKey(
      "report[].markdown",
      .given(.path),
      \.report[.markdown],
      example: "reports/homepage.md",
      "for pull requests and summaries"
    )
    JobKey(
      "report[].github",
      .given(.path),
      \.report[.github],
      example: #""-""#,
      "annotations of GitHub Actions; the summary goes to $GITHUB_STEP_SUMMARY"
    )
    JobKey(
      "report[].html",
      .given(.path),
      \.report[.html],
      example: "reports/homepage.html",
      "one page that needs nothing else"
    )
    JobKey(
      "report[].prometheus",
      .given(.path),
      \.report[.prometheus],
      example: "reports/homepage.prom",
      "for the node exporter's text-file collector"
    )
    JobKey(
      "shard-by",
      .words("a rule", ["url": .url, "host": .host]),
      \.shardBy,
      isInDigest: true,
      "what --shard cuts the entries by; url: into like parts, which share the rates; host: a host is one shard's own"
    )
  }

  @JobKeyList static var failOn: [JobKey] {
    JobKey("fail-on", "what makes the exit status 2: any rule broken; 'never' switches one off")
    JobKey(
      "fail-on.failures",
      .limit,
      \.failOn.failures,
      isInDigest: true,
      "more than this many failed or blacklisted entries; or a percentage of what was neither skipped nor cancelled"
    )
    JobKey(
      "fail-on.empty",
      .word("never", means: false, or: .boolean),
      \.failOn.empty,
      isInDigest: true,
      "no entry left after include and exclude"
    )
    JobKey(
      "fail-on.unfinished",
      .word("never", means: false, or: .boolean),
      \.failOn.unfinished,
      isInDigest: true,
      "the deadline cancelled something"
    )
    JobKey(
      "fail-on.evicted",
      .word("never", means: false, or: .boolean),
      \.failOn.evicted,
      isInDigest: true,
      "trimming had to remove what this very run stored"
    )
    JobKey(
      "fail-on.kinds",
      .limits("a kind of failure", FailureKind.allCases, \.name, .limit),
      \.failOn.kinds,
      isInDigest: true,
      "limits by kind of failure, such as {http-status: 1%, dns: 0}, beside failures"
    )
    JobKey(
      "fail-on.latency",
      .limits("a percentile", FailOn.Percentile.allCases, \.rawValue, .latency),
      \.failOn.latency,
      isInDigest: true,
      "how long transfers may take, such as {p99: 2s}"
    )
    JobKey(
      "fail-on.baseline",
      .earlierReport,
      \.baseline,
      isInDigest: true,
      "an earlier report, as JSON Lines, or as JSON that omits no failure: what failed there does not count"
    )
  }
}

extension Job {
  /// The report that was begun last.
  fileprivate var report: ReportTarget {
    get { reports[reports.count - 1] }
    set { reports[reports.count - 1] = newValue }
  }
}

extension Job.ReportTarget {
  /// Where it goes as a report of that format; nil if it is none.
  fileprivate subscript(format: ReportFormat) -> JobPath? {
    get {
      guard format == self.format else { return nil }
      return if case .file(let path) = destination { path } else { JobPath("-", in: "/") }
    }
    set {
      guard let newValue else { return }
      self.format = format
      destination = newValue.written == "-" ? .standardOutput : .file(newValue)
    }
  }
}

extension JobCodec<FailOn.Limit> {
  fileprivate static var limit: JobCodec { .word("never", means: .never, or: countOrPercentage) }

  private static var countOrPercentage: JobCodec {
    JobCodec(.countOrPercentage) { read in
      switch read {
      case .integer(let count): .count(UInt64(clamping: count))
      case .fraction(let fraction): .fraction(fraction)
      default: nil
      }
    } text: { limit in
      switch limit {
      case .count(let count): "\(count)"
      case .fraction(let fraction): Quantities.text(fraction: fraction)
      case .never: "never"
      }
    }
  }
}

extension JobCodec<Duration> {
  /// A duration, or `never`, for which there is no value.
  fileprivate static var latency: JobCodec {
    let duration = duration(minimum: .milliseconds(1))
    return JobCodec(.either(word: "never", duration.type), duration.value, text: duration.text)
  }
}

extension JobCodec<JobPath?> {
  /// A path, or keys below it.
  fileprivate static var junit: JobCodec {
    JobCodec(
      .textOrSection(.path, example: "{path: reports/junit.xml, successes: true}"),
      { if case .path(let path) = $0 { path } else { nil } },
      text: JobCodec.given(.path).text
    )
  }

  /// A path of which only counts that there is one: each shard may have a file of its own.
  fileprivate static var earlierReport: JobCodec {
    JobCodec(JobCodec.orNone(.path).type, JobCodec.orNone(.path).value, text: { $0 == nil ? "none" : "a report" })
  }
}
