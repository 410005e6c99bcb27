import Foundation
import RedisClient
import TestOrigin
import TestSupport
import Testing

/// Four workers of one queue, some of which are killed at random moments, as is the server.
///
/// A moment is when a random number of entries is final. A killed worker is replaced by another one with its cache.
@Suite struct QueueSoakTests {
  private enum Event {
    case killWorker, restartRedis
  }

  @Test("each entry is reported once, whatever is killed") func eachEntryIsReportedOnceWhateverIsKilled() async throws {
    var random = SeededRandom(seed: SoakCounts.seed)
    let comment: Comment = "seed \(SoakCounts.seed)"
    let origin = try makeImageOrigin(hosts: 4)
    let urls = (0..<SoakCounts.entries).map { number in
      origin.url("/\(number % 25 == 0 ? "missing" : "images")/\(number).jpg", host: number % 4)
    }
    let scene = try await QueueScene(urls: urls, keys: "prefetch: {concurrency: 16, rate: 250/s}\nrequest: {retries: 0}")
    #expect(try await scene.enqueue().wait().status == 0)
    let waiting = try scene.enqueue("--wait")
    var workers = try (0..<4).map { try scene.worker($0, "--take-over-after", "1s") }
    var killed = 0
    for (moment, event) in events(&random) {
      try await waitUntilFinal(moment, scene)
      switch event {
      case .killWorker:
        let victim = Int.random(in: 0..<workers.count, using: &random)
        workers[victim].kill()
        if try await workers[victim].wait().ending == .signalled(SIGKILL) { killed += 1 }
        workers[victim] = try scene.worker(victim, "--take-over-after", "1s")
      case .restartRedis: try await scene.redis.restart()
      }
    }
    let run = try scene.job.finishedRun(try await waiting.wait(timeout: .seconds(SoakCounts.isLong ? 1800 : 120)))
    for worker in workers { #expect(try await worker.wait().status == 0, comment) }
    // With few entries, all may be done before all are killed.
    if SoakCounts.isLong { #expect(killed == SoakCounts.workerKills, comment) }
    #expect(run.status == 2 && run.totals["urls"] == urls.count && run.sumOfTotals == urls.count, "\(run.totals) \(comment)")
    #expect(run.rows.count == urls.count, comment)
    #expect(Set(run.rows.map(\.url)) == Set(urls), comment)
    #expect(run.rows.count { $0.status == 404 } == urls.count { $0.contains("missing") }, comment)
  }

  /// An event that happens when that many entries are final.
  private func events(_ random: inout SeededRandom) -> [(Int, Event)] {
    let kinds =
      Array(repeating: Event.killWorker, count: SoakCounts.workerKills)
      + Array(repeating: .restartRedis, count: SoakCounts.redisRestarts)
    return kinds.map { (Int.random(in: 1..<SoakCounts.entries * 8 / 10, using: &random), $0) }.sorted { $0.0 < $1.0 }
  }

  private func waitUntilFinal(_ count: Int, _ scene: QueueScene) async throws {
    let connection = try scene.connect()
    try await poll("\(count) entries to be final", timeout: .seconds(600)) {
      (try connection.command(["HGET", "{prewarm:default}:totals", "entries"]).integer ?? 0) >= count
    }
  }
}
