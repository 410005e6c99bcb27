internal import Base
internal import Lists
internal import Reports

extension JobKeys {
  @JobKeyList static var report: [JobKey] {
    JobKey(
      "report",
      exactlyOneOf: ReportFormat.allCases.map(\.rawValue),
      \.reports,
      Job.ReportTarget(),
      text: { "{\($0.format.rawValue): \(JobOverride.quoted($0.destination.path))}" },
      "reports, each with a path or '-' (standard output)"
    )
    JobKey("report[].text", .given(.path), \.report[.text], example: #""-""#, "text for people")
    JobKey(
      "report[].json",
      .given(.path),
      \.report[.json],
      example: "reports/homepage.json",
      "one JSON object (prewarm.report/1)"
    )
    JobKey("report[].jsonl", .given(.path), \.report[.jsonl], example: "reports/homepage.jsonl", "a JSON object per entry")
    JobKey("report[].csv", .given(.path), \.report[.csv], example: "reports/homepage.csv", "a row per entry")
    JobKey(
      "report[].junit",
      .junit,
      \.report[.junit],
      example: "reports/junit.xml",
      opens: { $0.report.format = .junit },
      "JUnit XML for CI"
    )
    JobKey(
      "report[].junit.path",
      .given(.path),
      \.report[.junit],
      example: "reports/junit.xml",
      isRequired: true,
      "the file"
    )
    JobKey("report[].junit.successes", .boolean, \.report.listsSuccesses, "list good entries, too")
    JobKey(
      "report[].markdown",
      .given(.path),
      \.report[.markdown],
      example: "reports/homepage.md",
      "Markdown for pull requests and summaries"
    )
    JobKey(
      "report[].github",
      .given(.path),
      \.report[.github],
      example: #""-""#,
      "annotations for GitHub Actions, and a job summary"
    )
    JobKey(
      "report[].html",
      .given(.path),
      \.report[.html],
      example: "reports/homepage.html",
      "a self-contained HTML page"
    )
    JobKey(
      "report[].prometheus",
      .given(.path),
      \.report[.prometheus],
      example: "reports/homepage.prom",
      "metrics for the node exporter's textfile collector"
    )
    JobKey(
      "shard-by",
      .words("a rule", ["url": .url, "host": .host]),
      \.shardBy,
      isAdvanced: true,
      isInDigest: true,
      "how --shard divides entries; host: all entries of a host together"
    )
  }

  static var lint: [JobKey] {
    [
      JobKey("lint", "findings about how good images are delivered"),
      JobKey(
        "lint.all",
        .choice("a severity", LintSeverity.allCases, \.rawValue),
        \.lint.all,
        isInDigest: true,
        "the severity of rules without their own; fail allows no finding"
      ),
    ]
      + LintRule.allCases.map { rule in
        JobKey(
          "lint.\(rule.name)",
          .words("a severity", ["all": nil, "off": .off, "warn": .warn, "fail": .fail]),
          \.lint[rule],
          isAdvanced: true,
          isInDigest: true,
          rule.summary
        )
      } + [
        JobKey(
          "lint.min-age",
          .duration(minimum: .zero),
          \.lint.minimumAge,
          isAdvanced: true,
          isInDigest: true,
          "cache-control: the shortest max-age"
        ),
        JobKey(
          "lint.expires-within",
          .duration(minimum: .zero),
          \.lint.certificateMargin,
          isAdvanced: true,
          isInDigest: true,
          "certificate: report certificates that expire within this time"
        ),
      ]
  }

  @JobKeyList static var failOn: [JobKey] {
    JobKey("fail-on", "the limits beyond which prewarm exits with 2")
    JobKey(
      "fail-on.failures",
      .limit,
      \.failOn.failures,
      isInDigest: true,
      "failed entries allowed: a number, or a percentage of those not skipped"
    )
    JobKey(
      "fail-on.known",
      .limit,
      \.failOn.known,
      isInDigest: true,
      "failures known from the baseline allowed: a number or a percentage"
    )
    JobKey(
      "fail-on.empty",
      .word("never", means: false, or: .boolean),
      \.failOn.empty,
      isInDigest: true,
      "fail if no entry is left after include and exclude"
    )
    JobKey(
      "fail-on.unfinished",
      .word("never", means: false, or: .boolean),
      \.failOn.unfinished,
      isInDigest: true,
      "fail if the deadline cancelled entries"
    )
    JobKey(
      "fail-on.evicted",
      .word("never", means: false, or: .boolean),
      \.failOn.evicted,
      isAdvanced: true,
      isInDigest: true,
      "fail if max-size evicted images of the same run"
    )
    JobKey(
      "fail-on.kinds",
      .limits("a kind of failure", FailureKind.allCases, \.name, .limit),
      \.failOn.kinds,
      isInDigest: true,
      "further limits per kind of failure: {http-status: 1%, dns: 0}"
    )
    JobKey(
      "fail-on.lint",
      .limits("a lint rule", LintRule.allCases, \.name, .limit),
      \.failOn.lint,
      isInDigest: true,
      "findings allowed per lint rule, which turns it on: {metadata: 0}"
    )
    JobKey(
      "fail-on.latency",
      .limits("a percentile", FailOn.Percentile.allCases, \.rawValue, .latency),
      \.failOn.latency,
      isInDigest: true,
      "the maximum latency of transfers: {p99: 2s}"
    )
    JobKey(
      "fail-on.baseline",
      .earlierReport,
      \.baseline,
      isInDigest: true,
      "an earlier report (JSON or JSON Lines); its failures don't count"
    )
  }
}

extension Job {
  /// The last report, whose keys are being read.
  fileprivate var report: ReportTarget {
    get { reports[reports.count - 1] }
    set { reports[reports.count - 1] = newValue }
  }
}

extension Job.ReportTarget {
  /// The path of a report of that format; nil for another format.
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
  /// A duration, or `never`, which has no value.
  fileprivate static var latency: JobCodec {
    let duration = duration(minimum: .milliseconds(1))
    return JobCodec(.either(word: "never", duration.type), duration.value, text: duration.text)
  }
}

extension JobCodec<JobPath?> {
  /// A path, or a section.
  fileprivate static var junit: JobCodec {
    JobCodec(
      .textOrSection(.path, example: "{path: reports/junit.xml, successes: true}"),
      { if case .path(let path) = $0 { path } else { nil } },
      text: JobCodec.given(.path).text
    )
  }

  /// A path of which the digest only records that there is one: each shard may have its own file.
  fileprivate static var earlierReport: JobCodec {
    JobCodec(JobCodec.orNone(.path).type, JobCodec.orNone(.path).value, text: { $0 == nil ? "none" : "a report" })
  }
}
