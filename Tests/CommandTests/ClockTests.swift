import TestOrigin
import TestSupport
import Testing

/// A wrong or jumping clock: nothing is lost, no time is negative, and no wait is endless.
@Suite struct ClockTests {
  @Test("a clock that was set back or forward loses no image", arguments: [-2 * 86_400, -3600, 3600, 2 * 86_400])
  func aCalendarThatWasSetLosesNoImage(offset: Int) async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<5))
    #expect(try await job.runJob().totals["downloaded"] == 5)
    let run = try await job.runAtWrongTime(offset)
    #expect(run.status == 0 && run.totals["hit_disk"] == 5 && origin.requests.count == 5, "\(run.totals)")
    // Images stored while the clock is wrong are hits when it is right again.
    job.write(urls: imageURLs(origin, 5..<10))
    #expect(try await job.runAtWrongTime(offset).totals["downloaded"] == 5)
    #expect(try await job.runJob().totals["hit_disk"] == 5)
    #expect(try await job.expectTrueTotals().count == 10)
  }

  @Test("a clock that jumps during the run changes neither outcomes nor durations")
  func aCalendarThatJumpsChangesNothing() async throws {
    let origin = try makeImageOrigin()
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
    let reports = ["--report", "json=report.json", "--report", "jsonl=rows.jsonl"]
    let clock: [String: String?] = ["PREWARM_CLOCK_OFFSET": "\(offset)", "PREWARM_CLOCK_JUMPS": jumps ? "1" : nil]
    return try finishedRun(try await startPreloaded(.clock, reports, environment: clock).wait())
  }
}
