import Foundation
import RedisClient
import TestOrigin
import TestSupport
import Testing

/// Errors of queues, and their messages.
@Suite struct QueueMistakeTests {
  private let origin: Origin

  init() throws { origin = try makeImageOrigin() }

  @Test("an invalid address exits with 3") func anAddressThatCannotBeMeantIsMisuse() async throws {
    let job = JobFolder(urls: [origin.url("/images/1.jpg")])
    for address in [
      "rediss://user:secret@127.0.0.1", "http://user:secret@127.0.0.1", "redis://user:secret@127.0.0.1/x",
    ] {
      for command in [["enqueue", "job.yaml"], ["worker"]] {
        let result = try await job.start(command + ["--queue", address]).wait()
        #expect(result.status == 3, "\(result.errorText)")
        expectGolden(result.errorText, for: "\(command[0]) \(address)")
        #expect(!result.errorText.contains("secret"))
      }
    }
    for options in [["--name", "a{b}"], ["--take-over-after", "soon"]] {
      #expect(try await job.start(["worker", "--queue", "redis://127.0.0.1"] + options).wait().status == 3)
    }
  }

  @Test("no password is ever shown") func noPasswordIsEverShown() async throws {
    let redis = try await RedisServer(password: "hush-hush")
    let job = JobFolder(urls: [origin.url("/images/1.jpg")], keys: "report: [{json: report.json}]")
    let address = redis.url.replacing("redis://", with: "redis://default:hush-hush@")
    let worker = try job.start(["worker", "--queue", address, "--verbose", "--cache-directory", "own"])
    let waiting = try await job.start(["enqueue", "job.yaml", "--queue", address, "--wait", "--verbose"]).wait()
    let worked = try await worker.wait()
    #expect(waiting.status == 0 && worked.status == 0, "\(waiting.errorText)\(worked.errorText)")
    #expect(waiting.errorText.contains("***"))
    // In the environment it doesn't appear in process lists.
    let other = JobFolder(urls: [origin.url("/images/2.jpg")])
    let hidden = try await Command.run(
      BuiltCommand.path,
      ["enqueue", "job.yaml", "--queue", redis.url, "--name", "other"],
      environment: other.environment.merging(["REDISCLI_AUTH": "hush-hush"]) { $1 },
      workingDirectory: other.folder.path
    )
    #expect(hidden.status == 0, "\(hidden.errorText)")
    let wrong = try await job.start(["enqueue", "job.yaml", "--queue", address.replacing("hush-hush", with: "hush-wrong")]).wait()
    #expect(wrong.status == 1 && wrong.errorText.contains("WRONGPASS"), "\(wrong.errorText)")
    for text in [waiting, worked, hidden, wrong].flatMap({ [$0.errorText, $0.outputText] }) { #expect(!text.contains("hush")) }
    let report = String(decoding: try #require(job.folder.read("report.json")), as: UTF8.self)
    #expect(!report.contains("hush"))
  }

  @Test("a duplicate or lost result is noticed") func aResultThatIsThereTwiceOrLostIsNoticed() async throws {
    let scene = try await QueueScene(urls: (1...100).map { origin.url("/images/\($0).jpg") })
    #expect(try await scene.enqueue().wait().status == 0)
    #expect(try await scene.worker().wait().status == 0)
    let redis = try scene.connect()
    let results = "{prewarm:default}:results"
    let found = try redis.command(["XRANGE", RedisArgument(results), "-", "+"]).array ?? []
    let parts = found[0].array ?? []
    let fields = (parts[1].array ?? []).compactMap(\.bytes)
    _ = try redis.command(["XADD", RedisArgument(results), "*", RedisArgument(fields[0]), RedisArgument(fields[1])])
    let doubled = try await scene.enqueue("--wait").wait()
    #expect(doubled.status == 1, "\(doubled.errorText)")
    expectGolden(doubled.errorText)

    for part in found.suffix(1) + found.prefix(1) {
      let id = try #require(part.array?[0].bytes)
      _ = try redis.command(["XDEL", RedisArgument(results), RedisArgument(id)])
    }
    let lost = try await scene.enqueue("--wait").wait()
    #expect(lost.status == 1, "\(lost.errorText)")
    expectGolden(lost.errorText)
  }

  @Test(
    "a server that evicts data triggers a warning",
    arguments: [("allkeys-lru", true), ("volatile-lru", false), ("noeviction", false)]
  )
  func aServerThatThrowsAwayWhatItHoldsIsWarnedOf(policy: String, isReported: Bool) async throws {
    let server = try await RedisServer(settings: ["--maxmemory", "64mb", "--maxmemory-policy", policy])
    let scene = try await QueueScene(urls: [origin.url("/images/1.jpg")], redis: server)
    let filled = try await scene.enqueue("-q").wait()
    #expect(filled.status == 0 && filled.errorText.contains(policy) == isReported)
    if isReported { expectGolden(filled.errorText.lines(with: policy)) }
  }

  @Test("a lost seal ends the wait") func aSealThatIsLostEndsTheWait() async throws {
    let scene = try await QueueScene(urls: [origin.url("/images/1.jpg")])
    let waiting = try scene.enqueue("--wait", "--progress", "lines")
    try await waiting.waitForError("into queue")
    _ = try scene.connect().command(["HDEL", "{prewarm:default}:job", "sealed"])
    let ended = try await waiting.wait()
    #expect(ended.status == 1, "\(ended.errorText)")
    expectGolden(ended.errorText)
  }

  @Test("a worker whose queue is deleted before the first delivery exits with 1") func aQueueThatIsDeletedBeforeTheFirstDelivery()
    async throws
  {
    let scene = try await QueueScene(urls: [origin.url("/images/1.jpg")])
    #expect(try await scene.enqueue().wait().status == 0)
    let redis = try scene.connect()
    // An enqueue that was stopped before its first entry.
    _ = try redis.command(["HDEL", "{prewarm:default}:job", "sealed"])
    let streams = try redis.command(["KEYS", "{prewarm:default}:[0-9a-z]*"]).array?.compactMap(\.bytes) ?? []
    for name in streams where try redis.command(["TYPE", RedisArgument(name)]) == .status("stream") {
      _ = try redis.command(["XTRIM", RedisArgument(name), "MAXLEN", 0])
    }
    let worker = try scene.worker()
    try await poll("a worker") { try redis.command(["ZCARD", "{prewarm:default}:workers"]) == .integer(1) }
    _ = try redis.command(["DEL", "{prewarm:default}:job"])
    let ended = try await worker.wait()
    #expect(ended.status == 1 && ended.errorText.contains("before its job was done"), "\(ended.errorText)")
  }

  @Test("a worker reports that its queue was replaced while it held entries")
  func aWorkerWhoseQueueIsReplacedWhileItHoldsSomeOfItSaysSo() async throws {
    origin.set("/stall.jpg", .stall)
    let gate = origin.holdAll()
    let scene = try await QueueScene(urls: [origin.url("/images/1.jpg")])
    #expect(try await scene.enqueue().wait().status == 0)
    let worker = try scene.worker(0, "--take-over-after", "1s")
    try await gate.waitForWaiting(1)
    #expect(try await scene.enqueue("--replace").wait().status == 0)
    // The worker notices when it renews or settles its messages.
    gate.open()
    let ended = try await worker.wait()
    #expect(ended.status == 1, "\(ended.errorText)\(ended.outputText)")
    expectGolden(ended.errorText)
  }

  @Test("a missing variable ends a worker, and Redis contains no secret")
  func aVariableThatAWorkerLacksEndsItAndNoSecretIsInRedis()
    async throws
  {
    let scene = try await QueueScene(
      urls: [origin.url("/images/1.jpg")],
      keys: "request: {headers: {X-Token: '${PREWARM_TEST_TOKEN}'}}"
    )
    let filled = try await Command(
      BuiltCommand.path,
      ["enqueue", "job.yaml", "--queue", scene.redis.url],
      environment: scene.job.environment.merging(["PREWARM_TEST_TOKEN": "of-the-enqueuer"]) { $1 },
      workingDirectory: scene.job.folder.path
    ).wait()
    #expect(filled.status == 0, "\(filled.errorText)")
    let stored = try #require(try scene.connect().command(["HGET", "{prewarm:default}:job", "contents"]).text)
    #expect(stored.contains("PREWARM_TEST_TOKEN") && !stored.contains("of-the-enqueuer"))
    let poor = try await scene.worker().wait()
    #expect(poor.status == 3 && poor.errorText.contains("PREWARM_TEST_TOKEN"), "\(poor.errorText)")
    let rich = try await scene.worker(0, environment: ["PREWARM_TEST_TOKEN": "of-the-worker"]).wait()
    #expect(rich.status == 0)
    #expect(origin.requests.map { $0.headers["X-Token"] } == ["of-the-worker"])
  }

  @Test("foreign messages are reported and delay nothing") func whatStrangersWriteIsToldAndHoldsNobodyUp() async throws {
    let scene = try await QueueScene(urls: (0..<10).map { origin.url("/images/\($0).jpg") })
    #expect(try await scene.enqueue().wait().status == 0)
    let connection = try scene.connect()
    _ = try connection.command(["XADD", "{prewarm:default}:normal", "*", "m", RedisArgument([1, 9, 255, 255, 255])])
    _ = try connection.command(["XADD", "{prewarm:default}:normal", "*", "other", "field"])
    _ = try connection.command(["XADD", "{prewarm:default}:results", "*", "r", "{\"url\": 3}\n"])
    #expect(try await scene.worker().wait().status == 0)
    let run = try await scene.report()
    #expect(run.status == 1 && run.totals["downloaded"] == 10, "\(run.result.errorText)")
    expectGolden(run.result.errorText)
  }

  @Test(
    "a worker doesn't take entries that aren't its own",
    arguments: ["report=[{json: a.json}]", "manifests.0.limit=3", "name=other", "fail-on.failures=3", "prefetch.order=lifo"]
  )
  func whatAWorkerHasNoPartInItDoesNotTake(setting: String) async throws {
    let ended = try await JobFolder(urls: []).prewarm("worker", "--queue", "redis://127.0.0.1:1", "--set", setting)
    #expect(ended.status == 3, "\(ended.errorText)")
    expectGolden(ended.errorText)
  }

  @Test("an invalid job is rejected") func aJobThatIsNoneIsRefused() async throws {
    let scene = try await QueueScene(urls: [origin.url("/images/1.jpg")])
    #expect(try await scene.enqueue().wait().status == 0)
    let connection = try scene.connect()
    _ = try connection.command(["HSET", "{prewarm:default}:job", "contents", "garbage"])
    let worker = try await scene.worker().wait()
    #expect(worker.status == 1, "\(worker.errorText)")
    expectGolden(worker.errorText)
    _ = try connection.command(["HDEL", "{prewarm:default}:job", "digest"])
    #expect(try await scene.worker().wait().status == 1)
  }

  @Test("an entry that crashed ten workers fails") func anEntryThatTenWorkersDiedWithIsGivenUp() async throws {
    let scene = try await QueueScene(urls: (0..<3).map { origin.url("/images/\($0).jpg") })
    #expect(try await scene.enqueue().wait().status == 0)
    let connection = try scene.connect()
    let stream: RedisArgument = "{prewarm:default}:normal"
    let read = try connection.command(["XREADGROUP", "GROUP", "workers", "ghost", "COUNT", "1", "STREAMS", stream, ">"])
    let id = try #require(read.array?[0].array?[1].array?[0].array?[0].text)
    _ = try connection.command([
      "XCLAIM", stream, "workers", "ghost", "0", RedisArgument(id), "IDLE", "7200000", "RETRYCOUNT", "11",
    ])
    #expect(try await scene.worker(0, "--take-over-after", "1h").wait().status == 0)
    let run = try await scene.report()
    #expect(run.status == 1 && run.rows("cancelled").count { $0.kind == "internal" } == 3, "\(run.totals)")
    for row in run.rows { expectGolden(row.message) }
    #expect(origin.requests.isEmpty)
  }

  @Test("an entry that crashes workers doesn't fail others") func anEntryThatWorkersDieOfTakesNoOtherWithIt() async throws {
    let origin = try makeImageOrigin()
    origin.set("/deadly.jpg", .stall)
    let urls = (0..<40).map { origin.url("/images/\($0).jpg") }
    let patience = "request: {retries: 0, timeout: 10m, stall-timeout: 10m}"
    let scene = try await QueueScene(urls: urls[..<20] + [origin.url("/deadly.jpg")] + urls[20...], keys: patience)
    #expect(try await scene.enqueue().wait().status == 0)
    for death in 1...10 {
      let worker = try scene.worker(0, "--take-over-after", "1s")
      try await origin.waitForRequests(death, of: "/deadly.jpg")
      worker.kill()
      #expect(try await worker.wait().ending == .signalled(SIGKILL))
    }
    #expect(try await scene.worker(0, "--take-over-after", "1s").wait().status == 0)
    let run = try await scene.report()
    #expect(run.totals["urls"] == 41 && run.status == 1, "\(run.totals)")
    #expect(run.rows.filter { $0.outcome == "cancelled" }.map(\.url) == [origin.url("/deadly.jpg")])
  }

  @Test("an interrupted enqueue from standard input cannot be resumed") func standardInputCannotBeGoneOnWith() async throws {
    let scene = try await QueueScene(urls: [])
    scene.job.folder.write("version: 1\nname: test\nmanifests: [{path: '-'}]\n", to: "job.yaml")
    let first = try scene.job.start(["enqueue", "job.yaml", "--queue", scene.redis.url], input: .open)
    let connection = try scene.connect()
    try await poll("the queue to begin") { try connection.command(["EXISTS", "{prewarm:default}:job"]).integer == 1 }
    first.send(SIGINT)
    let interrupted = try await first.wait()
    #expect(interrupted.status == 130, "\(interrupted.errorText)")
    expectGolden(interrupted.errorText)
    let input = Array(origin.url("/images/1.jpg\n").utf8)
    let again = try await scene.job.start(["enqueue", "job.yaml", "--queue", scene.redis.url], input: .bytes(input)).wait()
    #expect(again.status == 1, "\(again.errorText)")
    expectGolden(again.errorText)
    let replacing = try await scene.job.start(
      ["enqueue", "job.yaml", "--queue", scene.redis.url, "--replace"],
      input: .bytes(input)
    )
    .wait()
    #expect(replacing.status == 0, "\(replacing.errorText)")
    expectGolden(replacing.errorText)
  }
}
