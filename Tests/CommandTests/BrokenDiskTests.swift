import Foundation
import TestOrigin
import TestSupport
import Testing

/// A disk that becomes full, and a cache that is deleted, during a run.
@Suite struct BrokenDiskTests {
  @Test(
    .enabled(if: TemporaryMount.isAllowed, "needs the right to mount"),
    arguments: [20_000, 300_000],
    [4, 100]
  )
  func `on a full disk the run stops, and the cache stays readable`(padding: Int, concurrency: Int) async throws {
    let mount = try TemporaryMount(byteCount: 1 << 20)
    let origin = try makeImageOrigin()
    origin.setFallback { request in
      let number = Int(request.path.dropFirst("/images/".count).prefix { $0 != "." }) ?? 0
      return .body(SampleImages.jpeg(number, padding: padding), type: "image/jpeg")
    }
    let keys = "cache: {directory: \(mount.directory.path)}\nprefetch: {concurrency: \(concurrency), per-host: \(concurrency)}"
    let job = JobFolder(urls: imageURLs(origin, 0..<100), keys: keys)
    let gate = origin.holdAll()
    let command = try job.startJob(isHeld: true)
    try await gate.waitForWaiting(concurrency)
    gate.open()
    let run = try job.finishedRun(try await command.wait())
    #expect(run.status == 1, "\(run.result.errorText)")
    #expect(run.totals["urls"] == 100 && run.sumOfTotals == 100 && run.rows.count == 100)
    let downloaded = run.rows("downloaded").map(\.url)
    #expect(downloaded.count > 0 && run.rows("cancelled").count == 100 - downloaded.count)
    for message in Set(run.rows("cancelled").compactMap(\.message)) { expectGolden(message) }

    #expect(Set(try await job.expectTrueTotals("--job", "job.yaml").map(\.url)) == Set(downloaded))
    let hits = try await job.runJob("--cache-mode", "only")
    #expect(Set(hits.rows("hit-disk").map(\.url)) == Set(downloaded))
    let number = try #require(downloaded.last?.split(separator: "/").last?.split(separator: ".").first.flatMap { Int($0) })
    let got = try await job.prewarm("cache", "get", downloaded.last!, "--job", "job.yaml")
    #expect(got.output == SampleImages.jpeg(number, padding: padding))
  }

  @Test func `if the cache is deleted during a run, it stops with a message, and the next run recreates it`() async throws {
    let origin = try makeImageOrigin()
    let gate = origin.holdAll()
    let job = JobFolder(urls: imageURLs(origin, 0..<50), keys: "prefetch: {concurrency: 4, per-host: 4}")
    let command = try job.startJob(isHeld: true)
    try await gate.waitForWaiting(4)
    gate.step(10)
    try await origin.waitForRequests(14)
    try FileManager.default.removeItem(atPath: job.cacheDirectory)
    gate.open()
    let run = try job.finishedRun(try await command.wait())
    #expect(run.status == 1, "\(run.result.errorText)")
    #expect(run.totals["urls"] == 50 && run.sumOfTotals == 50)
    #expect(run.rows("cancelled").count >= 30)
    for message in Set(run.rows("cancelled").compactMap(\.message)) { expectGolden(message) }
    let again = try await job.runJob()
    #expect(again.status == 0 && again.totals["downloaded"] == 50)
    #expect(try await job.expectTrueTotals().count == 50)
  }
}
