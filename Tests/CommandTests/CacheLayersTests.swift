import Foundation
import TestOrigin
import TestSupport
import Testing

/// `cache.read-only`, `cache.memory`, `cache.key` and `cache.verify-hits`.
@Suite struct CacheLayersTests {
  @Test func `an image in a read-only cache is a hit without a request`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<4), keys: "cache: {read-only: [shared]}")
    #expect(try await job.runJob("--cache-directory", "shared", "--set", "cache.read-only=[]").totals["downloaded"] == 4)
    job.write(urls: imageURLs(origin, 0..<6))
    let dry = try await job.prewarm("run", "job.yaml", "--dry-run")
    #expect(dry.outputText == imageURLs(origin, 4..<6).map { "\($0)\n" }.joined(), "\(dry.errorText)")
    let run = try await job.runJob()
    #expect(run.status == 0 && run.totals["hit_disk"] == 4 && run.totals["downloaded"] == 2, "\(run.totals)")
    #expect(try await job.runJob("--cache-mode", "only").totals["hit_disk"] == 6)
    #expect(origin.requests.count == 6)
    // Expired images aren't hits there either.
    let later = try await job.runJob("--set", "cache.max-age=0s", "--cache-directory", "new")
    #expect(later.totals["downloaded"] == 6, "\(later.totals)")
  }

  @Test(arguments: [false, true]) func `an app's files are hits, with and without an extension`(hasExtension: Bool) async throws {
    let origin = try makeImageOrigin()
    let urls = imageURLs(origin, 0..<3)
    let job = JobFolder(urls: urls, keys: "cache: {read-only: [app]}")
    for (number, url) in urls.dropLast().enumerated() {
      job.folder.write(SampleImages.jpeg(number), to: "app/\(try await md5(url))\(hasExtension ? ".jpg" : "")")
    }
    let run = try await job.runJob()
    #expect(run.totals["hit_disk"] == 2 && run.totals["downloaded"] == 1, "\(run.totals)")
    #expect(origin.requests.map(\.path) == ["/images/2.jpg"])
  }

  @Test func `a missing read-only cache stops the run before the first request`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<2), keys: "cache: {read-only: [missing]}")
    let result = try await job.prewarm("run", "job.yaml")
    #expect(result.status == 1 && result.errorText.contains("/missing"), "\(result.errorText)")
    #expect(origin.requests.isEmpty)
  }

  @Test func `jobs of one run with equal limits share the memory layer`() async throws {
    let origin = try makeImageOrigin()
    let reports = "report: [{json: report.json}, {jsonl: rows.jsonl}]"
    let job = JobFolder(urls: imageURLs(origin, 0..<4), keys: "cache: {memory: {max-cost: 8MiB}}\n\(reports)")
    func write(_ name: String, memory: String) {
      job.folder.write(
        "version: 1\nname: before\nmanifests: [{path: urls.txt}]\ncache: {memory: \(memory)}\nreport: []\n",
        to: name
      )
    }
    write("same.yaml", memory: "{max-cost: 8MiB}")
    write("other.yaml", memory: "{max-cost: 9MiB}")
    let shared = try job.finishedRun(try await job.prewarm("run", "same.yaml", "job.yaml"))
    #expect(shared.status == 0 && shared.totals["hit_memory"] == 4, "\(shared.totals)")
    #expect(shared.rows("hit-memory").count == 4)
    let apart = try job.finishedRun(try await job.prewarm("run", "other.yaml", "job.yaml"))
    #expect(apart.status == 0 && apart.totals["hit_disk"] == 4, "\(apart.totals)")
    #expect(origin.requests.count == 4)
  }

  @Test func `dropped query parameters aren't part of the identity`() async throws {
    let origin = try makeImageOrigin()
    let base = origin.url("/images/1.jpg")
    let same = ["\(base)?w=1&utm_source=mail", "\(base)?utm_source=push&w=1", "\(base)?w=1"]
    let job = JobFolder(urls: same + ["\(base)?w=2"], keys: "cache: {key: {drop-query: [utm_source]}}")
    let run = try await job.runJob("--concurrency", "1")
    #expect(run.status == 0 && origin.requests.count == 2)
    #expect(try await job.expectTrueTotals().count == 2)
    #expect(
      try await job.prewarm("cache", "get", "\(base)?w=1&utm_source=other", "--job", "job.yaml").output == SampleImages.jpeg(1)
    )
    #expect(try await job.prewarm("cache", "get", "\(base)?w=1&utm_source=other").status == 1)
    let without = try await job.runJob("--set", "cache.key=url-without-query", "--namespace", "other", "--concurrency", "1")
    #expect(without.status == 0 && origin.requests.count == 3)
    #expect(try await job.statistics("--namespace", "other").entries == 1)
  }

  @Test func `verify-hits finds a changed byte, reports it and fetches the image again`() async throws {
    let origin = try makeImageOrigin()
    let urls = imageURLs(origin, 0..<4)
    let job = JobFolder(urls: urls)
    #expect(try await job.runJob().status == 0)
    try job.flipByte(of: SampleImages.jpeg(2))
    #expect(try await job.runJob().totals["hit_disk"] == 4)
    let verified = try await job.runJob("--verify-hits")
    #expect(verified.status == 0 && verified.totals["hit_disk"] == 3 && verified.totals["downloaded"] == 1, "\(verified.totals)")
    #expect((verified.report["warnings"] as? [String])?.isEmpty == false)
    #expect(origin.requests.count == 5)
    #expect(try await job.prewarm("cache", "get", urls[2]).output == SampleImages.jpeg(2))
    #expect(try await job.runJob("--verify-hits").totals["hit_disk"] == 4)
    #expect(try await job.expectTrueTotals().count == 4)
  }
}
