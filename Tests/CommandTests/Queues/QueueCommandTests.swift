import Foundation
import RedisClient
import TestOrigin
import TestSupport
import Testing

/// `prewarm enqueue` and `prewarm worker` over a real Redis server.
@Suite struct QueueCommandTests {
  /// Good and bad images of two hosts with three priorities, and invalid and filtered rows.
  private static let keys = """
    prefetch: {concurrency: 16, per-host: 16}
    request: {retries: 0, timeout: 10m, stall-timeout: 10m}
    """

  private func makeURLs(_ origin: Origin, _ count: Int) -> [String] {
    (0..<count).map { number in
      switch number % 20 {
      case 3: origin.url("/missing/\(number).jpg", host: number % 2)
      case 7: origin.url("/text/\(number).jpg")
      default: origin.url("/images/\(number).jpg", host: number % 2)
      }
    } + ["no url at all", "ftp://127.0.0.1/a.jpg"]
  }

  private func makeOrigin() throws -> Origin {
    let origin = try Origin(addresses: [.ipv4, .ipv4])
    origin.setFallback { request in
      if request.path.hasPrefix("/text/") { return .body(Array("<html>no image</html>".utf8), type: "image/jpeg") }
      guard let number = Int(request.path.dropFirst("/images/".count).prefix { $0 != "." }) else { return .status(404) }
      return .body(SampleImages.jpeg(number), type: "image/jpeg")
    }
    return origin
  }

  @Test("a worker and a waiting enqueue report the same as a run") func aWorkerAndAWaitTellTheSameAsARun() async throws {
    let origin = try makeOrigin()
    let scene = try await QueueScene(
      urls: makeURLs(origin, 300),
      keys: Self.keys + "\nmanifests: [{path: urls.txt, exclude: ['*/1?5.jpg']}]"
    )
    scene.job.folder.write(
      "version: 1\nname: test\nmanifests: [{path: urls.txt, exclude: ['*/1?5.jpg']}, {urls: [\(origin.url("/images/900.jpg"))], priority: high}]\n"
        + Self.keys + "\nreport: [{json: report.json}, {jsonl: rows.jsonl}]\n",
      to: "job.yaml"
    )
    let expected = try await scene.run()
    #expect(expected.totals["urls"] == 303)
    let filled = try await scene.enqueue().wait()
    #expect(filled.status == 0, "\(filled.errorText)")
    expectGolden(filled.errorText)
    let worker = try await scene.worker().wait()
    #expect(worker.status == 0, "\(worker.errorText)")
    expectGolden(worker.outputText.timeless.lines(with: "303"))
    let run = try await scene.report()
    #expect(run.status == expected.status)
    #expect(run.facts == expected.facts)
    #expect(run.rows.map(\.url).sorted() == expected.rows.map(\.url).sorted())
    #expect(run.section("job")["name"] as? String == "test")
  }

  @Test("a list that fails midway ends enqueue as it ends a run") func aListThatBreaksOffEndsTheReadingAsItEndsARun() async throws
  {
    let origin = try makeOrigin()
    let scene = try await QueueScene(urls: makeURLs(origin, 20))
    let folder = scene.job.folder
    folder.write("<urlset><url><loc>\(origin.url("/about"))</loc></url></urlset>", to: "pages.xml")
    folder.write(makeURLs(origin, 20).joined(separator: "\n"), to: "more.txt")
    _ = try await Command.run("/bin/gzip", [folder.file("more.txt")])
    let packed = try #require(folder.read("more.txt.gz"))
    folder.write(packed.prefix(40), to: "more.txt.gz")
    folder.write(
      """
      version: 1
      name: test
      manifests: [{path: urls.txt}, {path: pages.xml, pages: false}, {path: more.txt.gz}, {urls: ['\(origin.url("/images/900.jpg"))']}]
      \(Self.keys)
      report: [{json: report.json}, {jsonl: rows.jsonl}]
      """,
      to: "job.yaml"
    )
    let expected = try await scene.run()
    #expect(expected.status == 1 && (expected.totals["urls"] ?? 0) >= 22)

    let filled = try await scene.enqueue().wait()
    #expect(filled.status == 1, "\(filled.errorText)")
    expectGolden(filled.errorText, for: "so far")
    expectGolden(filled.errorText, for: "reason")
    #expect(try await scene.worker().wait().status == 0)
    let run = try await scene.report()
    #expect(run.status == 1 && run.facts == expected.facts)
    for key in ["breakage", "warnings", "manifests_read", "exit_status"] {
      #expect("\(run.report[key] ?? "none")" == "\(expected.report[key] ?? "none")")
    }

    // It is reported, so that the next attempt reads the lists again.
    folder.write(packed, to: "more.txt.gz")
    let whole = try await scene.enqueue().wait()
    #expect(whole.status == 0, "\(whole.errorText)")
    expectGolden(whole.errorText)
  }

  @Test("an unreadable list is read again") func aListOfWhichNothingCanBeReadIsTriedAgain() async throws {
    let origin = try makeOrigin()
    let scene = try await QueueScene(urls: [])
    scene.job.folder.write(
      "version: 1\nname: test\nmanifests: [{url: '\(origin.url("/list.txt"))'}]\nrequest: {retries: 0}\n",
      to: "job.yaml"
    )
    let failed = try await scene.enqueue().wait()
    #expect(failed.status == 1 && failed.errorText.contains("list.txt"), "\(failed.errorText)")
    origin.set("/list.txt", .body(Array(origin.url("/images/901.jpg").utf8), type: "text/plain"))
    let whole = try await scene.enqueue().wait()
    #expect(whole.status == 0, "\(whole.errorText)")
    expectGolden(whole.errorText)
  }

  @Test("four workers share a queue and report each entry once") func fourWorkersShareAQueueAndReportEachEntryOnce() async throws
  {
    let origin = try makeOrigin()
    let scene = try await QueueScene(urls: makeURLs(origin, 600), keys: Self.keys)
    let workers = try (0..<4).map { try scene.worker($0) }
    let run = try await scene.report()
    for worker in workers { #expect(try await worker.wait().status == 0) }
    #expect(run.totals["urls"] == 602 && run.sumOfTotals == 602 && run.totals["downloaded"] == 540, "\(run.failuresByKind)")
    #expect(Set(run.rows.map { "\($0.manifest):\($0.line ?? 0)" }).count == 602)
    #expect(run.status == 2)
  }

  @Test("each variant is reported") func variantsAreEachReported() async throws {
    let origin = try makeOrigin()
    let keys = "request: {variants: {small: {X-Size: small}, large: {X-Size: large}}, retries: 0}"
    let scene = try await QueueScene(urls: [origin.url("/images/1.jpg"), origin.url("/missing/2.jpg"), "bad"], keys: keys)
    let expected = try await scene.run()
    let worker = try scene.worker()
    let run = try await scene.report()
    #expect(try await worker.wait().status == 0)
    #expect(run.facts == expected.facts)
    #expect(run.totals["urls"] == 5)
  }

  @Test("another worker replaces a killed one") func aWorkerThatWasKilledIsReplacedByAnother() async throws {
    let origin = try makeOrigin()
    let gate = origin.holdAll()
    let scene = try await QueueScene(urls: makeURLs(origin, 300), keys: Self.keys)
    #expect(try await scene.enqueue().wait().status == 0)
    let victim = try scene.worker(0)
    try await gate.waitForWaiting(16)
    gate.step(100)
    try await origin.waitForRequests(100)
    victim.kill()
    #expect(try await victim.wait().ending == .signalled(SIGKILL))
    gate.open()
    let survivor = try scene.worker(1, "--take-over-after", "1s")
    let run = try await scene.report()
    #expect(try await survivor.wait().status == 0)
    #expect(run.totals["urls"] == 302 && run.sumOfTotals == 302 && run.rows.count == 302)
    #expect(Set(run.rows.map { $0.line }).count == 302)
  }

  @Test("a stopped worker returns its unfinished entries") func aStoppedWorkerGivesBackWhatItHasNotFinished() async throws {
    let origin = try makeOrigin()
    let gate = origin.holdAll()
    let scene = try await QueueScene(urls: (0..<100).map { origin.url("/images/\($0).jpg") }, keys: Self.keys)
    #expect(try await scene.enqueue().wait().status == 0)
    let stopped = try scene.worker(0)
    try await gate.waitForWaiting(16)
    stopped.send(SIGTERM)
    try await stopped.waitForError("transfers have 5 s to finish")
    gate.open()
    let ended = try await stopped.wait()
    #expect(ended.status == 143, "\(ended.outputText)")
    expectGolden(ended.outputText.timeless.lines(with: " 0 URLs"))
    // Of two messages one was started: its 64 entries are given back one by one, and neither message counts as
    // delivered.
    let connection = try scene.connect()
    let pending = try connection.command(["XPENDING", "{prewarm:default}:normal", "workers", "-", "+", "10"]).array ?? []
    #expect(pending.compactMap { $0.array?.last?.integer } == [0])
    #expect(try connection.command(["XLEN", "{prewarm:default}:normal:retry"]).integer == 64)
    // Another worker doesn't have to wait until leases end.
    let other = try scene.worker(1, "--take-over-after", "1h")
    let run = try await scene.report()
    #expect(try await other.wait().status == 0)
    #expect(run.totals["downloaded"] == 100 && run.rows.count == 100 && run.status == 0)
  }

  @Test("workers survive a restart of Redis") func redisMayDieAndComeBack() async throws {
    let origin = try makeOrigin()
    let gate = origin.holdAll()
    let scene = try await QueueScene(urls: makeURLs(origin, 200), keys: Self.keys)
    #expect(try await scene.enqueue().wait().status == 0)
    let worker = try scene.worker()
    let waiting = try scene.enqueue("--wait")
    try await gate.waitForWaiting(16)
    try await scene.redis.kill()
    gate.step(50)
    try await waiting.waitForError("retrying automatically")
    try await scene.redis.start()
    gate.open()
    let run = try scene.job.finishedRun(try await waiting.wait())
    #expect(try await worker.wait().status == 0)
    #expect(run.totals["urls"] == 202 && run.rows.count == 202 && run.status == 2)
  }

  @Test("a killed enqueue can be resumed") func whoEnqueuesMayBeKilledAndGoOn() async throws {
    let origin = try makeOrigin()
    let scene = try await QueueScene(
      urls: (0..<20_000).map { origin.url("/images/\($0).jpg") },
      keys: Self.keys + "\ncache: {mode: only}"
    )
    let first = try scene.enqueue()
    let connection = try scene.connect()
    try await poll("some messages") {
      (try connection.command(["HGET", "{prewarm:default}:job", "written"]).integer ?? 0) > 20
    }
    first.kill()
    _ = try await first.wait()
    let second = try await scene.enqueue().wait()
    // The first one may have been killed when everything was done.
    #expect(second.status == 0 && second.errorText.contains("20,000 URLs"), "\(second.errorText)")
    let worker = try scene.worker()
    let run = try await scene.report()
    #expect(try await worker.wait().status == 0)
    #expect(run.totals["skipped"] == 20_000 && run.rows.count == 20_000)
    #expect(Set(run.rows.map(\.url)).count == 20_000)
  }

  @Test("a killed waiting enqueue still writes complete reports when resumed")
  func whoWaitsMayBeKilledAndWritesWholeReportsAllTheSame() async throws {
    let origin = try makeOrigin()
    let gate = origin.holdAll()
    let scene = try await QueueScene(urls: makeURLs(origin, 100), keys: Self.keys)
    let waiting = try scene.enqueue("--wait")
    let worker = try scene.worker()
    try await gate.waitForWaiting(16)
    waiting.send(SIGINT)
    let interrupted = try scene.job.finishedRun(try await waiting.wait())
    #expect(interrupted.status == 130 && interrupted.report["interrupted"] as? Bool == true)
    let outstanding = try #require(interrupted.report["outstanding"] as? Int)
    #expect(outstanding >= 100 && interrupted.totals["urls"] == 102 - outstanding)
    let shown = try await scene.job.prewarm("report", "show", "report.json").outputText
    expectGolden(shown.lines(with: "102"))
    gate.open()
    #expect(try await worker.wait().status == 0)
    let run = try await scene.report()
    #expect(run.totals["urls"] == 102 && run.rows.count == 102 && run.status == 2)
    #expect(run.report["interrupted"] as? Bool == false)
  }

  @Test("a queue starts again after its report") func aQueueThatIsReportedOnBeginsAnew() async throws {
    let origin = try makeOrigin()
    let scene = try await QueueScene(urls: [origin.url("/images/1.jpg")], keys: Self.keys)
    for _ in 0..<2 {
      #expect(try await scene.enqueue().wait().status == 0)
      #expect(try await scene.worker().wait().status == 0)
      let again = try await scene.enqueue().wait()
      #expect(again.status == 1, "\(again.errorText)")
      expectGolden(again.errorText)
      #expect(try await scene.report().totals["urls"] == 1)
    }
  }

  @Test("another job requires --replace") func anotherJobNeedsReplace() async throws {
    let origin = try makeOrigin()
    let scene = try await QueueScene(urls: [origin.url("/images/1.jpg")], keys: Self.keys)
    #expect(try await scene.enqueue().wait().status == 0)
    let other = try await scene.enqueue("--order", "lifo").wait()
    #expect(other.status == 1, "\(other.errorText)")
    expectGolden(other.errorText, for: "same file")
    scene.job.folder.write("version: 1\nname: catalog\nmanifests: [{path: urls.txt}]\n", to: "catalog.yaml")
    let third = try await scene.job.prewarm("enqueue", "catalog.yaml", "--queue", scene.redis.url)
    #expect(
      third.status == 1 && third.errorText.contains("'test' (job.yaml)") && third.errorText.contains("'catalog' (catalog.yaml)")
    )
    expectGolden(third.errorText, for: "another file")
    scene.job.write(urls: [origin.url("/images/2.jpg")])
    #expect(try await scene.enqueue("--order", "lifo", "--replace").wait().status == 0)
    #expect(try await scene.worker().wait().status == 0)
    #expect(origin.count(of: "/images/2.jpg") == 1 && origin.count(of: "/images/1.jpg") == 0)
  }

  @Test("queue status shows each queue's job and progress") func queueStatus() async throws {
    let origin = try makeOrigin()
    let scene = try await QueueScene(urls: makeURLs(origin, 20), keys: Self.keys)
    let none = try await scene.job.prewarm("queue", "status", "--queue", scene.redis.url)
    #expect(none.status == 1)
    expectGolden(none.errorText, for: "none")
    #expect(try await scene.enqueue().wait().status == 0)
    let filled = try await scene.job.prewarm("queue", "status", "--queue", scene.redis.url)
    #expect(filled.status == 0, "\(filled.errorText)")
    expectGolden(filled.outputText.replacing(/enqueued .*/, with: "enqueued TIME"), for: "filled")
    #expect(try await scene.worker().wait().status == 0)
    #expect(try await scene.enqueue("--name", "other").wait().status == 0)
    let rows: [QueueRow] = try await scene.job.prewarm("queue", "status", "--queue", scene.redis.url, "--json").rows()
    #expect(rows.map(\.queue) == ["default", "other"] && rows.map(\.state) == ["done", "filled"])
    #expect(rows.allSatisfy { $0.job == "test" && $0.jobFile == "job.yaml" && $0.entries.total == 22 })
    #expect(rows[0].entries == .init(total: 22, waiting: 0, held: 0, done: 22) && rows[0].outcomes["failed"] == 4)
    #expect(rows[1].entries == .init(total: 22, waiting: 22, held: 0, done: 0) && rows[1].workers.isEmpty)
    let one = try await scene.job.prewarm("queue", "status", "--queue", scene.redis.url, "--name", "other", "--json")
    #expect(try one.row(QueueRow.self).queue == "other")
  }

  private struct QueueRow: Decodable {
    struct Entries: Decodable, Equatable {
      let total: Int
      let waiting: Int
      let held: Int
      let done: Int
    }

    struct Worker: Decodable {
      let name: String
    }

    let queue: String
    let job: String?
    let jobFile: String?
    let state: String
    let entries: Entries
    let outcomes: [String: Int]
    let workers: [Worker]
  }

  @Test("a worker with --keep waits for the next job") func aWorkerThatKeepsWaitsForTheNextJob() async throws {
    let origin = try makeOrigin()
    let scene = try await QueueScene(urls: [origin.url("/images/1.jpg")], keys: Self.keys)
    let worker = try scene.worker(0, "--keep")
    try await worker.waitForError("has no job yet: waiting for one")
    #expect(try await scene.report().totals["downloaded"] == 1)
    try await worker.waitForError("has no other job yet: waiting for one")
    scene.job.write(urls: [origin.url("/images/2.jpg")])
    #expect(try await scene.report().totals["downloaded"] == 1)
    worker.send(SIGINT)
    #expect(try await worker.wait().status == 130)
  }

  @Test("a URL that one worker blacklisted isn't requested by another") func whatOneWorkerKnowsToBeBadNoOtherAsksFor()
    async throws
  {
    let origin = try makeOrigin()
    let bad = origin.url("/missing/1.jpg")
    let scene = try await QueueScene(urls: [bad], keys: Self.keys)
    // With two priorities, so that they are in separate messages, which are processed in order.
    scene.job.folder.write(
      "version: 1\nname: test\nmanifests: [{urls: ['\(bad)'], priority: high}, {urls: ['\(bad)'], priority: low}]\n"
        + "report: [{json: report.json}, {jsonl: rows.jsonl}]\n",
      to: "job.yaml"
    )
    #expect(try await scene.enqueue().wait().status == 0)
    let gate = origin.hold("/missing/1.jpg")
    // It takes both messages, reports the first one, and crashes before reporting the second.
    let connection = try scene.connect()
    _ = try connection.command(["XREADGROUP", "GROUP", "workers", "ghost", "COUNT", "1", "STREAMS", "{prewarm:default}:low", ">"])
    let first = try scene.worker(0, "--take-over-after", "1h")
    try await gate.waitForWaiting(1)
    gate.open()
    try await poll("the first to be settled") {
      try connection.command(["HGET", "{prewarm:default}:totals", "entries"]).integer == 1
    }
    first.kill()
    _ = try await first.wait()
    let second = try scene.worker(1, "--take-over-after", "1s")
    let run = try await scene.report()
    #expect(try await second.wait().status == 0)
    #expect(run.totals["failed"] == 1 && run.rows("blacklisted").count == 1, "\(run.totals)")
    #expect(origin.count(of: "/missing/1.jpg") == 1)
  }

  @Test("entries of one host keep their order in LIFO too") func ofOneHostOrderHoldsBackwardsToo() async throws {
    let origin = try makeOrigin()
    let scene = try await QueueScene(
      urls: (0..<100).map { origin.url("/images/\($0).jpg") },
      keys: "prefetch: {order: lifo, concurrency: 1, per-host: 1}"
    )
    let worker = try scene.worker()
    let run = try await scene.report()
    #expect(try await worker.wait().status == 0)
    #expect(origin.requests.map(\.target) == (0..<100).reversed().map { "/images/\($0).jpg" })
    #expect(run.totals["downloaded"] == 100 && run.status == 0)
  }
}
