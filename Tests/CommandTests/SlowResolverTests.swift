import TestOrigin
import TestSupport
import Testing

/// A resolver that fails or hangs for some names.
@Suite struct SlowResolverTests {
  @Test func `a name that never resolves delays no other host and fails as dns within its time limit`() async throws {
    let origin = makeImageOrigin()
    let asleep = (0..<20).map { "http://host\($0).asleep/a.jpg" }
    let down = (0..<20).map { "http://host\($0).down/a.jpg" }
    let urls = asleep + down + imageURLs(origin, 0..<100)
    let job = JobFolder(urls: urls, keys: "request: {retries: 0, connect-timeout: 5s}\nprefetch: {concurrency: 32}")
    let command = try job.startPreloaded(.resolver)
    // All images arrive while the names are still being looked up.
    try await origin.waitForRequests(100)
    let run = try job.finishedRun(try await command.wait())
    #expect(run.status == 2 && run.totals["downloaded"] == 100 && run.failuresByKind == ["dns": 40], "\(run.failuresByKind)")
    let first = try #require(run.rows.firstIndex { $0.url.contains(".asleep") })
    #expect(run.rows[..<first].count { $0.outcome == "downloaded" } == 100, "an image waited for a name")
  }

  /// Each host has its own name and address, with one listener for all of them.
  @Test(arguments: [SoakCounts.isLong ? 10_000 : 1000])
  func `many hosts don't each need memory or descriptors`(hosts: Int) async throws {
    let folder = TemporaryDirectory()
    folder.write(SampleImages.jpeg(1), to: "a.jpg")
    let port = freePort()
    let nginx = try await Nginx(serving: folder.path, directives: "listen 0.0.0.0:\(port) backlog=4096;", logsRequests: false)
    defer { nginx.stop() }
    let job = JobFolder(urls: (0..<hosts).map { "http://h\($0).many:\(port)/a.jpg" }, keys: "prefetch: {concurrency: 32}")
    let command = try job.startPreloaded(.resolver, after: "ulimit -n 512")
    let run = try job.finishedRun(try await command.wait())
    #expect(run.status == 0 && run.totals["downloaded"] == hosts, "\(run.totals) \(run.failuresByKind)")
    #expect((run.report["peak_memory_bytes"] as? Int ?? .max) < 100 << 20)
    #expect(
      (run.report["hosts"] as? [Any])?.count == min(hosts, 1000) && run.report["hosts_omitted"] as? Int == max(0, hosts - 1000)
    )
  }
}
