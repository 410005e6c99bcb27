internal import Base
internal import Lists
internal import Reports

extension JobKeys {
  @JobKeyList static var report: [JobKey] {
    JobKey("report", "reports, each with a path or '-' (standard output)")
      .entries(exactlyOneOf: ReportFormat.allCases.map(\.rawValue), \.reports, Job.ReportTarget()) {
        "{\($0.format.rawValue): \(JobOverride.quoted($0.destination.path))}"
      }
    JobKey("report[].text", "text for people")
      .value(.given(.path), \.report[.text], example: #""-""#)
    JobKey("report[].json", "one JSON object (prewarm.report/1)")
      .value(.given(.path), \.report[.json], example: "reports/homepage.json")
    JobKey("report[].jsonl", "a JSON object per entry")
      .value(.given(.path), \.report[.jsonl], example: "reports/homepage.jsonl")
    JobKey("report[].csv", "a row per entry")
      .value(.given(.path), \.report[.csv], example: "reports/homepage.csv")
    JobKey("report[].junit", "JUnit XML for CI")
      .value(.junit, \.report[.junit], example: "reports/junit.xml") { $0.report.format = .junit }
    JobKey("report[].junit.path", "the file")
      .value(.given(.path), \.report[.junit], .required, example: "reports/junit.xml")
    JobKey("report[].junit.successes", "list good entries, too")
      .value(.boolean, \.report.listsSuccesses)
    JobKey("report[].markdown", "Markdown for pull requests and summaries")
      .value(.given(.path), \.report[.markdown], example: "reports/homepage.md")
    JobKey("report[].github", "annotations for GitHub Actions, and a job summary")
      .value(.given(.path), \.report[.github], example: #""-""#)
    JobKey("report[].html", "a self-contained HTML page")
      .value(.given(.path), \.report[.html], example: "reports/homepage.html")
    JobKey("report[].prometheus", "metrics for the node exporter's textfile collector")
      .value(.given(.path), \.report[.prometheus], example: "reports/homepage.prom")
    JobKey("shard-by", "how --shard divides entries; host: all entries of a host together")
      .value(.choice("a rule"), \.shardBy, [.advanced, .inDigest])
  }

  @JobKeyList static var lint: [JobKey] {
    JobKey("lint", "findings about how good images are delivered")
    JobKey("lint.all", "the severity of rules without their own; fail allows no finding")
      .value(.choice("a severity"), \.lint.all, .inDigest)
    for rule in LintRule.allCases {
      JobKey("lint.\(rule.name)", rule.summary)
        .value(
          .words("a severity", ["all": nil, "off": .off, "warn": .warn, "fail": .fail]),
          \.lint[rule],
          [.advanced, .inDigest]
        )
    }
    JobKey("lint.min-age", "cache-control: the shortest max-age")
      .value(.duration(minimum: .zero), \.lint.minimumAge, [.advanced, .inDigest])
    JobKey("lint.expires-within", "certificate: report certificates that expire within this time")
      .value(.duration(minimum: .zero), \.lint.certificateMargin, [.advanced, .inDigest])
  }

  @JobKeyList static var failOn: [JobKey] {
    JobKey("fail-on", "the limits beyond which prewarm exits with 2")
    JobKey("fail-on.failures", "failed entries allowed: a number, or a percentage of those not skipped")
      .value(.limit, \.failOn.failures, .inDigest)
    JobKey("fail-on.known", "failures known from the baseline allowed: a number or a percentage")
      .value(.limit, \.failOn.known, .inDigest)
    JobKey("fail-on.temporary", "count temporary failures from so many bad runs in a row on")
      .value(.runs, \.failOn.temporaryRuns, .inDigest)
    JobKey("fail-on.empty", "fail if no entry is left after include and exclude")
      .value(.word("never", means: false, or: .boolean), \.failOn.empty, .inDigest)
    JobKey("fail-on.unfinished", "fail if the deadline cancelled entries")
      .value(.word("never", means: false, or: .boolean), \.failOn.unfinished, .inDigest)
    JobKey("fail-on.evicted", "fail if max-size evicted images of the same run")
      .value(.word("never", means: false, or: .boolean), \.failOn.evicted, [.advanced, .inDigest])
    JobKey("fail-on.kinds", "further limits per kind of failure: {http-status: 1%, dns: 0}")
      .value(.limits("a kind of failure", FailureKind.allCases, \.name, .limit), \.failOn.kinds, .inDigest)
    JobKey("fail-on.lint", "findings allowed per lint rule, which turns it on: {metadata: 0}")
      .value(.limits("a lint rule", LintRule.allCases, \.name, .limit), \.failOn.lint, .inDigest)
    JobKey("fail-on.latency", "the maximum latency of transfers: {p99: 2s}")
      .value(.limits("a percentile", FailOn.Percentile.allCases, \.rawValue, .latency), \.failOn.latency, .inDigest)
    JobKey("fail-on.baseline", "an earlier report (JSON or JSON Lines); its failures don't count")
      .value(.earlierReport, \.baseline, .inDigest)
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

extension JobCodec<UInt64> {
  fileprivate static var runs: JobCodec {
    let form = JobForm.scalar(
      "a number of runs from 1 to 30, such as 2 runs",
      "NUMBER runs",
      ["integer", "string"],
      pattern: "(?:[12]?[1-9]|[123]0)(?: runs?)?"
    )
    return scalar(form) { read in
      let words = read.text.split(separator: " ")
      guard words.count == 1 || words.count == 2 && ["run", "runs"].contains(words[1]) else { return nil }
      return UInt64(words[0]).flatMap { (1...30).contains($0) ? $0 : nil }
    } text: {
      "\($0) \($0 == 1 ? "run" : "runs")"
    }
  }
}

extension JobCodec<FailOn.Limit> {
  fileprivate static var limit: JobCodec { .word("never", means: .never, or: countOrPercentage) }

  private static var countOrPercentage: JobCodec {
    let form = JobForm.scalar(
      "a count, or a percentage such as 1%",
      "COUNT | PERCENTAGE",
      ["integer", "string"],
      bounds: 0...Int.max,
      pattern: JobCodec<Double>.percentagePattern
    )
    return scalar(form) { read in
      if let fraction = Quantities.percentage(read.text) { return .fraction(fraction) }
      return read.isPlain ? Quantities.count(read.text).map { .count(UInt64(clamping: $0)) } : nil
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
    return JobCodec(
      duration.form.or("never"),
      { reader, node in reader.isWord("never", node) ? nil : duration.value(node, reader) },
      text: duration.text
    )
  }
}

extension JobCodec<JobPath?> {
  fileprivate static var junit: JobCodec {
    let path = JobCodec.given(.path)
    let form = path.form.orSection(example: "{path: reports/junit.xml, successes: true}")
    return JobCodec(form, { path.value($1, $0) }, text: path.text)
  }

  /// A path of which the digest only records that there is one: each shard may have its own file.
  fileprivate static var earlierReport: JobCodec {
    let path = JobCodec.orNone(.path)
    return JobCodec(path.form, { path.value($1, $0) }, text: { $0 == nil ? "none" : "a report" })
  }
}
