import TestOrigin
import TestSupport

extension FailOnRow {
  static let failures: [FailOnRow] = [
    FailOnRow(name: "all good", good: 3, status: 0, says: "OK"),
    FailOnRow(name: "one bad, none allowed", good: 9, missing: 1, status: 2, says: "FAILED 1 of 10 URLs is bad (limit 0)"),
    FailOnRow(
      name: "as many as allowed",
      good: 3,
      missing: 2,
      rules: ["failures=2"],
      status: 0,
      says: "OK"
    ),
    FailOnRow(
      name: "one more than allowed",
      good: 3,
      missing: 3,
      rules: ["failures=2"],
      status: 2,
      says: "3 of 6 URLs are bad (limit 2)"
    ),
    FailOnRow(name: "exactly the percentage", good: 9, missing: 1, rules: ["failures=10%"], status: 0, says: "OK"),
    FailOnRow(
      name: "above the percentage",
      good: 8,
      missing: 2,
      rules: ["failures=10%"],
      status: 2,
      says: "2 of 10 URLs are bad (20.0 %, limit"
    ),
    FailOnRow(name: "just above it", good: 9, missing: 1, rules: ["failures=9.9%"], status: 2, says: "(10.0 %, limit 9.9 %)"),
    FailOnRow(
      name: "29 %, which is less than 29 / 100 in binary",
      good: 71,
      missing: 29,
      rules: ["failures=29%"],
      status: 0,
      says: "OK"
    ),
    FailOnRow(
      name: "filtered entries don't count",
      good: 4,
      missing: 1,
      lines: (0..<95).map { "http://img.example.com/left/out/\($0).jpg" },
      options: ["--set", "manifests.0.exclude=[/left/**]"],
      status: 2,
      says: "1 of 5 URLs is bad (limit 0), 95 skipped"
    ),
    FailOnRow(
      name: "a percentage without filtered entries",
      good: 4,
      missing: 1,
      lines: (0..<95).map { "http://img.example.com/left/out/\($0).jpg" },
      rules: ["failures=10%"],
      options: ["--set", "manifests.0.exclude=[/left/**]"],
      status: 2,
      says: "1 of 5 URLs is bad (20.0 %, limit 10 %), 95 skipped"
    ),
    FailOnRow(name: "0 % of nothing bad", good: 3, rules: ["failures=0%"], status: 0, says: "OK"),
    FailOnRow(name: "never", missing: 5, rules: ["failures=never"], status: 0, says: "OK 5 of 5 URLs are bad"),
    FailOnRow(name: "an invalid URL", good: 1, lines: ["ftp://img.example.com/a.jpg"], status: 2, says: "is bad"),
    FailOnRow(name: "blacklisted is bad", good: 1, missing: 2, earlierRuns: 1, status: 2, says: "2 of"),
  ]

  static let kinds: [FailOnRow] = [
    FailOnRow(
      name: "a kind above its count",
      good: 1,
      missing: 2,
      rules: ["failures=never", "kinds.http-status=1"],
      status: 2,
      says: "2 URLs failed with http-status (limit 1)"
    ),
    FailOnRow(
      name: "a kind at its count",
      good: 1,
      missing: 1,
      rules: ["failures=never", "kinds.http-status=1"],
      status: 0
    ),
    FailOnRow(
      name: "another kind than the rule's",
      good: 1,
      missing: 2,
      rules: ["failures=never", "kinds.not-an-image=0"],
      status: 0
    ),
    FailOnRow(
      name: "the rule's kind among others",
      missing: 2,
      pages: 1,
      rules: ["failures=never", "kinds.not-an-image=0", "kinds.http-status=2"],
      status: 2,
      says: "1 URL failed with not-an-image (limit 0)"
    ),
    FailOnRow(name: "a kind at its percentage", good: 9, missing: 1, rules: ["failures=1", "kinds.http-status=10%"], status: 0),
    FailOnRow(
      name: "a kind above its percentage",
      good: 8,
      missing: 2,
      rules: ["failures=never", "kinds.http-status=10%"],
      status: 2,
      says: "2 URLs failed with http-status (20.0 %, limit 10 %)"
    ),
    FailOnRow(
      name: "a rule for a kind besides the one for all",
      missing: 1,
      rules: ["kinds.http-status=5"],
      status: 2,
      says: "is bad"
    ),
    FailOnRow(name: "a kind without a limit", missing: 1, rules: ["kinds.http-status=never"], status: 2, says: "is bad"),
    FailOnRow(
      name: "blacklisted URLs count as their kind",
      missing: 1,
      rules: ["failures=never", "kinds.http-status=0"],
      earlierRuns: 1,
      status: 2,
      says: "1 URL failed with http-status"
    ),
    FailOnRow(
      name: "by keys of the job file",
      missing: 2,
      keys: "fail-on: {failures: never, kinds: {http-status: 1, dns: 0}, latency: {p99: 10m}}",
      status: 2,
      says: "2 URLs failed with http-status"
    ),
  ]

  static let latency: [FailOnRow] = [
    FailOnRow(
      name: "transfers slower than their limit",
      good: 1,
      rules: ["latency.p99=1ms"],
      run: slowly,
      status: 2,
      says: "(limit 1.0 ms)"
    ),
    FailOnRow(name: "transfers within their limits", good: 3, rules: ["latency.p50=10m", "latency.max=10m"], status: 0),
    FailOnRow(name: "no transfers", good: 3, rules: ["latency.max=1ms"], earlierRuns: 1, status: 0, says: "OK"),
    FailOnRow(name: "a disabled limit", good: 1, rules: ["latency.max=never"], run: slowly, status: 0),
  ]

  static let others: [FailOnRow] = [
    FailOnRow(
      name: "no entries left",
      good: 2,
      options: ["--set", "manifests.0.include=[/none/**]"],
      status: 2,
      says: "no URLs in the lists"
    ),
    FailOnRow(
      name: "no entries left, which is allowed",
      good: 2,
      rules: ["empty=never"],
      options: ["--set", "manifests.0.include=[/none/**]"],
      status: 0
    ),
    FailOnRow(
      name: "the deadline passes",
      good: 1,
      options: ["--deadline", "200ms"],
      run: stalled,
      status: 2,
      says: "the deadline passed"
    ),
    FailOnRow(
      name: "the deadline passes, which is allowed",
      good: 1,
      rules: ["unfinished=never"],
      options: ["--deadline", "200ms"],
      run: stalled,
      status: 0,
      says: "the deadline passed"
    ),
    FailOnRow(
      name: "stored images are trimmed",
      good: 3,
      options: ["--set", "cache.max-size=1"],
      status: 2,
      says: "trimming removed"
    ),
    FailOnRow(
      name: "stored images are trimmed, which is allowed",
      good: 3,
      rules: ["evicted=false"],
      options: ["--set", "cache.max-size=1"],
      status: 0
    ),
    FailOnRow(name: "interrupted, whatever the rules", good: 1, rules: ["failures=never"], run: interrupted, status: 130),
    FailOnRow(
      name: "a check uses the same rules",
      good: 1,
      missing: 1,
      run: { job, _, _ in
        try await job.prewarm("check", "urls.txt", "--fail-on", "kinds.http-status=0", "--fail-on", "failures=50%")
      },
      status: 2,
      says: "1 URL failed with http-status"
    ),
    FailOnRow(
      name: "the worst of several jobs",
      good: 1,
      run: { job, origin, _ in
        job.folder.write("version: 1\nname: bad\nmanifests: [{urls: ['\(origin.url("/missing/1.jpg"))']}]\n", to: "bad.yaml")
        return try await job.prewarm("run", "bad.yaml", "job.yaml")
      },
      status: 2,
      says: "1 URL"
    ),
    FailOnRow(
      name: "an error takes precedence over a limit",
      missing: 1,
      run: { job, _, _ in
        try await job.prewarm("run", "job.yaml", "--report", "json=/dev/full")
      },
      status: 1,
      says: "is bad"
    ),
    FailOnRow(name: "an unknown kind", good: 1, rules: ["kinds.http-stats=0"], status: 3, says: "http-status"),
    FailOnRow(name: "an unknown percentile", good: 1, rules: ["latency.p75=2s"], status: 3, says: "p90"),
    FailOnRow(name: "an invalid limit", good: 1, rules: ["kinds.dns=few"], status: 3, says: "--fail-on kinds.dns"),
    FailOnRow(name: "an unknown rule", good: 1, rules: ["failurs=0"], status: 3, says: "did you mean 'failures'"),
  ]

  /// Failures of an earlier report don't count.
  static let earlierReports: [FailOnRow] = [
    FailOnRow(
      name: "known from an earlier report",
      good: 1,
      missing: 1,
      rules: ["baseline=old.jsonl", "known=never"],
      options: ["--retry-blacklisted"],
      run: afterReport,
      status: 0,
      says: "is bad, known"
    ),
    FailOnRow(
      name: "new since an earlier report",
      good: 1,
      missing: 1,
      lines: ["ftp://img.example.com/new.jpg"],
      rules: ["baseline=old.jsonl", "known=never"],
      run: afterReport,
      status: 2,
      says: "are bad, 1 new and 1 known"
    ),
  ]

  /// Runs the job without its `ftp` lines first, for the report that the rule names.
  private static let afterReport: @Sendable (JobFolder, Origin, [String]) async throws -> Command.Result = {
    job,
    origin,
    arguments in
    let urls = [origin.url("/good/0.jpg"), origin.url("/missing/0.jpg")]
    job.folder.write("version: 1\nname: test\nmanifests: [{urls: ['\(urls.joined(separator: "', '"))']}]\n", to: "old.yaml")
    _ = try await job.prewarm("run", "old.yaml", "--report", "jsonl=old.jsonl")
    return try await job.start(arguments).wait()
  }

  static let table = failures + kinds + latency + others
}
