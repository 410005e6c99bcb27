import Glibc
import ImageCaching
import ImageDownloading
import ImageManaging
import Base
import Lists
import Reports
import TestSupport
import Testing
import Jobs

@Suite struct JobOverrideTests {
  @Test func `options override the file, and later ones override earlier ones`() throws {
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
    #expect(job.request.download.backoff.initial == .seconds(1))
    #expect(job.manifests[0].list.limit == 7)
    #expect(job.verify.rules.formats == [.png])
    #expect(job.description == "")
  }

  @Test func `variables set what neither the command line nor the file sets`() throws {
    let variables = [
      "HOME": "/home/user", "PREWARM_CONCURRENCY": "5", "PREWARM_TIMEOUT": "7s", "PREWARM_USER_AGENT": "bot: 1",
      "PREWARM_PROXY": "http://p:3128",
    ]
    let plain = try job(shortestJob, environment: variables)
    #expect(plain.prefetch.limits.concurrency == 5 && plain.request.download.timeout == .seconds(7))
    #expect(plain.request.download.userAgent == "bot: 1")
    let said = shortestJob + "prefetch: {concurrency: 6}\nrequest: {timeout: 9s, user-agent: own}\n"
    let own = try job(said, environment: variables)
    #expect(own.prefetch.limits.concurrency == 6 && own.request.download.timeout == .seconds(9))
    #expect(own.request.download.userAgent == "own")
    let option = JobOverride(path: "prefetch.concurrency", value: "7", origin: "--concurrency")
    #expect(try job(shortestJob, [option], environment: variables).prefetch.limits.concurrency == 7)
    #expect(try job(shortestJob, environment: ["HOME": "/", "PREWARM_CONCURRENCY": ""]).prefetch.limits.concurrency == 32)
    let wrong = ["HOME": "/", "PREWARM_CONCURRENCY": "many", "PREWARM_TIMEOUT": "5", "PREWARM_PROXY": "ftp://me:secret@p"]
    let found = mistakes(in: shortestJob, environment: wrong)
    #expect(found.count == 3 && !found.contains { $0.contains("secret") })
    expectGolden(found.joined(separator: "\n"))
  }

  @Test func `an option replaces an invalid value of the file`() {
    #expect(mistakes(in: shortestJob + "prefetch: {order: sideways}\n", [JobOverride(setting: "prefetch.order=lifo")!]) == [])
  }

  @Test func `paths in options are relative to the current folder`() throws {
    let here = String(cString: getcwd(nil, 0))
    let settings = ["report=[{json: x.json}]", "cache.directory=c"].map { JobOverride(setting: $0)! }
    let job = try job(shortestJob, settings)
    #expect(job.reports == [Job.ReportTarget(format: .json, destination: .file(JobPath("x.json", in: here)))])
    #expect(job.cache.disk.directory == "\(here)/c")
  }

  @Test func `appended items follow those of the file or the default`() throws {
    let json = JobOverride(path: "report", value: "{json: /x.json}", origin: "--report json", appends: true)
    #expect(try job(shortestJob, [json]).reports.map(\.format) == [.text, .json])
    #expect(
      try job(shortestJob + "report: [{jsonl: a}]\n", [json, json.withPath("/y.json")]).reports.map(\.format) == [
        .jsonl, .json, .json,
      ]
    )
  }

  @Test func `an appended report replaces the default one on standard output`() throws {
    let file = JobOverride(path: "report", value: "{json: /x.json}", origin: "--report json", appends: true)
    let rows = JobOverride(path: "report", value: "{jsonl: '-'}", origin: "--report jsonl", appends: true)
    #expect(try job(shortestJob, [rows]).reports.map(\.format) == [.jsonl])
    #expect(try job(shortestJob, [file, rows]).reports.map(\.format) == [.json, .jsonl])
    // The requested reports stay: two reports on standard output are an error.
    #expect(mistakes(in: shortestJob + "report: [{text: '-'}]\n", [rows]).count == 1)
    #expect(mistakes(in: shortestJob, [rows, rows]).count == 1)
  }

  @Test(
    arguments: [
      "prefetch.ordr=lifo", "prefetch.order=sideways", "shard-by=hots", "nme=x", "name.x=1", "manifests.3.limit=1", "report=[",
      "report={json: x}",
    ]
  )
  func `errors of options name the option`(setting: String) throws {
    let found = mistakes(in: shortestJob, [try #require(JobOverride(setting: setting))])
    #expect(found.count == 1)
    expectGolden(found.first, for: setting)
  }

  @Test func `errors of options follow those of the file`() {
    let overrides = [
      JobOverride(path: "prefetch.concurrency", value: "0", origin: "--concurrency"), JobOverride(setting: "a=b")!,
    ]
    let origins = mistakes(in: shortestJob + "fail-on: 5\n", overrides).map { $0.split(separator: ": ")[0] }
    #expect(origins == ["4:10", "--concurrency 0", "--set a=b"])
  }

  @Test func `text is taken literally`() throws {
    let text = "a: \"b\" \\ # ${HOME} 'x'\u{7F}é"
    let override = JobOverride(path: "description", text: text, origin: "--description")
    #expect(try job(shortestJob, [override]).description == text)
  }

  @Test func `a yielding option gives way to the file and to other options`() throws {
    var method = JobOverride(path: "request.method", value: "probe", origin: "prewarm check")
    method.yields = true
    #expect(try job(shortestJob, [method]).request.download.method == .probe)
    #expect(try job(shortestJob + "request: {retries: 1}\n", [method]).request.download.method == .probe)
    #expect(try job(shortestJob + "request: {method: head}\n", [method]).request.download.method == .head)
    #expect(try job(shortestJob, [method, JobOverride(setting: "request.method=get")!]).request.download.method == .get)
  }

  @Test func `a header replaces the one of the file, whatever its case`() throws {
    let file = shortestJob + "request: {headers: {x-token: one, X.Other: two}}\n"
    let headers = ["X-Token:  three: $4 ", "X.Other: \"five\"", "Accept: image/png", "user-agent: six", "X-Empty:"]
    let job = try job(file, headers.map { JobOverride(header: $0, origin: "--header")! })
    let sent = job.request.download.headers.map { "\($0.name)=\($0.value)" }
    #expect(sent == ["X-Token=three: $4 ", "X.Other=\"five\"", "X-Empty="])
    #expect(job.request.download.accept == "image/png" && job.request.download.userAgent == "six")
    #expect(JobOverride(header: "secret", origin: "--header") == nil && JobOverride(header: ": x", origin: "--header") == nil)
    #expect(
      mistakes(in: shortestJob, [JobOverride(header: "Host: secret", origin: "--header")!]).allSatisfy { !$0.contains("secret") }
    )
  }

  @Test func `a removed key has its default, and the file's value isn't read`() throws {
    let file = shortestJob + "report: [{jsn: x}]\ncache: {max-age: soon, mode: only}\nprefetch: {order: lifo, rate: 1/s}\n"
    let removed = ["report", "cache", "prefetch.order", "transform.format"].map { JobOverride(defaultOf: $0) }
    let job = try job(file, removed + [JobOverride(path: "report", value: "{json: a.json}", origin: "--report", appends: true)])
    #expect(job.reports.map(\.format) == [.text, .json] && job.cache.mode == .use)
    #expect(job.prefetch.order == .fifo && job.prefetch.limits.rate == 1)
  }

  @Test func `an invalid setting is rejected`() {
    #expect(JobOverride(setting: "order") == nil)
    #expect(JobOverride(setting: "=x") == nil)
  }

  @Test func `a job doesn't need a file`() throws {
    let manifest = Job.List([URLList.InlineEntry(text: "https://h/a.png", line: 1)])
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

  @Test func `a job without a file reads its lists as the command line says`() throws {
    func make(_ reading: [JobOverride], _ overrides: [JobOverride] = []) throws -> Job {
      let lists = [Job.List(named: "a.txt"), Job.List(named: "b.txt")]
      return try JobFile.make(
        name: "check",
        manifests: lists,
        reading: reading,
        overrides: overrides,
        environment: ["HOME": "/h"]
      )
    }
    let set = { (path: String, value: String) in JobOverride(path: "manifests.\(path)", value: value, origin: "--x") }
    let lists = try make([set("format", "csv"), set("base-url", "https://h"), set("include", "[/a]"), set("exclude", "[/b, /c]")])
      .manifests.map(\.list)
    #expect(lists.map(\.name) == ["a.txt", "b.txt"])
    #expect(lists.allSatisfy { $0.format == .csv && $0.baseURL != nil && $0.include.count == 1 && $0.exclude.count == 2 })
    #expect(throws: JobFileErrors.self) { try make([set("format", "cvs")]) }
    let limits = try make([], [JobOverride(setting: "manifests.1.limit=5")!, JobOverride(setting: "manifests.priority=high")!])
    #expect(limits.manifests.map(\.list.limit) == [nil, 5] && limits.manifests.allSatisfy { $0.list.priority == .high })
    for setting in ["manifests=[{urls: []}]", "manifests.0.path=c.txt", "manifests.urls=[]"] {
      let error = #expect(throws: JobFileErrors.self) { try make([], [JobOverride(setting: setting)!]) }
      expectGolden(error?.description, for: setting)
    }
  }
}

extension JobOverride {
  fileprivate func withPath(_ path: String) -> JobOverride {
    JobOverride(path: self.path, value: "{json: \(path)}", origin: origin, appends: appends)
  }
}
