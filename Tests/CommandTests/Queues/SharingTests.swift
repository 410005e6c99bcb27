import RedisClient
import TestOrigin
import TestSupport
import Testing

/// Workers that come when another holds all that is in the queue, of a host that is slow.
@Suite struct SharingTests {
  private static let keys = "prefetch: {concurrency: 32, per-host: 8}\nrequest: {retries: 0}"

  @Test(arguments: [(workers: 2, entries: 200), (workers: 4, entries: 320)])
  func workersThatComeLaterGetTheirPartOfASlowHost(workers: Int, entries: Int) async throws {
    let origin = try makeImageOrigin()
    let gate = origin.holdAll()
    let scene = try await QueueScene(urls: imageURLs(origin, 0..<entries), keys: Self.keys)
    #expect(try await scene.enqueue().wait().status == 0)
    let first = try scene.worker(0)
    try await gate.waitForWaiting(8)
    let connection = try scene.connect()
    try await poll("all to be held") {
      let pending = try connection.command(["XPENDING", "{prewarm:default}:normal", "workers"]).array
      return pending?.first?.integer == Int64((entries + 63) / 64)
    }
    let others = try (1..<workers).map { try scene.worker($0) }
    // Nothing of the host is answered: what others do of it the first one has given back.
    try await gate.waitForWaiting(8 * workers)
    gate.open()
    let run = try await scene.report()
    for worker in [first] + others { #expect(try await worker.wait().status == 0) }
    #expect(run.totals["downloaded"] == entries && run.rows.count == entries && run.status == 0)
    #expect(origin.requests.count == entries)
  }
}
