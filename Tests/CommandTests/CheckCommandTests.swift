import Foundation
import Glibc
import TestOrigin
import TestSupport
import Testing

/// `prewarm check`: requests sources of every kind, and stores nothing.
@Suite struct CheckCommandTests {
  private let origin = makeImageOrigin()

  @Test func `--json prints a JSON report, -o writes reports by extension, and -j sets the concurrency`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<3) + [origin.url("/gone.jpg")])
    let result = try await job.prewarm("check urls.txt --json -j2 -o out/report.xml -o report.html --set request.retries=0")
    #expect(result.status == 2, "\(result.errorText)")
    let report = try JSONSerialization.jsonObject(with: Data(result.output)) as? [String: Any]
    #expect((report?["totals"] as? [String: Int])?["checked"] == 3)
    #expect(job.folder.read("out/report.xml")?.starts(with: "<?xml".utf8) == true)
    #expect(job.folder.read("report.html") != nil)
    let other = try await job.prewarm("check urls.txt -j 0")
    #expect(other.status == 3 && other.errorText.contains("concurrency"))
  }

  @Test func `a failure to reach a host names the proxy of the environment that wasn't used`() async throws {
    let port = RefusedPort()
    let url = "http://127.0.0.1:\(port.port)/a.jpg"
    let job = JobFolder(urls: [url, "http://unresolvable.invalid/b.jpg"])
    let proxies = [["http_proxy": "http://bob:y@proxy.test:1"], ["all_proxy": "p"], ["https_proxy": "p"], ["http_proxy": ""]]
    for (index, proxy) in (proxies + [["http_proxy": "p", "no_proxy": "a.test, 127.0.0.1,.invalid"]]).enumerated() {
      let result = try await job.prewarm(
        "check urls.txt --set request.retries=0 --set request.recheck=off",
        environment: proxy.mapValues { $0 }
      )
      let output = result.outputText
      let hint = "\(index == 0 ? "http_proxy" : "all_proxy") is set but not used; set request.proxy: environment to use it"
      #expect(output.split(separator: hint, omittingEmptySubsequences: false).count == (index < 2 ? 3 : 1), "\(output)")
      #expect(!output.contains("bob"))
    }
  }

  @Test func `--quiet prints failures only`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<3))
    let good = try await job.prewarm("check urls.txt --quiet")
    #expect(good.status == 0 && good.output.isEmpty && good.error.isEmpty, "\(good.outputText)\(good.errorText)")
    job.write(urls: imageURLs(origin, 0..<3) + [origin.url("/gone.jpg")])
    let bad = try await job.prewarm("check urls.txt -q")
    #expect(bad.status == 2 && bad.error.isEmpty)
    expectGolden(bad.outputText.timeless.replacing(":\(origin.port)", with: ":PORT"))
    let allowed = try await job.prewarm("check urls.txt -q --fail-on failures=1")
    #expect(allowed.status == 0 && allowed.outputText.contains("/gone.jpg"))
    #expect(!allowed.outputText.contains("check:"))
  }

  @Test func `variables of the environment are defaults, below options`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<1))
    for options in ["", " --set request.user-agent=bot/2"] {
      let result = try await job.prewarm("check urls.txt\(options)", environment: ["PREWARM_USER_AGENT": "bot/1"])
      #expect(result.status == 0)
    }
    #expect(origin.requests.map { $0.headers["User-Agent"] } == ["bot/1", "bot/2"])
  }

  @Test func `check probes URLs and stores nothing, and needs neither a cache nor a home folder`() async throws {
    let job = JobFolder("")
    let none: [String: String?] = ["HOME": nil, "PREWARM_CACHE_DIR": nil]
    let result = try await job.start(["check"] + imageURLs(origin, 0..<3), environment: none).wait()
    #expect(result.status == 0, "\(result.errorText)")
    expectGolden(result.outputText.timeless.lines(with: "check  "))
    #expect(origin.requests.count == 3)
    #expect(!FileManager.default.fileExists(atPath: job.cacheDirectory))
  }

  @Test(
    arguments: [
      ("urls.txt", "GET bytes=0-65535"), ("urls.txt --decode full", "GET"), ("urls.txt --set verify.strict=true", "GET"),
      ("urls.txt --method get", "GET"), ("urls.txt --method head", "HEAD"), ("job.yaml", "HEAD"),
      ("job.yaml --method get", "GET"),
    ]
  )
  func `the method is the option's, else the job file's, else a probe unless images must be whole`(line: String, method: String)
    async throws
  {
    let job = JobFolder(urls: imageURLs(origin, 0..<1), keys: "request: {method: head}")
    let result = try await job.prewarm("check \(line)")
    #expect(result.status == 0, "\(result.errorText)")
    #expect(origin.requests.map { [$0.method, $0.headers["Range"]].compactMap { $0 }.joined(separator: " ") } == [method])
  }

  @Test func `job files are checked as separate jobs and store nothing`() async throws {
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
    job.writeJob("verify: {decode: full}", name: "deep", to: "deep.yml")
    let result = try await job.prewarm("check job.yaml", origin.url("/images/9.jpg"), "deep.yml")
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
    let job = JobFolder(
      urls: imageURLs(origin, 0..<2) + [origin.url("/missing.jpg")],
      keys: "report: [{json: \"-\"}, {jsonl: rows.jsonl}, {html: \"${UNSET}.html\"}]\nfail-on: {failures: 1}"
    )
    let result = try await job.prewarm("check job.yaml --report json=report.json")
    #expect(result.status == 0, "\(result.errorText)")
    #expect(result.outputText.contains("test  OK  1 of 3 URLs"), "\(result.outputText)")
    #expect(job.folder.read("rows.jsonl") == nil)
    let report = try JSONSerialization.jsonObject(with: Data(job.folder.read("report.json") ?? [])) as? [String: any Sendable]
    #expect(report?["exit_status"] as? Int == 0)
    #expect((report?["totals"] as? [String: Int])?["checked"] == 2)
    let rows = try await job.prewarm("check job.yaml --report jsonl=-")
    #expect(rows.outputText.split(separator: "\n").count == 3 && rows.outputText.hasPrefix("{"), "\(rows.outputText)")
  }

  // MARK: Cache and blacklist

  @Test func `check requests cached and blacklisted images`() async throws {
    let job = JobFolder(
      urls: imageURLs(origin, 0..<3) + [origin.url("/new.jpg")],
      keys: "cache: {mode: use, directory: \"${UNSET:-cache}\"}\nblacklist: {ttl: 30d}"
    )
    #expect(try await job.prewarm("run job.yaml").status == 2)
    origin.set("/new.jpg", .jpeg(9))
    #expect(try await job.prewarm("check job.yaml").status == 0)
    origin.set("/images/1.jpg", .status(404))
    let result = try await job.prewarm("check job.yaml")
    #expect(result.status == 2 && result.outputText.contains("/images/1.jpg"), "\(result.outputText)")
    // Four of a run, four of each check, and one that confirms a failed probe.
    #expect(origin.requests.count == 13)
    // They aren't written either: the run still finds its entries.
    let run = try await job.runJob()
    #expect(run.totals["hit_disk"] == 3 && run.totals["blacklisted"] == 1 && origin.requests.count == 13)
  }

  @Test func `on a terminal the verdict is the last line`() async throws {
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

  @Test func `reports show URLs of the command line as such`() async throws {
    let job = JobFolder("")
    let result = try await job.prewarm("check", origin.url("/no.jpg"), "--report", "github=-", "--report", "jsonl=rows.jsonl")
    let rows = job.folder.text("rows.jsonl")
    #expect(rows.contains(#""manifest":"command line""#), "\(rows)")
    #expect(!result.outputText.contains("urls  "), "\(result.outputText)")
    expectGolden(result.outputText.timeless.lines(with: "command line"))
  }
}
