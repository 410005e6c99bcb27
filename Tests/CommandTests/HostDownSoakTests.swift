import TestOrigin
import TestSupport
import Testing

@Suite struct HostDownSoakTests {
  @Test(
    "a host that stays down is paused three times, and then its other URLs fail without a request",
    .enabled(if: SoakCounts.isLong, "takes a minute and a half")
  )
  func aDeadHostIsGivenUp() async throws {
    let port = RefusedPort()
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: (0..<200).map { port.url("/\($0).jpg") } + imageURLs(origin, 0..<20), keys: "request: {retries: 0}")
    let run = try await job.runJob()
    #expect(run.status == 2 && run.totals["downloaded"] == 20 && run.totals["failed"] == 200, "\(run.totals)")
    // Twenty in a row, those that had begun by then, and three that tried it.
    let asked = run.failuresByKind["connect"] ?? 0
    #expect((23...31).contains(asked) && run.failuresByKind["host-down"] == 200 - asked, "\(run.failuresByKind)")
    let message = try #require(run.rows.last { $0.kind == "host-down" }?.message)
    #expect(message.contains("is not asked any more in this run, since it did nothing but fail"), "\(message)")
    #expect(message.contains("Connection refused") && message.contains("a later run asks again"), "\(message)")
    withExtendedLifetime(port) {}
  }
}
