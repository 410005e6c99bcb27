import ImageDownloading
import ImageManaging
import Base
import Reports
import TestOrigin
import TestSupport
import Testing
import Jobs

/// Whole jobs over hosts that are down, with shorter pauses than the defaults.
@Suite struct HostDownRunTests {
  private let runs = JobRuns()

  private let impatient = {
    var configuration = ImageManager.Configuration()
    configuration.downloader.circuitBreaker = CircuitBreaker(failures: 5, batchPause: .milliseconds(10), batchTries: 3)
    return configuration
  }()

  @Test func `a host that is down gets few requests, its other URLs fail as host-down, and other hosts aren't delayed`() throws {
    let port = RefusedPort()
    let origin = try Origin(fallback: .body(SampleImages.jpeg(1), type: "image/jpeg"))
    let urls = (0..<500).map { port.url("/\($0).jpg") } + (0..<20).map { origin.url("/\($0).jpg") }
    let keys = "prefetch: {per-host: 1}\nrequest: {retries: 0}"
    let (report, _, json) = try runs.run(runs.job(urls: urls, keys: keys), by: impatient)
    #expect(report.totals.downloaded == 20 && report.totals.failed == 500 && report.exitStatus == .beyondLimits)
    // Five in a row, since nothing is retried.
    #expect(json["failures_by_kind"] as? [String: Int] == ["connect": 5, "host-down": 495])
    #expect(report.failureGroups.map(\.kind) == [.hostDown, .connect])
    #expect(report.end.blacklist?.entries == 0)
    withExtendedLifetime(port) {}
  }

  @Test func `a host that returns during its pause gets all remaining requests`() throws {
    let origin = try Origin()
    origin.setFallback { $0.sequence <= 6 ? .close : .body(SampleImages.jpeg($0.sequence), type: "image/jpeg") }
    let job = try runs.job(urls: (0..<100).map { origin.url("/\($0).jpg") }, keys: "prefetch: {per-host: 1}")
    let report = try runs.run(job, by: impatient).report
    #expect(report.totals.failed == 6 && report.totals.downloaded == 94)
    #expect(try runs.run(job, by: impatient).report.totals.hitDisk == 94)
  }
}
