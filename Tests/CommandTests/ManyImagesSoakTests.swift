import TestOrigin
import TestSupport
import Testing

@Suite(.serialized) struct ManyImagesSoakTests {
  @Test(arguments: ["fifo", "lifo"], [1, 8])
  func `the second run over many images has only hits and makes no request`(order: String, threads: Int) async throws {
    let count = SoakCounts.images
    let folder = TemporaryDirectory()
    let paths = SampleImages.writeTree(count, in: folder)
    let nginx = try await Nginx(serving: folder.path)
    let job = JobFolder(
      urls: paths.map { nginx.url("/\($0)") },
      keys: "prefetch: {order: \(order), concurrency: 32, per-host: 32, threads: \(threads)}"
    )
    let cold = try await job.runJob()
    #expect(cold.status == 0)
    #expect(cold.totals["downloaded"] == count && cold.sumOfTotals == count && cold.rows.count == count)
    try await nginx.waitForRequests(count)
    let hot = try await job.runJob()
    #expect(hot.status == 0)
    #expect(hot.totals["hit_disk"] == count && hot.sumOfTotals == count && hot.rows.count == count)
    #expect(nginx.requestCount == count)
    #expect(try await job.statistics().entries == count)
  }
}
