import TestOrigin
import TestSupport
import Testing

/// A wrong or jumping clock: nothing is lost, no time is negative, and no wait is endless.
@Suite struct ClockTests {
  private let origin = makeImageOrigin()

  @Test(arguments: [-2 * 86_400, -120, 120, 2 * 86_400])
  func `a clock that was set back or forward loses no image`(offset: Int) async throws {
    let job = try await JobFolder.warmed(urls: imageURLs(origin, 0..<5))
    let run = try await job.runAtWrongTime(offset)
    // Seen from far back, they are from the future.
    #expect(run.status == 0 && run.loaded == 5 && (run.totals["hit_disk"] == 5) == (offset > -300), "\(run.totals)")
    // Images stored by a clock that was behind are hits when it is right again.
    job.write(urls: imageURLs(origin, 5..<10))
    #expect(try await job.runAtWrongTime(offset).totals["downloaded"] == 5)
    let later = try await job.runJob()
    #expect(later.loaded == 5 && (later.totals["hit_disk"] == 5) == (offset < 300))
    #expect(try await job.expectTrueTotals().count == 10)
  }

  @Test func `images and failures from the future count as expired, with a warning, until they are requested again`() async throws
  {
    origin.set("/gone.jpg", .status(404))
    let job = JobFolder(urls: imageURLs(origin, 0..<5) + [origin.url("/gone.jpg")], keys: "cache: {max-age: 7d}")
    #expect(try await job.runAtWrongTime(10 * 365 * 86_400).status == 2)
    let statistics = try await job.prewarm("cache stats --job job.yaml").outputText
    #expect(statistics.contains("none, 5 expired (5 stored in the future, while the clock was wrong)"), "\(statistics)")
    #expect(try await job.prewarm("blacklist list --job job.yaml").outputText.contains("expired"))
    let url = imageURLs(origin, 0..<1)[0]
    #expect(try await job.prewarm("explain", url, "--job", "job.yaml").outputText.contains("in the future"))
    origin.set("/gone.jpg", .jpeg(9))
    let next = try await job.runJob()
    #expect(next.status == 0 && next.loaded == 6 && next.totals["hit_disk"] == 0 && origin.requests.count == 12, "\(next.totals)")
    #expect((next.report["warnings"] as? [String])?.contains { $0.contains("from the future") } == true)
    // From then on the times are right.
    let last = try await job.runJob()
    #expect(last.totals["hit_disk"] == 6 && last.report["warnings"] as? [String] == [])
  }

  @Test func `trimming removes images and failures from the future`() async throws {
    origin.set("/gone.jpg", .status(404))
    let job = JobFolder(urls: imageURLs(origin, 0..<5) + [origin.url("/gone.jpg")], keys: "cache: {max-age: 7d}")
    #expect(try await job.runAtWrongTime(10 * 365 * 86_400).status == 2)
    job.write(urls: imageURLs(origin, 5..<6))
    #expect(try await job.runJob().status == 0)
    #expect(try await job.expectTrueTotals().count == 1)
    #expect(try await job.prewarm("blacklist list --job job.yaml").output.isEmpty)
  }

  @Test func `a clock that jumps during the run changes neither outcomes nor durations`() async throws {
    origin.set("/stall.jpg", .stall)
    let urls = imageURLs(origin, 0..<50) + [origin.url("/stall.jpg")]
    let job = JobFolder(urls: urls, keys: "request: {retries: 1, stall-timeout: 3s, backoff: {initial: 1ms, maximum: 2ms}}")
    let run = try await job.runAtWrongTime(-86_400, jumps: true)
    #expect(run.status == 2 && run.totals["downloaded"] == 50 && run.failuresByKind == ["stalled": 1], "\(run.totals)")
    let duration = try #require(run.report["duration_seconds"] as? Double)
    #expect(duration > 1 && duration < 3600)
  }
}

extension JobFolder {
  /// Runs the job with a clock that is wrong by that many seconds; with `jumps`, only at every second reading.
  fileprivate func runAtWrongTime(_ offset: Int, jumps: Bool = false) async throws -> Run {
    let clock: [String: String?] = ["PREWARM_CLOCK_OFFSET": "\(offset)", "PREWARM_CLOCK_JUMPS": jumps ? "1" : nil]
    return try finishedRun(try await startPreloaded(.clock, environment: clock).wait())
  }
}
