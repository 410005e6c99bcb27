import Glibc
import TestOrigin
import TestSupport
import Testing

/// Failures that do not count, by what earlier runs left behind: `fail-on.new-failures-since` and `fail-on.grace`.
@Suite struct EarlierRunsTests {
  private func urls(_ origin: Origin, bad: [String]) -> [String] {
    imageURLs(origin, 0..<3) + bad.map { origin.url("/\($0).jpg") }
  }

  @Test("only new failures count: the report of the last run may be the one that is written again")
  func newFailures() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(
      urls: urls(origin, bad: ["a", "b"]),
      keys: "fail-on: {new-failures-since: last.jsonl}\nreport: [{jsonl: last.jsonl}]"
    )
    let first = try await job.runJob()
    #expect(first.status == 2 && "\(first.report["warnings"] ?? "")".contains("there is no last.jsonl yet"))
    let second = try await job.runJob()
    #expect(second.section("standings")["known"] as? Int == 2 && second.section("standings")["counting"] as? Int == 0)
    job.write(urls: urls(origin, bad: ["a", "b", "c"]))
    let third = try await job.runJob()
    #expect(third.section("standings")["known"] as? Int == 2 && third.section("standings")["counting"] as? Int == 1)
    #expect(third.totals["failed"] == 1 && third.totals["blacklisted"] == 2)
  }

  @Test("a report that cannot be read, or omits failures, ends the job before anything is fetched")
  func unreadableBaseline() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: urls(origin, bad: []), keys: "fail-on: {new-failures-since: last.json}")
    job.folder.write("no report\n", to: "last.json")
    let result = try await job.prewarm("run", "job.yaml")
    #expect(result.status == 1 && result.errorText.contains("fail-on.new-failures-since: "), "\(result.errorText)")
    #expect(result.errorText.contains("last.json is no report of prewarm") && origin.requests.isEmpty)
    #expect(job.folder.read("report.json") == nil)
  }

  @Test("a URL counts in its third bad run on end; a run that is interrupted keeps what it did not reach")
  func grace() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(
      urls: urls(origin, bad: ["a"]),
      keys: "fail-on: {grace: {runs: 3, state: states/grace}}\ncache: {mode: bypass}\nprefetch: {concurrency: 1, per-host: 1}"
    )
    let first = try await job.runJob()
    #expect(first.section("standings")["in_grace"] as? Int == 1, "\(first.result.errorText)")
    let state = try #require(job.folder.read("states/grace"))
    // The first image is in flight when the run is stopped: the bad one is not reached.
    let gate = origin.holdAll()
    let command = try job.startJob(isHeld: true)
    try await gate.waitForWaiting(1)
    command.send(SIGINT)
    try await command.waitForError("finish")
    gate.open()
    let stopped = try job.finishedRun(try await command.wait())
    #expect(stopped.status == 130 && stopped.totals["failed"] == 0)
    let isKept = job.folder.read("states/grace") == state
    #expect(isKept)
    #expect(try await job.runJob().section("standings")["in_grace"] as? Int == 1)
    let last = try await job.runJob()
    #expect(last.status == 2 && last.section("standings")["counting"] as? Int == 1)
    // Good once, it begins anew.
    origin.set("/a.jpg", .body(SampleImages.jpeg(9), type: "image/jpeg"))
    #expect(try await job.runJob().status == 0)
    origin.set("/a.jpg", .status(404))
    #expect(try await job.runJob().section("standings")["in_grace"] as? Int == 1)
  }

  @Test("a state of another job, a damaged one and one that cannot be written end in 1 before anything is fetched")
  func unusableStates() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: urls(origin, bad: ["a"]), keys: "fail-on: {grace: {runs: 2, state: grace}}")
    _ = try await job.runJob()
    let asked = origin.requests.count
    let state = try #require(job.folder.read("grace"))
    for (bytes, message) in [
      (Array(String(decoding: state, as: UTF8.self).replacing("job test", with: "job other").utf8), "is of the job 'other'"),
      (Array(state.dropLast(5)), "is damaged"), ([], "is cut; remove it to begin anew"),
    ] {
      job.folder.write(bytes, to: "grace")
      let result = try await job.prewarm("run", "job.yaml")
      #expect(result.status == 1 && result.errorText.contains(message), "\(result.errorText)")
    }
    job.folder.write(state, to: "grace")
    let folder = try await job.prewarm("run", "job.yaml", "--set", "fail-on.grace.state=grace/state")
    #expect(folder.status == 1 && folder.errorText.contains("the state of fail-on.grace, "), "\(folder.errorText)")
    #expect(origin.requests.count == asked)
  }

  @Test("a dry run neither reads nor writes them")
  func dryRuns() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: urls(origin, bad: ["a"]), keys: "fail-on: {grace: {runs: 2, state: grace}}")
    #expect(try await job.prewarm("run", "job.yaml", "--dry-run").status == 0)
    #expect(job.folder.read("grace") == nil)
  }
}
