import Glibc
import TestOrigin
import TestSupport
import Testing

/// The exit status of the built command by each rule of `fail-on`; the module `Reports` has the arithmetic.
@Suite struct FailOnTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Numbers of good images, and of URLs that return 404.
    var good = 0
    var missing = 0
    /// Additional lines of the manifest.
    var lines: [String] = []
    /// Keys of the job file besides its name and manifests.
    var keys = ""
    /// Rules, as arguments of `--fail-on`.
    var rules = ""
    /// More options of the judged run.
    var options = ""
    /// Whether an earlier run of the same job precedes it, with all failures allowed.
    var isRepeated = false
    /// Replaces a plain run.
    var run: @Sendable (JobFolder, Origin, [String]) async throws -> Command.Result = { job, _, arguments in
      try await job.start(arguments).wait()
    }
    let status: Int
    /// A part of the report; empty if it isn't checked.
    var says = ""
  }

  static let table: [Row] = [
    Row(testDescription: "all good", good: 3, status: 0, says: "OK"),
    Row(testDescription: "one bad, none allowed", good: 9, missing: 1, status: 2, says: "FAILED 1 of 10 URLs is bad (limit 0)"),
    Row(testDescription: "as many as allowed", good: 3, missing: 2, rules: "failures=2", status: 0, says: "OK"),
    Row(testDescription: "exactly the percentage", good: 9, missing: 1, rules: "failures=10%", status: 0, says: "OK"),
    Row(testDescription: "above it", good: 9, missing: 1, rules: "failures=9.9%", status: 2, says: "(10.0 %, limit 9.9 %)"),
    Row(
      testDescription: "filtered entries don't count",
      good: 4,
      missing: 1,
      lines: (0..<95).map { "http://img.example.com/left/out/\($0).jpg" },
      rules: "failures=10%",
      options: "--set manifests.0.exclude=[/left/**]",
      status: 2,
      says: "1 of 5 URLs is bad (20.0 %, limit 10 %), 95 skipped"
    ),
    Row(testDescription: "never", missing: 5, rules: "failures=never", status: 0, says: "OK 5 of 5 URLs are bad"),
    Row(testDescription: "an invalid URL", good: 1, lines: ["ftp://img.example.com/a.jpg"], status: 2, says: "is bad"),
    Row(testDescription: "blacklisted is bad", good: 1, missing: 2, isRepeated: true, status: 2, says: "2 of"),
    Row(
      testDescription: "blacklisted URLs count as their kind",
      missing: 1,
      rules: "failures=never kinds.http-status=0",
      isRepeated: true,
      status: 2,
      says: "1 URL failed with http-status"
    ),
    Row(testDescription: "another kind", missing: 2, rules: "failures=never kinds.not-an-image=0", status: 0),
    Row(
      testDescription: "a rule for a kind besides the one for all",
      missing: 1,
      rules: "kinds.http-status=5",
      status: 2,
      says: "is bad"
    ),
    Row(testDescription: "a kind without a limit", missing: 1, rules: "kinds.http-status=never", status: 2, says: "is bad"),
    Row(
      testDescription: "by keys of the job file",
      missing: 2,
      keys: "fail-on: {failures: never, kinds: {http-status: 1, dns: 0}, latency: {p99: 10m}}",
      status: 2,
      says: "2 URLs failed with http-status (limit 1)"
    ),
    Row(
      testDescription: "slower than the limit",
      good: 1,
      rules: "latency.p99=1ms",
      run: slowly,
      status: 2,
      says: "(limit 1.0 ms)"
    ),
    Row(testDescription: "within the limits", good: 3, rules: "latency.p50=10m latency.max=10m", status: 0),
    Row(testDescription: "no transfers", good: 3, rules: "latency.max=1ms", isRepeated: true, status: 0, says: "OK"),
    Row(testDescription: "no limit", good: 1, rules: "latency.max=never", run: slowly, status: 0),
    Row(testDescription: "no entries", options: "--set manifests.0.include=[/no/**]", status: 2, says: "no URLs in the lists"),
    Row(
      testDescription: "no entries, which is allowed",
      rules: "empty=never",
      options: "--set manifests.0.include=[/no/**]",
      status: 0
    ),
    Row(
      testDescription: "a deadline",
      good: 1,
      options: "--deadline 200ms",
      run: stalled,
      status: 2,
      says: "the deadline passed"
    ),
    Row(
      testDescription: "a deadline, which may pass",
      good: 1,
      rules: "unfinished=never",
      options: "--deadline 200ms",
      run: stalled,
      status: 0,
      says: "the deadline passed"
    ),
    Row(testDescription: "trimmed images", good: 3, options: "--set cache.max-size=1", status: 2, says: "trimming removed"),
    Row(
      testDescription: "trimmed images, which is allowed",
      good: 3,
      rules: "evicted=false",
      options: "--set cache.max-size=1",
      status: 0
    ),
    Row(testDescription: "interrupted, whatever the rules", good: 1, rules: "failures=never", run: interrupted, status: 130),
    Row(
      testDescription: "a check uses the same rules",
      good: 1,
      missing: 1,
      run: { job, _, _ in try await job.prewarm("check urls.txt --fail-on kinds.http-status=0 --fail-on failures=50%") },
      status: 2,
      says: "1 URL failed with http-status"
    ),
    Row(
      testDescription: "an error takes precedence over a limit",
      missing: 1,
      options: "--report json=/dev/full",
      status: 1,
      says: "is bad"
    ),
    Row(testDescription: "an unknown kind", rules: "kinds.http-stats=0", status: 3, says: "http-status"),
    Row(testDescription: "an unknown percentile", rules: "latency.p75=2s", status: 3, says: "p90"),
    Row(testDescription: "an invalid limit", rules: "kinds.dns=few", status: 3, says: "--fail-on kinds.dns"),
    Row(testDescription: "an unknown rule", rules: "failurs=0", status: 3, says: "did you mean 'failures'"),
  ]

  @Test(arguments: table) func `each run exits as its rules say`(row: Row) async throws {
    let origin = makeImageOrigin()
    let job = JobFolder(
      urls: imageURLs(origin, 0..<row.good) + (0..<row.missing).map { origin.url("/missing/\($0).jpg") } + row.lines,
      keys: row.keys
    )
    if row.isRepeated { #expect(try await job.prewarm("run job.yaml --fail-on failures=never").status == 0) }
    let rules = JobFolder.words(row.rules).flatMap { ["--fail-on", $0] }
    let result = try await row.run(job, origin, ["run", "job.yaml"] + rules + JobFolder.words(row.options))
    // Lines are wrapped at the terminal's width.
    let said = (result.outputText + result.errorText).split { $0 == " " || $0 == "\n" }.joined(separator: " ")
    #expect(result.status == row.status, "\(said)")
    #expect(said.contains(row.says) || row.says.isEmpty, "\(said)")
  }

  /// Holds every response until the origin has a request and another process has run, which takes longer than a millisecond.
  @Sendable private static func slowly(_ job: JobFolder, _ origin: Origin, _ arguments: [String]) async throws -> Command.Result {
    let gate = origin.holdAll()
    let command = try job.start(arguments + JobFolder.patience)
    try await gate.waitForWaiting(1)
    _ = try await job.prewarm("--version")
    gate.open()
    return try await command.wait()
  }

  /// Never responds.
  @Sendable private static func stalled(_ job: JobFolder, _ origin: Origin, _ arguments: [String]) async throws -> Command.Result
  {
    _ = origin.holdAll()
    return try await job.start(arguments + JobFolder.patience).wait()
  }

  /// Interrupts the run once a request is in flight.
  @Sendable private static func interrupted(_ job: JobFolder, _ origin: Origin, _ arguments: [String]) async throws
    -> Command.Result
  {
    let gate = origin.holdAll()
    let command = try job.start(arguments + JobFolder.patience)
    try await gate.waitForWaiting(1)
    command.send(SIGINT)
    try await command.waitForError("finish")
    gate.open()
    return try await command.wait()
  }
}
