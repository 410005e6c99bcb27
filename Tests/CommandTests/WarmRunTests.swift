import TestOrigin
import TestSupport
import Testing

@Suite struct WarmRunTests {
  @Test func `the first run downloads everything, and the second makes no request`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<300))
    let cold = try await job.runJob()
    #expect(cold.status == 0)
    #expect(cold.totals["downloaded"] == 300 && cold.totals["urls"] == 300)
    #expect(origin.requests.count == 300)
    let hot = try await job.runJob()
    #expect(hot.status == 0)
    #expect(hot.totals["hit_disk"] == 300 && hot.sumOfTotals == 300)
    #expect(origin.requests.count == 300)
    expectGolden(hot.result.outputText.timeless.lines(with: "test  "))
  }

  @Test func `totals add up with duplicates and invalid lines`() async throws {
    let origin = try makeImageOrigin()
    let good = imageURLs(origin, 0..<20)
    let job = JobFolder(
      urls: good + good + ["not a url", "ftp://example.com/a.jpg", origin.url("/missing.jpg")],
      keys: "fail-on: {failures: never}"
    )
    let run = try await job.runJob()
    #expect(run.status == 0)
    #expect(run.totals["urls"] == 43 && run.sumOfTotals == 43 && run.rows.count == 43)
    #expect(run.totals["failed"] == 3 && run.failuresByKind == ["invalid-url": 2, "http-status": 1])
    // A duplicate joins the request in flight, or finds its image; either way one request serves both.
    #expect(origin.requests.count == 21)
    let bad = run.rows.filter { $0.kind == "invalid-url" }
    #expect(bad.map(\.line) == [41, 42])
  }

  @Test func `a job with one 404 ends alike twice, and after a fix and a retry it is good`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<5) + [origin.url("/late.jpg")])
    let first = try await job.runJob()
    #expect(first.status == 2)
    #expect(first.section("blacklist")["added"] as? Int == 1)
    let second = try await job.runJob()
    #expect(second.status == 2)
    #expect(second.totals["blacklisted"] == 1 && second.totals["hit_disk"] == 5)
    #expect(origin.count(of: "/late.jpg") == 1)
    origin.set("/late.jpg", .body(SampleImages.jpeg(99), type: "image/jpeg"))
    let healed = try await job.runJob("--retry-blacklisted")
    #expect(healed.status == 0)
    #expect(healed.section("blacklist")["removed"] as? Int == 1)
    let after = try await job.runJob()
    #expect(after.status == 0 && after.totals["hit_disk"] == 6)
  }

  @Test func `bypass requests every time and stores nothing`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<10) + [origin.url("/missing.jpg")], keys: "cache: {mode: bypass}")
    for round in 1...2 {
      let run = try await job.runJob()
      #expect(run.status == 2)
      #expect(run.totals["checked"] == 10 && run.totals["failed"] == 1)
      #expect(origin.requests.count == 11 * round)
    }
    #expect(readFile(job.cacheDirectory + "/default/index.mdb") == nil)
  }

  @Test func `in only mode a miss is skipped without a request`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<4))
    _ = try await job.runJob()
    job.write(urls: imageURLs(origin, 0..<8))
    let run = try await job.runJob("--cache-mode", "only")
    #expect(run.status == 0)
    #expect(run.totals["hit_disk"] == 4 && run.totals["skipped"] == 4)
    #expect(origin.requests.count == 4)
  }

  @Test func `a dry run prints what would be fetched and fetches nothing`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<3))
    let before = try await job.prewarm("run", "job.yaml", "--dry-run")
    #expect(before.status == 0)
    #expect(before.outputText == imageURLs(origin, 0..<3).map { "\($0)\n" }.joined())
    #expect(origin.requests.isEmpty)
    _ = try await job.runJob()
    let after = try await job.prewarm("run", "job.yaml", "--dry-run")
    #expect(after.outputText.isEmpty)
    expectGolden(after.errorText)
    #expect(origin.requests.count == 3)
  }

  @Test func `a dry run prints what the run would request under the same rules`() async throws {
    let origin = try makeImageOrigin()
    let urls = imageURLs(origin, 0..<2) + [origin.url("/missing.jpg")]
    let job = JobFolder(urls: urls)
    _ = try await job.runJob()
    let asked = origin.requests.count
    #expect(try await job.prewarm("run", "job.yaml", "--dry-run").outputText.isEmpty)
    // A blacklisted URL that fails again isn't new on the blacklist.
    let again = try await job.runJob("--retry-blacklisted")
    #expect(again.totals["failed"] == 1 && again.section("blacklist")["added"] as? Int == 0)
    // Blacklisted URLs are requested if the job says so.
    let retrying = try await job.prewarm("run", "job.yaml", "--dry-run", "--retry-blacklisted")
    #expect(retrying.outputText == "\(urls[2])\n", "\(retrying.errorText)")
    let bypassing = try await job.prewarm("run", "job.yaml", "--dry-run", "--cache-mode", "bypass")
    #expect(bypassing.outputText == urls.map { "\($0)\n" }.joined())
    // Without a network nothing is fetched.
    job.write(urls: imageURLs(origin, 0..<5))
    let only = try await job.prewarm("run", "job.yaml", "--dry-run", "--cache-mode", "only")
    #expect(only.status == 0 && only.outputText.isEmpty)
    expectGolden(only.errorText)
    #expect(origin.requests.count == asked + 1)
  }

  @Test func `a read-only run spools a sorted list in the temporary folder`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<3), keys: "prefetch: {order: lifo}")
    _ = try await job.runJob()
    func dryRun(temporaryFolder: String) async throws -> Command.Result {
      let command = try Command(
        BuiltCommand.path,
        ["run", "job.yaml", "--dry-run"],
        environment: job.environment.merging(["TMPDIR": temporaryFolder]) { $1 },
        workingDirectory: job.folder.path
      )
      return try await command.wait()
    }
    #expect(try await dryRun(temporaryFolder: job.folder.path).status == 0)
    let failed = try await dryRun(temporaryFolder: job.folder.file("missing"))
    #expect(failed.status == 1, "\(failed.errorText)")
    expectGolden(failed.errorText)
  }

  @Test func `a text report in a file has no colours and 80 columns`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<4) + [origin.url("/missing.jpg")])
    let result = try await job.prewarm("run", "job.yaml", "--color", "always", "--report", "text=report.txt")
    let file = String(decoding: job.folder.read("report.txt") ?? [], as: UTF8.self)
    #expect(result.outputText.contains("\u{1B}[") && file.contains("404") && !file.contains("\u{1B}"), "\(file)")
  }

  @Test func `a job that cannot be prepared leaves the reports of earlier jobs`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<2))
    _ = try await job.runJob()
    let rows = job.folder.read("rows.jsonl")
    job.folder.write("version: 1\nname: broken\nmanifests: [{path: missing.txt}]\nreport: []\n", to: "broken.yaml")
    job.folder.write("version: 1\nname: first\nmanifests: [{path: urls.txt}]\nreport: [{jsonl: rows.jsonl}]\n", to: "first.yaml")
    #expect(try await job.prewarm("run", "first.yaml", "broken.yaml").status == 3)
    #expect(rows?.isEmpty == false && job.folder.read("rows.jsonl") == rows)
  }

  @Test func `a hit that needs deeper verification is read, verified and upgraded once`() async throws {
    let origin = try makeImageOrigin()
    origin.set("/cut.jpg", .file(Fixtures.path("images/broken/cut.jpg")))
    let job = JobFolder(urls: imageURLs(origin, 0..<3) + [origin.url("/cut.jpg")])
    #expect(try await job.runJob("--decode", "header").totals["downloaded"] == 4)
    let deep = try await job.runJob("--decode", "full")
    #expect(deep.totals["hit_disk"] == 3)
    #expect(deep.failuresByKind == ["undecodable": 1])
    // The old record stays, and suffices for a job with weaker verification.
    let shallow = try await job.runJob("--decode", "header")
    #expect(shallow.status == 0 && shallow.totals["hit_disk"] == 4)
    #expect(origin.requests.count == 5)
  }

  @Test func `namespaces don't see each other`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<2))
    #expect(try await job.runJob("--namespace", "one").totals["downloaded"] == 2)
    #expect(try await job.runJob("--namespace", "two").totals["downloaded"] == 2)
    #expect(try await job.runJob("--namespace", "one").totals["hit_disk"] == 2)
  }

  @Test func `several jobs share one cache, and the worst exit status counts`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<4))
    job.folder.write("version: 1\nname: bad\nmanifests: [{urls: ['\(origin.url("/no.jpg"))']}]\n", to: "bad.yaml")
    let result = try await job.prewarm("run", "bad.yaml", "job.yaml", "job.yaml")
    #expect(result.status == 2)
    expectGolden(result.outputText.timeless.lines(with: "4 URLs"))
    #expect(origin.requests.count == 5)
  }

  @Test func `trimming within and after a run keeps the cache below its limit and may exit with 2`() async throws {
    let origin = try makeImageOrigin()
    let size = SampleImages.jpeg(0).count
    let job = JobFolder(urls: imageURLs(origin, 0..<60), keys: "cache: {max-size: \(size * 20), trim-to: 50%}")
    let run = try await job.runJob()
    #expect(run.status == 2)
    let cache = run.section("cache")
    #expect((cache["body_bytes"] as? Int ?? .max) <= size * 22)
    #expect((cache["evicted_from_this_run"] as? Int ?? 0) > 0)
    #expect(try await job.runJob("--fail-on", "evicted=false").status == 0)
  }

  @Test func `a run whose hits are evicted at its end exits with 2`() async throws {
    let origin = try makeImageOrigin()
    let size = SampleImages.jpeg(0).count
    let job = JobFolder(urls: imageURLs(origin, 0..<20))
    #expect(try await job.runJob().status == 0)
    let run = try await job.runJob("--set", "cache.max-size=\(size * 10)")
    #expect(run.status == 2 && run.totals["hit_disk"] == 20)
    #expect((run.section("cache")["evicted_from_this_run"] as? Int ?? 0) > 0)
  }

  @Test func `an outage doesn't empty the cache`() async throws {
    let origin = try makeImageOrigin()
    origin.set("/images/0.jpg", .body(SampleImages.jpeg(0), type: "image/jpeg"))
    let job = JobFolder(urls: imageURLs(origin, 0..<3), keys: "request: {retries: 0}")
    #expect(try await job.runJob().status == 0)
    origin.setFallback { _ in .status(503) }
    origin.set("/images/0.jpg", .status(503))
    let run = try await job.runJob("--set", "cache.max-age=0s")
    #expect(run.status == 2 && run.totals["failed"] == 3 && run.section("cache")["entries"] as? Int == 3)
  }

  @Test func `custom headers reach only the entry's origin`() async throws {
    let origin = try makeImageOrigin(hosts: 2)
    origin.set("/away.jpg", .redirect(to: origin.url("/images/7.jpg", host: 1)))
    let job = JobFolder(urls: [origin.url("/away.jpg")], keys: "request: {headers: {X-Token: geheim}}")
    let run = try await job.runJob()
    #expect(run.status == 0)
    #expect(origin.requests.map { $0.headers["X-Token"] } == ["geheim", nil])
    let report = String(decoding: job.folder.read("report.json")!, as: UTF8.self)
    #expect(!(run.result.outputText + run.result.errorText + report).contains("geheim"))
  }

  @Test func `credentials in a URL are used and never written to disk`() async throws {
    let origin = try makeImageOrigin()
    let url = "http://user:geheim@127.0.0.1:\(origin.port)/images/1.jpg"
    let job = JobFolder(urls: [url, url.replacing("geheim", with: "anders"), "http://user:geheim@/x"])
    let run = try await job.runJob()
    #expect(run.totals["downloaded"] == 2)
    #expect(origin.requests.allSatisfy { $0.headers["Authorization"]?.hasPrefix("Basic ") == true })
    #expect(run.rows[0].url.contains("***"))
    for name in ["report.json", "rows.jsonl", "cache/default/index.mdb"] {
      let text = String(decoding: job.folder.read(name)!, as: UTF8.self)
      #expect(!text.contains("geheim"), "\(name) shows the password")
    }
    #expect(!(run.result.outputText + run.result.errorText).contains("geheim"))
  }
}
