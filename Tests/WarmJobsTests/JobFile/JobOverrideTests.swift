import Glibc
import ImageCaching
import ImageDownloading
import ImageManaging
import ImagePrimitives
import Manifests
import Reports
import Testing
import WarmJobs

@Suite struct JobOverrideTests {
  @Test("options override the file, and later ones override earlier ones") func optionsStandAboveTheFileAndLaterOnesAboveEarlier()
    throws
  {
    let job = try job(
      shortestJob + "prefetch: {order: fifo, per-host: 3}\n",
      try [
        "prefetch.order=lifo", "prefetch.concurrency=4", "prefetch.concurrency=5", "request.backoff.initial=1s",
        "manifests.0.limit=7", "verify.formats=[png]", "description=",
      ].map { try #require(JobOverride(setting: $0)) }
    )
    #expect(job.prefetch.order == .lifo)
    #expect(job.prefetch.limits.perHost == 3)
    #expect(job.prefetch.limits.concurrency == 5)
    #expect(job.request.backoff.initial == .seconds(1))
    #expect(job.manifests[0].list.limit == 7)
    #expect(job.verify.rules.formats == [.png])
    #expect(job.description == "")
  }

  @Test("an option replaces an invalid value of the file") func aSettingCorrectsAMistakeOfTheFile() {
    #expect(mistakes(in: shortestJob + "prefetch: {order: sideways}\n", [JobOverride(setting: "prefetch.order=lifo")!]) == [])
  }

  @Test("paths in options are relative to the current folder") func pathsOfOptionsStartAtTheCurrentFolder() throws {
    let here = String(cString: getcwd(nil, 0))
    let settings = ["report=[{json: x.json}]", "cache.directory=c"].map { JobOverride(setting: $0)! }
    let job = try job(shortestJob, settings)
    #expect(job.reports == [Job.ReportTarget(format: .json, destination: .file(JobPath("x.json", in: here)))])
    #expect(job.cache.disk.directory == "\(here)/c")
  }

  @Test("appended items follow those of the file or the default") func appendedItemsFollowThoseOfTheFileOrTheDefault() throws {
    let json = JobOverride(path: "report", value: "{json: /x.json}", origin: "--report json", appends: true)
    #expect(try job(shortestJob, [json]).reports.map(\.format) == [.text, .json])
    #expect(
      try job(shortestJob + "report: [{jsonl: a}]\n", [json, json.withPath("/y.json")]).reports.map(\.format) == [
        .jsonl, .json, .json,
      ]
    )
  }

  @Test("an appended report replaces the default one on standard output")
  func anAppendedReportReplacesTheDefaultOneOnStandardOutput() throws {
    let file = JobOverride(path: "report", value: "{json: /x.json}", origin: "--report json", appends: true)
    let rows = JobOverride(path: "report", value: "{jsonl: '-'}", origin: "--report jsonl", appends: true)
    #expect(try job(shortestJob, [rows]).reports.map(\.format) == [.jsonl])
    #expect(try job(shortestJob, [file, rows]).reports.map(\.format) == [.json, .jsonl])
    // What was asked for stays: two reports on standard output are a mistake.
    #expect(mistakes(in: shortestJob + "report: [{text: '-'}]\n", [rows]).count == 1)
    #expect(mistakes(in: shortestJob, [rows, rows]).count == 1)
  }

  @Test(
    "errors of options name the option",
    arguments: [
      ("prefetch.ordr=lifo", "--set prefetch.ordr=lifo: unknown key 'ordr'; did you mean 'order'?"),
      ("prefetch.order=sideways", "--set prefetch.order=sideways: 'sideways' is not an order; use fifo or lifo"),
      ("shard-by=hots", "--set shard-by=hots: 'hots' is not a rule; use url or host"),
      ("nme=x", "--set nme=x: unknown key 'nme'; did you mean 'name'?"),
      ("name.x=1", "--set name.x=1: no key 'x' is below a single value"),
      ("manifests.3.limit=1", "--set manifests.3.limit=1: the list has no item '3'; items are counted from 0, and there are 1"),
      ("report=[", "--set report=[: while parsing a flow node: did not find expected node content"),
      (
        "report={json: x}",
        "--set report={json: x}: 'report' needs a list of entries, each with one of text, json, jsonl, csv, junit, "
          + "markdown, github, html, prometheus, not a mapping"
      ),
    ]
  )
  func mistakesOfOptionsNameTheOption(setting: String, expected: String) throws {
    #expect(mistakes(in: shortestJob, [try #require(JobOverride(setting: setting))]) == [expected])
  }

  @Test("errors of options follow those of the file") func mistakesOfOptionsComeAfterThoseOfTheFile() {
    let overrides = [
      JobOverride(path: "prefetch.concurrency", value: "0", origin: "--concurrency"), JobOverride(setting: "a=b")!,
    ]
    #expect(
      mistakes(in: shortestJob + "fail-on: 5\n", overrides).map { String($0.prefix(20)) } == [
        "4:10: 'fail-on' need", "--concurrency 0: 'co", "--set a=b: unknown k",
      ]
    )
  }

  @Test("text is taken literally") func textIsTakenAsItStands() throws {
    let text = "a: \"b\" \\ # ${HOME} 'x'\u{7F}é"
    let override = JobOverride(path: "description", text: text, origin: "--description")
    #expect(try job(shortestJob, [override]).description == text)
  }

  @Test("a yielding option gives way to the file and to other options") func whatYieldsMakesWayForTheFileAndForOtherOptions()
    throws
  {
    var method = JobOverride(path: "request.method", value: "probe", origin: "prewarm check")
    method.yields = true
    #expect(try job(shortestJob, [method]).request.method == .probe)
    #expect(try job(shortestJob + "request: {retries: 1}\n", [method]).request.method == .probe)
    #expect(try job(shortestJob + "request: {method: head}\n", [method]).request.method == .head)
    #expect(try job(shortestJob, [method, JobOverride(setting: "request.method=get")!]).request.method == .get)
  }

  @Test("an invalid setting is rejected") func whatIsNoSettingIsNone() {
    #expect(JobOverride(setting: "order") == nil)
    #expect(JobOverride(setting: "=x") == nil)
  }

  @Test("a job doesn't need a file") func aJobNeedsNoFile() throws {
    let manifest = Job.Manifest([Manifest.InlineEntry(text: "https://h/a.png", line: 1)])
    let job = try JobFile.make(
      name: "check",
      manifests: [manifest],
      overrides: [JobOverride(setting: "cache.mode=bypass")!],
      environment: ["HOME": "/h"]
    )
    #expect(job.name == "check")
    #expect(job.file == nil)
    #expect(job.manifests.count == 1)
    #expect(job.cache.mode == .bypass)
  }
}

extension JobOverride {
  fileprivate func withPath(_ path: String) -> JobOverride {
    JobOverride(path: self.path, value: "{json: \(path)}", origin: origin, appends: appends)
  }
}
