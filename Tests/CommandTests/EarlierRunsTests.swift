import Glibc
import TestOrigin
import TestSupport
import Testing

/// Failures that don't count because of earlier runs: `fail-on.baseline`.
@Suite struct EarlierRunsTests {
  private let origin = makeImageOrigin()

  private func urls(_ origin: Origin, bad: [String]) -> [String] {
    imageURLs(origin, 0..<3) + bad.map { origin.url("/\($0).jpg") }
  }

  @Test func `only failures that the baseline lacks count`() async throws {
    let job = JobFolder(
      urls: urls(origin, bad: ["a", "b"]),
      keys: "fail-on: {baseline: last.jsonl, known: never}\nreport: [{text: '-'}]"
    )
    let first = try await job.runJob()
    #expect(first.status == 2)
    let warning = try #require((first.report["warnings"] as? [String])?.first)
    #expect(first.result.errorText.contains(warning))
    expectGolden(first.result.errorText)
    try job.keepRows()
    let second = try await job.runJob()
    #expect(second.section("standings")["known"] as? Int == 2 && second.section("standings")["counting"] as? Int == 0)
    #expect(second.result.error.isEmpty)
    try job.keepRows()
    job.write(urls: urls(origin, bad: ["a", "b", "c"]))
    let third = try await job.runJob()
    #expect(third.section("standings")["known"] as? Int == 2 && third.section("standings")["counting"] as? Int == 1)
    #expect(third.totals["failed"] == 1 && third.totals["blacklisted"] == 2)
  }

  @Test(arguments: [(1, 0), (2, 2), (20, 2)])
  func `known failures have a limit of their own, with a sentence`(count: Int, status: Int) async throws {
    let bad = (0..<count).map { origin.url("/gone\($0).jpg") }
    let job = JobFolder(urls: bad, keys: "report: [{text: '-'}]")
    #expect(try await job.runJob().status == 2)
    try job.keepRows()
    job.write(urls: bad + imageURLs(origin, 0..<max(0, 10 - count)))
    let next = try await job.runJob("--fail-on baseline=last.jsonl")
    #expect(next.status == status && next.section("standings")["known"] as? Int == count, "\(next.result.outputText)")
    let part =
      "\(count) of \(max(10, count)) URLs are known to be bad (\(count == 2 ? "20.0" : "100.0") %, limit 10 %); check whether"
    #expect(next.result.outputText.contains(part) == (status > 0), "\(next.result.outputText)")
    #expect(try await job.runJob("--fail-on baseline=last.jsonl --fail-on known=\(count)").status == 0)
  }

  @Test func `a baseline that is unreadable or omits failures ends the job before anything is fetched`() async throws {
    let job = JobFolder(urls: urls(origin, bad: []), keys: "fail-on: {baseline: last.json}")
    job.folder.write("no report\n", to: "last.json")
    let result = try await job.prewarm("run job.yaml")
    #expect(result.status == 1 && result.errorText.contains("fail-on.baseline: "), "\(result.errorText)")
    #expect(origin.requests.isEmpty)
    expectGolden(result.errorText)
    #expect(job.folder.read("report.json") == nil)
  }

  @Test func `a missing baseline is reported in every form, and on standard error even with --quiet`() async throws {
    let job = JobFolder(urls: urls(origin, bad: []), keys: "fail-on: {baseline: no.jsonl}\ndescription: What the shop shows <b>")
    let forms = ["text", "json", "junit", "markdown", "html", "github"]
    for options in [[], ["--quiet"]] {
      let result = try await job.start(["run", "job.yaml"] + forms.flatMap { ["--report", "\($0)=out.\($0)"] } + options).wait()
      let sentence = "\(job.folder.file("no.jsonl")) doesn't exist"
      #expect(result.status == 0 && result.errorText.contains(sentence), "\(result.errorText)")
      for form in forms {
        let text = job.folder.text("out.\(form)")
        #expect(text.replacing(#/\s+/#, with: " ").contains("exist, so every failure counts"), "\(form): \(text)")
      }
    }
  }

  @Test(arguments: ["rows.jsonl", "report.json"], [true, false])
  func `a baseline of a run that stopped early, or without entries, triggers a warning`(name: String, isEmpty: Bool) async throws
  {
    origin.set("/stall.jpg", .stall)
    let job = JobFolder(urls: isEmpty ? [] : [origin.url("/a.jpg"), origin.url("/stall.jpg")])
    let cut = try await job.runJob("--deadline 500ms")
    #expect(cut.status == 2 && (cut.totals["cancelled"] == 1) == !isEmpty)
    job.folder.write(try #require(job.folder.read(name)), to: "last-\(name)")
    job.write(urls: isEmpty ? urls(origin, bad: []) : [origin.url("/a.jpg")])
    let next = try await job.runJob("--fail-on baseline=last-\(name) --fail-on known=never")
    #expect(next.status == 0 && next.section("standings")["known"] as? Int == (isEmpty ? 0 : 1))
    let warning = try #require((next.report["warnings"] as? [String])?.first)
    #expect(next.result.errorText == "prewarm: test: \(warning)\n")
    expectGolden(warning)
  }

  @Test(arguments: [500, 503])
  func `a status that the job counts as permanent isn't retried, and becomes known`(status: Int) async throws {
    origin.set("/a.jpg", .status(status))
    let job = JobFolder(urls: urls(origin, bad: ["a"]), keys: "blacklist: {statuses: [404, 500-503]}")
    let first = try await job.runJob()
    #expect(first.status == 2 && origin.requests.count { $0.path == "/a.jpg" } == 1)
    #expect(!first.result.outputText.contains("temporary"), "\(first.result.outputText)")
    try job.keepRows()
    let second = try await job.runJob("--fail-on baseline=last.jsonl --fail-on known=never")
    #expect(second.status == 0 && second.totals["blacklisted"] == 1 && second.section("standings")["known"] as? Int == 1)
  }

  @Test func `a dry run doesn't count invalid lines that the baseline has`() async throws {
    let job = JobFolder(urls: urls(origin, bad: ["a"]) + ["no url"], keys: "fail-on: {baseline: last.jsonl, known: never}")
    #expect(try await job.prewarm("run job.yaml --dry-run").status == 2)
    #expect(try await job.prewarm("run job.yaml --report jsonl=new.jsonl").status == 2)
    rename(job.folder.file("new.jsonl"), job.folder.file("last.jsonl"))
    #expect(try await job.prewarm("run job.yaml --dry-run").status == 0)
    job.folder.write("no report\n", to: "last.jsonl")
    #expect(try await job.prewarm("run job.yaml --dry-run").status == 1)
  }
}

extension JobFolder {
  /// Makes the rows of the last run the baseline `last.jsonl` of the next.
  func keepRows() throws { folder.write(try #require(folder.read("rows.jsonl")), to: "last.jsonl") }
}

/// What reports remember of the runs before.
@Suite struct RunMemoryTests {
  private let origin = makeImageOrigin()

  @Test func `what may be temporary counts in the second run in a row, and reports say what was bad before`() async throws {
    let job = JobFolder(
      urls: imageURLs(origin, 0..<3) + [origin.url("/a.jpg")],
      keys: "request: {retries: 0}\nfail-on: {temporary: 2 runs}\nreport: [{text: '-'}, {json: report.json}]"
    )
    func run(_ behaviour: Behaviour, status: Int, _ texts: String..., sourceLocation: SourceLocation = #_sourceLocation)
      async throws
    {
      origin.set("/a.jpg", behaviour)
      let result = try await job.prewarm("run job.yaml --set cache.mode=bypass")
      let text = result.outputText + result.errorText
      #expect(result.status == status, "\(text)", sourceLocation: sourceLocation)
      for part in texts { #expect(text.contains(part), "\(text)", sourceLocation: sourceLocation) }
      let saved = try await job.prewarm("report show report.json")
      #expect(saved.outputText == result.outputText, sourceLocation: sourceLocation)
    }
    let none = "there is no report of an earlier run, so what may be temporary counts at once"
    try await run(.status(503), status: 2, none)
    try await run(.jpeg(), status: 0, "Recovered  \(origin.url("/a.jpg"))")
    try await run(
      .status(503),
      status: 0,
      "1 in grace",
      "(all in grace)",
      "Flaky      \(origin.url("/a.jpg"))  bad in 2 of the last 3 runs"
    )
    try await run(.status(503), status: 2, "(2 runs)", "Trend")
    try await run(.jpeg(), status: 0, "Recovered")
    try await run(.status(404), status: 2)
    let since = try #require((try job.json("report.json")["history"] as? [[String: Any]])?.first)
    #expect(since["runs"] as? String == "x.xx.x" && since["url"] as? String == origin.url("/a.jpg"))
    // A run that ends early changes nothing for what it didn't reach.
    let gate = origin.hold("/images/2.jpg")
    let command = try job.start(["run", "job.yaml", "--set", "cache.mode=bypass", "-j1"])
    try await gate.waitForWaiting(1)
    command.send(SIGTERM)
    try await command.waitForError("finish")
    gate.open()
    #expect(try await command.wait().status == 143)
    try await run(.status(503), status: 2, "(2 runs)")
    job.folder.write("{", to: "report.json")
    try await run(.status(503), status: 2, "the last report can't be compared with", "so what may be temporary counts at once")
  }
}
