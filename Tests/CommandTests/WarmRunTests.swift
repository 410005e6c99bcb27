import Foundation
import TestOrigin
import TestSupport
import Testing

@Suite struct WarmRunTests {
  private let origin = makeImageOrigin()

  @Test func `totals add up with duplicates and invalid lines`() async throws {
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
    let job = JobFolder(urls: imageURLs(origin, 0..<5) + [origin.url("/late.jpg")])
    let first = try await job.runJob()
    #expect(first.status == 2)
    #expect(first.section("blacklist")["added"] as? Int == 1)
    let second = try await job.runJob()
    #expect(second.status == 2)
    #expect(second.totals["blacklisted"] == 1 && second.totals["hit_disk"] == 5)
    #expect(origin.count(of: "/late.jpg") == 1)
    origin.set("/late.jpg", .jpeg(99))
    let healed = try await job.runJob("--retry-blacklisted")
    #expect(healed.status == 0)
    #expect(healed.section("blacklist")["removed"] as? Int == 1)
    let after = try await job.runJob()
    #expect(after.status == 0 && after.totals["hit_disk"] == 6)
  }

  @Test func `a dry run prints what the run would request under the same rules`() async throws {
    let urls = imageURLs(origin, 0..<2) + [origin.url("/missing.jpg")]
    let job = try await JobFolder.warmed(urls: urls)
    let asked = origin.requests.count
    // A blacklisted URL that fails again isn't new on the blacklist.
    let again = try await job.runJob("--retry-blacklisted")
    #expect(again.totals["failed"] == 1 && again.section("blacklist")["added"] as? Int == 0)
    let dry = "run job.yaml --dry-run"
    try await job.expectTranscript(dry, "\(dry) --retry-blacklisted", "\(dry) --cache-mode bypass")
    // Without a network nothing is fetched.
    job.write(urls: imageURLs(origin, 0..<5))
    try await job.expectTranscript("\(dry) --cache-mode only", for: "only")
    #expect(origin.requests.count == asked + 1)
  }

  @Test func `a read-only run spools a sorted list in the temporary folder`() async throws {
    let job = try await JobFolder.warmed(urls: imageURLs(origin, 0..<3), keys: "prefetch: {order: lifo}")
    #expect(try await job.prewarm("run job.yaml --dry-run", environment: ["TMPDIR": job.folder.path]).status == 0)
    let failed = try await job.prewarm("run job.yaml --dry-run", environment: ["TMPDIR": job.folder.file("missing")])
    #expect(failed.status == 1, "\(failed.errorText)")
    expectGolden(failed.errorText)
  }

  @Test func `a text report in a file has no colours and 80 columns`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<4) + [origin.url("/missing.jpg")])
    let result = try await job.prewarm("run job.yaml --color always --report text=report.txt")
    let file = job.folder.text("report.txt")
    #expect(result.outputText.contains("\u{1B}[") && file.contains("404") && !file.contains("\u{1B}"), "\(file)")
  }

  @Test func `a job that cannot be prepared leaves the reports of earlier jobs`() async throws {
    let job = try await JobFolder.warmed(urls: imageURLs(origin, 0..<2))
    let rows = job.folder.read("rows.jsonl")
    job.writeJob("manifests: [{path: missing.txt}]\nreport: []", name: "broken")
    job.writeJob("report: [{jsonl: rows.jsonl}]", name: "first")
    #expect(try await job.prewarm("run first.yaml broken.yaml").status == 3)
    #expect(rows?.isEmpty == false && job.folder.read("rows.jsonl") == rows)
  }

  @Test func `several jobs share one cache, and the worst exit status counts`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<4))
    job.writeJob("manifests: [{urls: ['\(origin.url("/no.jpg"))']}]", name: "bad")
    let result = try await job.prewarm("run bad.yaml job.yaml job.yaml")
    #expect(result.status == 2)
    expectGolden(result.outputText.timeless.lines(with: "4 URLs"))
    #expect(origin.requests.count == 5)
  }

  // MARK: `cache.read-only` and `cache.memory`.

  @Test func `an image in a read-only cache is a hit without a request`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<4), keys: "cache: {read-only: [shared]}")
    #expect(try await job.runJob("--cache-directory shared --set cache.read-only=[]").totals["downloaded"] == 4)
    job.write(urls: imageURLs(origin, 0..<6))
    let dry = try await job.prewarm("run job.yaml --dry-run")
    #expect(dry.outputText == imageURLs(origin, 4..<6).map { "\($0)\n" }.joined(), "\(dry.errorText)")
    let run = try await job.runJob()
    #expect(run.status == 0 && run.totals["hit_disk"] == 4 && run.totals["downloaded"] == 2, "\(run.totals)")
    #expect(try await job.runJob("--cache-mode only").totals["hit_disk"] == 6)
    #expect(origin.requests.count == 6)
    // Expired images aren't hits there either.
    let later = try await job.runJob("--set cache.max-age=0s --cache-directory new")
    #expect(later.totals["downloaded"] == 6, "\(later.totals)")
  }

  @Test func `a missing read-only cache stops the run before the first request`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<2), keys: "cache: {read-only: [missing]}")
    let result = try await job.prewarm("run job.yaml")
    #expect(result.status == 1 && result.errorText.contains("/missing"), "\(result.errorText)")
    #expect(origin.requests.isEmpty)
  }

  @Test func `jobs of one run with equal limits share the memory layer`() async throws {
    let reports = "report: [{json: report.json}, {jsonl: rows.jsonl}]"
    let job = JobFolder(urls: imageURLs(origin, 0..<4), keys: "cache: {memory: {max-cost: 8MiB}}\n\(reports)")
    for (name, memory) in [("same", 8), ("other", 9)] {
      job.writeJob("cache: {memory: {max-cost: \(memory)MiB}}\nreport: []", name: name)
    }
    let shared = try job.finishedRun(try await job.prewarm("run same.yaml job.yaml"))
    #expect(shared.status == 0 && shared.totals["hit_memory"] == 4, "\(shared.totals)")
    #expect(shared.rows("hit-memory").count == 4)
    let apart = try job.finishedRun(try await job.prewarm("run other.yaml job.yaml"))
    #expect(apart.status == 0 && apart.totals["hit_disk"] == 4, "\(apart.totals)")
    #expect(origin.requests.count == 4)
  }
}
