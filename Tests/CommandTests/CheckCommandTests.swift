import Foundation
import Glibc
import TestOrigin
import TestSupport
import Testing

/// `prewarm check`: requests sources of every kind, and stores nothing.
@Suite struct CheckCommandTests {
  /// The requested paths, without duplicates.
  private func paths(_ origin: Origin) -> [String] { Set(origin.requests.map(\.path)).sorted() }

  @Test func `--json prints a JSON report, -o writes reports by extension, and -j sets the concurrency`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<3) + [origin.url("/gone.jpg")])
    let result = try await job.prewarm(
      "check",
      "urls.txt",
      "--json",
      "-j2",
      "-o",
      "out/report.xml",
      "-o",
      "report.html",
      "--set",
      "request.retries=0"
    )
    #expect(result.status == 2, "\(result.errorText)")
    let report = try JSONSerialization.jsonObject(with: Data(result.output)) as? [String: Any]
    #expect((report?["totals"] as? [String: Int])?["checked"] == 3)
    #expect(job.folder.read("out/report.xml")?.starts(with: "<?xml".utf8) == true)
    #expect(job.folder.read("report.html") != nil)
    let other = try await job.prewarm("check", "urls.txt", "-j", "0")
    #expect(other.status == 3 && other.errorText.contains("concurrency"))
  }

  @Test func `a failure to reach a host names the proxy of the environment that wasn't used`() async throws {
    let port = RefusedPort()
    let url = "http://127.0.0.1:\(port.port)/a.jpg"
    let job = JobFolder(urls: [url, "http://unresolvable.invalid/b.jpg"])
    let proxies = [["http_proxy": "http://bob:y@proxy.test:1"], ["all_proxy": "p"], ["https_proxy": "p"], ["http_proxy": ""]]
    for (index, proxy) in (proxies + [["http_proxy": "p", "no_proxy": "a.test, 127.0.0.1,.invalid"]]).enumerated() {
      let environment = job.environment.merging(proxy.mapValues { $0 }) { $1 }
      let arguments = ["check", "urls.txt", "--set", "request.retries=0"]
      let command = try Command(BuiltCommand.path, arguments, environment: environment, workingDirectory: job.folder.path)
      let output = try await command.wait().outputText
      let hint = "\(index == 0 ? "http_proxy" : "all_proxy") is set but not used; set request.proxy: environment to use it"
      #expect(output.split(separator: hint, omittingEmptySubsequences: false).count == (index < 2 ? 3 : 1), "\(output)")
      #expect(!output.contains("bob"))
    }
  }

  @Test func `--quiet prints failures only`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<3))
    let good = try await job.prewarm("check", "urls.txt", "--quiet")
    #expect(good.status == 0 && good.output.isEmpty && good.error.isEmpty, "\(good.outputText)\(good.errorText)")
    job.write(urls: imageURLs(origin, 0..<3) + [origin.url("/gone.jpg")])
    let bad = try await job.prewarm("check", "urls.txt", "-q")
    #expect(bad.status == 2 && bad.error.isEmpty)
    expectGolden(bad.outputText.timeless.replacing(":\(origin.port)", with: ":PORT"))
    let allowed = try await job.prewarm("check", "urls.txt", "-q", "--fail-on", "failures=1")
    #expect(allowed.status == 0 && allowed.outputText.contains("/gone.jpg"))
    #expect(!allowed.outputText.contains("check:"))
  }

  @Test func `variables of the environment are defaults, below options`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<1))
    let environment = job.environment.merging(["PREWARM_USER_AGENT": "bot/1"]) { $1 }
    for options in [[], ["--set", "request.user-agent=bot/2"]] {
      let command = try Command(
        BuiltCommand.path,
        ["check", "urls.txt"] + options,
        environment: environment,
        workingDirectory: job.folder.path
      )
      #expect(try await command.wait().status == 0)
    }
    #expect(origin.requests.map { $0.headers["User-Agent"] } == ["bot/1", "bot/2"])
  }

  @Test func `check probes URLs and stores nothing`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder("")
    let result = try await job.start(["check"] + imageURLs(origin, 0..<3)).wait()
    #expect(result.status == 0, "\(result.errorText)")
    expectGolden(result.outputText.timeless.lines(with: "check  "))
    #expect(origin.requests.count == 3)
    #expect(origin.requests.allSatisfy { $0.method == "GET" && $0.headers["Range"] == "bytes=0-65535" })
    #expect(!FileManager.default.fileExists(atPath: job.cacheDirectory))
  }

  @Test func `check needs neither a cache nor a home folder`() async throws {
    let origin = try makeImageOrigin()
    let command = try Command(
      BuiltCommand.path,
      ["check", origin.url("/images/1.jpg")],
      environment: ["HOME": nil, "XDG_CACHE_HOME": nil, "PREWARM_CACHE_DIR": nil]
    )
    #expect(try await command.wait().status == 0)
  }

  @Test(
    arguments: [["--decode", "full"], ["--set", "verify.strict=true"], ["--method", "get"]]
  )
  func `a deep check fetches whole images`(options: [String]) async throws {
    let origin = try makeImageOrigin()
    let result = try await JobFolder("").start(["check", origin.url("/images/1.jpg")] + options).wait()
    #expect(result.status == 0, "\(result.errorText)")
    #expect(origin.requests.map { $0.headers["Range"] } == [nil])
  }

  @Test func `the option sets the method`() async throws {
    let origin = try makeImageOrigin()
    let result = try await JobFolder("").prewarm("check", origin.url("/images/1.jpg"), "--method", "head")
    #expect(result.status == 0 && origin.requests.map(\.method) == ["HEAD"], "\(result.errorText)")
  }

  @Test func `every kind of source is read`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder("")
    let sitemap = { (number: Int) in
      """
      <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>\(origin.url("/images/\(number).jpg"))</loc></url></urlset>
      """
    }
    origin.set("/sitemap.xml", .body(Array(sitemap(1).utf8), type: "text/plain"))
    job.write(urls: imageURLs(origin, 2..<3))
    job.write(urls: imageURLs(origin, 3..<4), to: "part-a.list")
    job.write(urls: imageURLs(origin, 4..<5), to: "part-b.list")
    job.folder.write("url\n\(origin.url("/images/5.jpg"))\n", to: "urls.csv")
    let result = try await job.prewarm(
      "check",
      origin.url("/sitemap.xml?v=1"),
      "urls.txt",
      "part-*.list",
      "urls.csv",
      "-",
      origin.url("/images/7.jpg"),
      input: .bytes(Array((origin.url("/images/6.jpg") + "\n").utf8))
    )
    #expect(result.status == 0, "\(result.outputText)\(result.errorText)")
    expectGolden(result.outputText.timeless.lines(with: "check  "))
    #expect(paths(origin) == (1...7).map { "/images/\($0).jpg" } + ["/sitemap.xml"])
  }

  @Test func `job files are checked as separate jobs and store nothing`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(
      urls: imageURLs(origin, 0..<2) + [origin.url("/missing.jpg")],
      keys: """
        request: {headers: {X-Job: one}}
        cache: {mode: use, memory: {max-count: 10}}
        transform: {resize: {width: 10}}
        fail-on: {failures: 1}
        report: [{json: report.json}]
        """
    )
    job.folder.write("of last night", to: "report.json")
    job.folder.write("version: 1\nname: deep\nmanifests: [{path: urls.txt}]\nverify: {decode: full}\n", to: "deep.yml")
    let result = try await job.prewarm("check", "job.yaml", origin.url("/images/9.jpg"), "deep.yml")
    #expect(result.status == 2)
    let names = result.outputText.split(separator: "\n").compactMap { $0.firstMatch(of: #/^(\w+)  [A-Z]+  /#)?.1 }
    #expect(names == ["check", "test", "deep"], "\(result.outputText)")
    #expect(origin.requests.filter { $0.headers["X-Job"] == "one" && $0.headers["Range"] != nil }.count == 3)
    // One of them confirms the failure of a probe.
    #expect(origin.requests.filter { $0.headers["Range"] == nil }.count == 4)
    #expect(!FileManager.default.fileExists(atPath: job.cacheDirectory))
    #expect(job.folder.read("report.json") == Array("of last night".utf8))
  }

  @Test func `check writes the reports of its options, and none of the job file's`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(
      urls: imageURLs(origin, 0..<2) + [origin.url("/missing.jpg")],
      keys: "report: [{json: \"-\"}, {jsonl: rows.jsonl}, {html: \"${UNSET}.html\"}]\nfail-on: {failures: 1}"
    )
    let result = try await job.prewarm("check", "job.yaml", "--report", "json=report.json")
    #expect(result.status == 0, "\(result.errorText)")
    #expect(result.outputText.contains("test  OK  1 of 3 URLs"), "\(result.outputText)")
    #expect(job.folder.read("rows.jsonl") == nil)
    let report = try JSONSerialization.jsonObject(with: Data(job.folder.read("report.json") ?? [])) as? [String: any Sendable]
    #expect(report?["exit_status"] as? Int == 0)
    #expect((report?["totals"] as? [String: Int])?["checked"] == 2)
    let rows = try await job.prewarm("check", "job.yaml", "--report", "jsonl=-")
    #expect(rows.outputText.split(separator: "\n").count == 3 && rows.outputText.hasPrefix("{"), "\(rows.outputText)")
  }

  // MARK: Cache and blacklist

  @Test func `check requests cached and blacklisted images`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(
      urls: imageURLs(origin, 0..<3) + [origin.url("/new.jpg")],
      keys: "cache: {mode: use, directory: \"${UNSET:-cache}\"}\nblacklist: {ttl: 30d}"
    )
    #expect(try await job.prewarm("run", "job.yaml").status == 2)
    origin.set("/new.jpg", .body(SampleImages.jpeg(9), type: "image/jpeg"))
    #expect(try await job.prewarm("check", "job.yaml").status == 0)
    origin.set("/images/1.jpg", .status(404))
    let result = try await job.prewarm("check", "job.yaml")
    #expect(result.status == 2 && result.outputText.contains("/images/1.jpg"), "\(result.outputText)")
    // Four of a run, four of each check, and one that confirms a failed probe.
    #expect(origin.requests.count == 13)
    // They aren't written either: the run still finds its entries.
    let run = try await job.runJob()
    #expect(run.totals["hit_disk"] == 3 && run.totals["blacklisted"] == 1 && origin.requests.count == 13)
  }

  @Test(
    arguments: [
      ["--cache-mode", "use"], ["--cache-directory", "cache"], ["--freshness", "http"], ["--min-fresh", "1h"], ["--verify-hits"],
      ["--namespace", "n"], ["--retry-blacklisted"], ["--set", "cache.mode=use"], ["--set", "cache={mode: use}"],
      ["--set", "blacklist.retry=true"], ["--set", "transform.format=webp"],
    ]
  )
  func `check rejects options of cache and blacklist`(options: [String]) async throws {
    let origin = try makeImageOrigin()
    let result = try await JobFolder("").start(["check", origin.url("/images/1.jpg")] + options).wait()
    #expect(result.status == 3 && result.output.isEmpty && origin.requests.isEmpty, "\(result.outputText)")
    expectGolden(result.errorText, for: options.joined(separator: " "))
  }

  @Test func `a job file's method is kept`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<1), keys: "request: {method: head}")
    #expect(try await job.prewarm("check", "job.yaml").status == 0)
    #expect(origin.requests.map(\.method) == ["HEAD"])
    #expect(try await job.prewarm("check", "job.yaml", "--method", "get").status == 0)
    #expect(origin.requests.last?.method == "GET" && origin.requests.last?.headers["Range"] == nil)
  }

  @Test func `check reports a remote cache's status`() async throws {
    let origin = try makeImageOrigin()
    origin.set("/hit.jpg", .body(SampleImages.jpeg(1), type: "image/jpeg", headers: ["X-Cache": "HIT"]))
    let result = try await JobFolder("").prewarm("check", origin.url("/hit.jpg"), "--set", "verify.remote-cache=hit")
    #expect(result.status == 0 && origin.requests.count == 2, "\(result.outputText)\(result.errorText)")
    #expect(result.outputText.contains("1 of 1 hit"))
  }

  @Test func `failures come first and the verdict last`() async throws {
    let origin = try makeImageOrigin()
    let result = try await JobFolder("").prewarm("check", origin.url("/images/1.jpg"), origin.url("/missing.jpg"))
    #expect(result.status == 2)
    let lines = result.outputText.split(separator: "\n")
    #expect(lines.first == "Failures")
    expectGolden(lines.last.map(String.init)?.timeless)
  }

  @Test func `on a terminal the verdict is the last line`() async throws {
    let origin = try makeImageOrigin()
    let command = try JobFolder("").start(
      ["check", origin.url("/images/1.jpg"), origin.url("/missing.jpg")],
      terminal: Command.Terminal(columns: 100)
    )
    let screen = Screen(try await command.wait().outputText)
    let lines = screen.lines.filter { !$0.isEmpty }
    #expect(lines.first == "Failures", "\(screen.text)")
    expectGolden(lines.last?.timeless)
    #expect(!screen.attributes.isEmpty)
  }

  // MARK: Errors

  @Test(
    arguments: [
      "missing.txt",
      "ftp://img.example.com/a.jpg",
      ".",
      "https://",
      "https://user:secret@",
      "nothing-*.txt",
      "missing.yaml",
    ]
  )
  func `an invalid source exits with 3 before anything is fetched`(source: String) async throws {
    let origin = try makeImageOrigin()
    let result = try await JobFolder("").prewarm("check", origin.url("/images/1.jpg"), source)
    #expect(result.status == 3, "\(result.errorText)")
    expectGolden(result.errorText, for: source)
    #expect(origin.requests.isEmpty && result.output.isEmpty && !result.errorText.contains("secret"))
  }

  @Test(arguments: ["check", "explain"]) func `the error for a long source quotes its beginning`(command: String) async throws {
    for source in [
      "http://[\(String(repeating: "a", count: 100_000))", "http://user:secret@\(String(repeating: "b", count: 100_000))",
    ] {
      let result = try await JobFolder("").prewarm(command, source)
      #expect(result.status == 3 && result.error.count < 500, "\(result.error.count) bytes")
      expectGolden(result.errorText, for: command)
      #expect(!result.errorText.contains("secret"))
    }
  }

  @Test func `reports show URLs of the command line as such`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder("")
    let result = try await job.prewarm("check", origin.url("/no.jpg"), "--report", "github=-", "--report", "jsonl=rows.jsonl")
    let rows = String(decoding: job.folder.read("rows.jsonl") ?? [], as: UTF8.self)
    #expect(rows.contains(#""manifest":"command line""#), "\(rows)")
    #expect(!result.outputText.contains("urls  "), "\(result.outputText)")
    expectGolden(result.outputText.timeless.lines(with: "command line"))
  }

  @Test func `all errors are reported at once`() async throws {
    let job = JobFolder("manifests: [{urls: []}]\nprefetch: {order: sideways}\n")
    job.folder.write("version: 1\nname: Bad\nmanifests: [{urls: []}]\n", to: "bad.yaml")
    let sources = try await job.prewarm("check", "missing.txt", "ftp://a/b", "https://")
    #expect(sources.errorText.split(separator: "\n").count == 3 && sources.status == 3)
    let jobs = try await job.prewarm("check", "job.yaml", "bad.yaml")
    #expect(
      jobs.status == 3 && jobs.errorText.contains("job.yaml:4:") && jobs.errorText.contains("bad.yaml:2:"),
      "\(jobs.errorText)"
    )
    #expect(try await job.prewarm("check", "-", "-").status == 3)
    #expect(try await job.prewarm("check").status == 3)
  }

  @Test func `a dry run makes no request`() async throws {
    let origin = try makeImageOrigin()
    let result = try await JobFolder("").start(["check", "--dry-run"] + imageURLs(origin, 0..<2)).wait()
    #expect(result.status == 0 && origin.requests.isEmpty)
    #expect(result.outputText == imageURLs(origin, 0..<2).map { "\($0)\n" }.joined())
    expectGolden(result.errorText)
  }
}
