import Glibc
import TestOrigin
import TestSupport
import Testing

/// The exit status of the built command by each rule of `fail-on`; the module `Reports` has the arithmetic.
@Suite struct FailOnTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let name: String
    /// Numbers of good images, and of URLs that return 404.
    var good = 0
    var missing = 0
    /// Keys of the job file besides its name and manifests.
    var keys = ""
    /// Rules, as arguments of `--fail-on`.
    var rules = ""
    /// More options of the judged run.
    var options = ""
    /// Whether an earlier run of the same job precedes it, with all failures allowed.
    var isRepeated = false
    /// What the origin and the test do meanwhile.
    var run = Way.plain
    let status: Int
    /// A part of the report; empty if it isn't checked.
    var says = ""

    var testDescription: String { name }
  }

  enum Way { case plain, check, slow, stalled, interrupted }

  static let table: [Row] = [
    Row(name: "one bad, none allowed", good: 9, missing: 1, status: 2, says: "FAILED 1 of 10 URLs is bad (limit 0)"),
    Row(name: "exactly the percentage", good: 9, missing: 1, rules: "failures=10%", status: 0, says: "OK 1 of 10 URLs is bad"),
    Row(name: "above it", good: 9, missing: 1, rules: "failures=9.9%", status: 2, says: "(10.0 %, limit 9.9 %)"),
    Row(
      name: "filtered entries don't count",
      good: 4,
      missing: 5,
      rules: "failures=10%",
      options: "--set manifests.0.exclude=[/missing/1.jpg,/missing/2.jpg,/missing/3.jpg,/missing/4.jpg]",
      status: 2,
      says: "1 of 5 URLs is bad (20.0 %, limit 10 %), 4 skipped"
    ),
    Row(
      name: "blacklisted URLs count as their kind",
      missing: 1,
      rules: "failures=never kinds.http-status=0",
      isRepeated: true,
      status: 2,
      says: "1 URL failed with http-status"
    ),
    Row(
      name: "by keys of the job file",
      missing: 2,
      keys: "fail-on: {failures: never, kinds: {http-status: 1, dns: 0}, latency: {p99: 10m}}",
      status: 2,
      says: "2 URLs failed with http-status (limit 1)"
    ),
    Row(name: "slower than the limit", good: 1, rules: "latency.p99=1ms", run: .slow, status: 2, says: "(limit 1.0 ms)"),
    Row(name: "within the limits", good: 3, rules: "latency.p50=10m latency.max=10m", status: 0),
    Row(name: "no transfers", good: 3, rules: "latency.max=1ms", isRepeated: true, status: 0, says: "OK"),
    Row(name: "no entries", options: "--set manifests.0.include=[/no/**]", status: 2, says: "no URLs in the lists"),
    Row(name: "no entries, which is allowed", rules: "empty=never", options: "--set manifests.0.include=[/no/**]", status: 0),
    Row(name: "a deadline", good: 1, options: "--deadline 200ms", run: .stalled, status: 2, says: "the deadline passed"),
    Row(
      name: "a deadline, which may pass",
      good: 1,
      rules: "unfinished=never",
      options: "--deadline 200ms",
      run: .stalled,
      status: 0,
      says: "the deadline passed"
    ),
    Row(name: "trimmed images", good: 3, options: "--set cache.max-size=1", status: 2, says: "trimming removed"),
    Row(name: "trimmed images, which is allowed", good: 3, rules: "evicted=false", options: "--set cache.max-size=1", status: 0),
    Row(name: "interrupted, whatever the rules", good: 1, rules: "failures=never", run: .interrupted, status: 130),
    Row(
      name: "a check uses the same rules",
      good: 1,
      missing: 1,
      rules: "kinds.http-status=0 failures=50%",
      run: .check,
      status: 2,
      says: "1 URL failed with http-status"
    ),
    Row(name: "an error before a limit", missing: 1, options: "--report json=/dev/full", status: 1, says: "is bad"),
    Row(name: "an invalid limit", rules: "kinds.dns=few", status: 3, says: "--fail-on kinds.dns"),
    Row(name: "an unknown rule", rules: "failurs=0", status: 3, says: "did you mean 'failures'"),
  ]

  @Test(arguments: table) func `each run exits as its rules say`(row: Row) async throws {
    let origin = makeImageOrigin()
    let urls = imageURLs(origin, 0..<row.good) + (0..<row.missing).map { origin.url("/missing/\($0).jpg") }
    let job = JobFolder(urls: urls, keys: row.keys)
    if row.isRepeated { #expect(try await job.prewarm("run job.yaml --fail-on failures=never").status == 0) }
    let rules = JobFolder.words(row.rules).flatMap { ["--fail-on", $0] } + JobFolder.words(row.options)
    let result = try await run(row.run, job, origin, rules)
    // Lines are wrapped at the terminal's width.
    let said = (result.outputText + result.errorText).split { $0 == " " || $0 == "\n" }.joined(separator: " ")
    #expect(result.status == row.status, "\(said)")
    #expect(said.contains(row.says) || row.says.isEmpty, "\(said)")
  }

  private func run(_ way: Way, _ job: JobFolder, _ origin: Origin, _ options: [String]) async throws -> Command.Result {
    if case .plain = way { return try await job.start(["run", "job.yaml"] + options).wait() }
    if case .check = way { return try await job.start(["check", "urls.txt"] + options).wait() }
    let gate = origin.holdAll()
    let command = try job.start(["run", "job.yaml"] + options + JobFolder.patience)
    if case .stalled = way { return try await command.wait() }
    try await gate.waitForWaiting(1)
    if case .interrupted = way {
      command.send(SIGINT)
      try await command.waitForError("finish")
    } else {
      // Another process takes longer than a millisecond.
      _ = try await job.prewarm("--version")
    }
    gate.open()
    return try await command.wait()
  }
}
