import TestOrigin
import TestSupport
import Testing

@Suite struct HostDownSoakTests {
  @Test func `a closed port fails within its retries, and its other URLs without a request`() async throws {
    let port = RefusedPort()
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: (0..<200).map { port.url("/\($0).jpg") } + imageURLs(origin, 0..<20), keys: "request: {retries: 1}")
    let run = try await job.runJob()
    #expect(run.status == 2 && run.totals["downloaded"] == 20 && run.totals["failed"] == 200, "\(run.totals)")
    #expect(run.failuresByKind["host-down", default: 0] >= 160, "\(run.failuresByKind)")
    let message = try #require(run.rows.last { $0.kind == "host-down" }?.message)
    #expect(message.hasSuffix("connection refused"), "\(message)")
    withExtendedLifetime(port) {}
  }
}
