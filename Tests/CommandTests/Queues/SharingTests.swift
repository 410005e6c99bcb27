import RedisClient
import TestOrigin
import TestSupport
import Testing

/// Workers that start when another one holds all of the queue, of a slow host.
@Suite struct SharingTests {
  private static let keys = "prefetch: {concurrency: 32, per-host: 8}\nrequest: {retries: 0, timeout: none, stall-timeout: none}"

  @Test("late workers get their part of a slow host", arguments: [(workers: 2, entries: 200), (workers: 4, entries: 320)])
  func workersThatComeLaterGetTheirPartOfASlowHost(workers: Int, entries: Int) async throws {
    let (origin, gate, scene) = try await makeHeldQueue(entries)
    let first = try scene.worker(0)
    try await gate.waitForWaiting(8)
    let connection = try scene.connect()
    try await poll("all to be held") {
      let pending = try connection.command(["XPENDING", "{prewarm:default}:normal", "workers"]).array
      return pending?.first?.integer == Int64((entries + 63) / 64)
    }
    let others = try (1..<workers).map { try scene.worker($0) }
    // The host hasn't responded: other workers can only process messages that the first one has given back.
    try await gate.waitForWaiting(8 * workers)
    gate.open()
    let run = try await scene.report()
    for worker in [first] + others { #expect(try await worker.wait().status == 0) }
    #expect(run.totals["downloaded"] == entries && run.rows.count == entries && run.status == 0, "\(run.totals)")
    #expect(origin.requests.count == entries)
  }

  @Test("refilling a queue ends its workers at once") func aQueueThatIsFilledAnewEndsItsWorkersAtOnce() async throws {
    let (origin, gate, scene) = try await makeHeldQueue(200)
    let worker = try scene.worker()
    try await gate.waitForWaiting(8)
    scene.job.write(urls: imageURLs(origin, 500..<501))
    #expect(try await scene.enqueue("--replace").wait().status == 0)
    // Requests in flight get no response, and are abandoned after their grace period.
    let ended = try await worker.wait()
    #expect(ended.status == 1, "\(ended.errorText)")
    expectGolden(ended.errorText)
    #expect(origin.requests.count == 8)
    gate.open()
  }

  @Test("entries that others have taken over aren't started") func whatOthersHaveTakenOverIsNotBegun() async throws {
    let (origin, gate, scene) = try await makeHeldQueue(192)
    let worker = try scene.worker(0, "--take-over-after", "1s")
    try await gate.waitForWaiting(8)
    // Another worker has finished the last message.
    let connection = try scene.connect()
    try finish(["3-0"], connection)
    let time = try connection.command(["TIME"]).array?.first?.integer ?? 0
    try await poll("two renewals") {
      let seen = try connection.command(["ZRANGE", "{prewarm:default}:workers", 0, 0, "WITHSCORES"]).array
      return seen?.last?.integer ?? 0 > time + 1
    }
    gate.open()
    let ended = try await worker.wait()
    #expect(ended.status == 0, "\(ended.outputText)")
    expectGolden(ended.outputText.timeless.lines(with: " 128 URLs"), for: "finished")
    expectGolden(ended.outputText.lines(with: "1 message"), for: "taken over")
    #expect(origin.requests.count == 128)
  }

  @Test("a worker ends if others have finished everything") func whereOthersHaveFinishedAllAWorkerEnds() async throws {
    let (origin, gate, scene) = try await makeHeldQueue(192)
    let worker = try scene.worker(0, "--take-over-after", "1s")
    try await gate.waitForWaiting(8)
    try finish(["1-0", "2-0", "3-0"], try scene.connect())
    let ended = try await worker.wait()
    #expect(ended.status == 0, "\(ended.outputText)")
    expectGolden(ended.outputText.timeless.lines(with: " 0 URLs"))
    #expect(origin.requests.count == 8)
    gate.open()
  }

  /// A queue with that many images, of an origin that holds every response.
  private func makeHeldQueue(_ count: Int) async throws -> (Origin, Gate, QueueScene) {
    let origin = try makeImageOrigin()
    let gate = origin.holdAll()
    let scene = try await QueueScene(urls: imageURLs(origin, 0..<count), keys: Self.keys)
    #expect(try await scene.enqueue().wait().status == 0)
    return (origin, gate, scene)
  }

  /// Removes messages as if another worker had taken them over and finished them.
  private func finish(_ ids: [RedisArgument], _ connection: RedisConnection) throws {
    let stream: RedisArgument = "{prewarm:default}:normal"
    #expect(try connection.command(["XACK", stream, "workers"] + ids) == .integer(Int64(ids.count)))
    #expect(try connection.command(["XDEL", stream] + ids) == .integer(Int64(ids.count)))
  }
}
