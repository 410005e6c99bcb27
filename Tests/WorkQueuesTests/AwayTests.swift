import ImagePrimitives
import RedisClient
import TestSupport
import Testing

@testable import WorkQueues

/// Redis unreachable, restarted, out of memory, or its replies lost.
@Suite struct AwayTests {
  @Test("a worker that ends doesn't wait for a silent server") func whoEndsNeedNotWaitForAServerThatIsSilent() async throws {
    let fixture = try await QueueFixture()
    var options = QueueConsumer.Options()
    options.timeouts = .init(connect: .seconds(600), answer: .seconds(600))
    // More than it takes: the rest keeps the queue from being drained, which would be another ending.
    let worker = try TestConsumer(try fixture.fill(TestEntry.many(128)), options)
    try await worker.take(64, messages: 1)
    try await fixture.silence()
    worker.acknowledge(worker.messages[0])
    worker.consumer.stop()
    #expect(!worker.consumer.join(afterSilence: .milliseconds(20), since: TimeSource.system.monotonic()))
    // It continues by itself.
    fixture.server.resume()
    try await worker.wait(for: "its end") { $0.condition == .stopped }
    #expect(try QueueFollower(fixture.location).progress()?.finalEntries == 64)
  }

  @Test("a worker that ends waits for a responsive server") func whoEndsWaitsForAServerThatAnswers() async throws {
    let fixture = try await QueueFixture()
    let worker = try TestConsumer(try fixture.fill(TestEntry.many(64)))
    try await worker.take(64, messages: 1)
    worker.acknowledge(worker.messages[0])
    worker.consumer.stop()
    #expect(worker.consumer.join(afterSilence: .seconds(60), since: TimeSource.system.monotonic()))
    #expect(try QueueFollower(fixture.location).progress()?.finalEntries == 64)
  }

  /// Fills and drains a queue over connections that lose replies, and checks that everything is counted once.
  @Test("lost replies lose nothing and count nothing twice", arguments: [1, 4, 7])
  func lostRepliesLoseNothingAndCountNothingTwice(first: Int) async throws {
    let fixture = try await QueueFixture()
    // Some for sure, others at random: the number of replies depends on how they are packed.
    let sure = [0, 12, 27, 40].map { $0 + first }
    let proxy = CuttingProxy(to: fixture.server) { number, _ in
      var random = SeededRandom(seed: UInt64(first + number << 8))
      return sure.contains(number) || random.next() % 23 == 0
    }
    let entries = TestEntry.many(800, hosts: 40)
    let location = QueueLocation(try proxy.address, name: fixture.location.name)
    var options = QueueWriter.Options()
    options.maximumMessagesInFlight = 2
    let writer = QueueWriter(location, options: options) { _ in true }
    _ = try writer.begin(.test)
    for entry in entries { try writer.append(entry) }
    #expect(try writer.seal().entries == 800)

    let direct = QueueFollower(fixture.location)
    let queue = try #require(try direct.open())
    let worker = try TestConsumer(OpenQueue(location: location, job: queue.job, filling: queue.filling))
    try await worker.drainSlowly()
    #expect(proxy.lossCount > 3)
    #expect(try direct.resultURLs().sorted() == entries.map(\.url).sorted())
    let progress = try #require(try direct.progress())
    #expect(progress.finalEntries == 800 && progress.counts.reduce(0, +) == 800 && progress.isDrained)
  }

  @Test("four workers with crashes produce one result per entry") func fourWorkersAndCrashesMakeOneResultOfEachEntry()
    async throws
  {
    let fixture = try await QueueFixture()
    let entries = TestEntry.many(2000, hosts: 100)
    let queue = try fixture.fill(entries)
    // So short that messages constantly move between workers.
    var options = QueueConsumer.Options()
    options.takeOverAfter = .milliseconds(20)
    options.takeOverInterval = .milliseconds(5)
    options.maximumDeliveries = .max
    let proxies = (0..<4).map { seed in
      CuttingProxy(to: fixture.server) { number, _ in
        var random = SeededRandom(seed: UInt64(seed * 7919 + number))
        return random.next() % 31 == 0
      }
    }
    let workers = try proxies.map {
      let location = QueueLocation(try $0.address, name: fixture.location.name)
      return try TestConsumer(OpenQueue(location: location, job: queue.job, filling: queue.filling), options)
    }
    for worker in workers { worker.consumer.take(maximumEntries: 60) }
    var random = SeededRandom(seed: 11)
    var worked = 0
    func work() throws -> Bool {
      for worker in workers {
        worker.update()
        guard let message = worker.messages.popLast() else { continue }
        worker.consumer.take(maximumEntries: message.entries.count)
        // Sometimes a worker forgets its messages, which others then find.
        if random.next() % 10 > 0 { worker.acknowledge(message) } else { try fixture.claimAsAnother(message.id) }
        worked += 1
      }
      return workers.allSatisfy { $0.condition == .drained }
    }
    for crash in 1...3 {
      try await poll("some work") { try work() || worked > crash * 50 }
      try await fixture.server.restart()
    }
    try await poll("the drained queue", work)
    #expect(proxies.allSatisfy { $0.lossCount > 0 })
    let follower = QueueFollower(fixture.location)
    #expect(try follower.resultURLs().sorted() == entries.map(\.url).sorted())
    #expect(try follower.progress()?.counts.reduce(0, +) == 2000)
  }

  @Test("acknowledgements are repeated after a crash") func acknowledgementsAreSaidAgainAfterACrash() async throws {
    let fixture = try await QueueFixture()
    let entries = TestEntry.many(640)
    let worker = try TestConsumer(try fixture.fill(entries))
    try await worker.take(640, messages: 10)
    for message in worker.messages.prefix(4) { worker.acknowledge(message) }
    try await fixture.server.kill()
    for message in worker.messages.dropFirst(4) { worker.acknowledge(message) }
    try await worker.wait(for: "the loss of Redis") { if case .waiting = $0.condition { true } else { false } }
    try await fixture.server.start()
    try await worker.wait(for: "the end") { $0.condition == .drained }
    #expect(try QueueFollower(fixture.location).resultURLs() == entries.map(\.url))
    #expect(worker.messages.count == 10)
  }

  @Test("delivered messages that never arrived are found again") func whatWasDeliveredAndNeverArrivedIsFoundAgain() async throws {
    let fixture = try await QueueFixture()
    let queue = try fixture.fill(TestEntry.many(640))
    let isLost = Watched(false)
    let proxy = CuttingProxy(to: fixture.server) { _, length in
      // The first long reply is the one with the messages.
      isLost.withLock { isLost in
        guard length > 1000, !isLost else { return false }
        isLost = true
        return true
      }
    }
    let location = QueueLocation(try proxy.address, name: fixture.location.name)
    let worker = try TestConsumer(OpenQueue(location: location, job: queue.job, filling: queue.filling))
    try await worker.take(640, messages: 10)
    #expect(worker.messages.allSatisfy { $0.deliveries == 1 && $0.entries.count == 64 })
    #expect(try worker.messages.allSatisfy { try fixture.pending($0.id)[3] == .integer(1) })
    #expect(proxy.lossCount == 1)
  }

  @Test("if Redis is out of memory a settlement waits as a whole") func whereRedisHasNoMemoryLeftASettlementWaitsAsAWhole()
    async throws
  {
    let fixture = try await QueueFixture(settings: ["--maxmemory-policy", "noeviction"])
    let worker = try TestConsumer(try fixture.fill(TestEntry.many(64)))
    try await worker.take(64, messages: 1)
    let connection = try fixture.connection()
    _ = try connection.command(["CONFIG", "SET", "maxmemory", "1"])
    worker.acknowledge(worker.messages[0])
    try await worker.wait(for: "the refusal") {
      if case .waiting(let why) = $0.condition { why.contains("maxmemory") } else { false }
    }
    #expect(try connection.command(["EXISTS", fixture.keys.totals, fixture.keys.results]) == .integer(0))
    #expect(try fixture.pending(worker.messages[0].id).count == 4)
    _ = try connection.command(["CONFIG", "SET", "maxmemory", "0"])
    try await worker.wait(for: "the end") { $0.condition == .drained }
    #expect(try QueueFollower(fixture.location).progress()?.finalEntries == 64)
  }

  @Test("a writer waits for memory") func aWriterWaitsForMemory() async throws {
    let fixture = try await QueueFixture(settings: ["--maxmemory-policy", "noeviction"])
    let connection = try fixture.connection()
    let location = fixture.location
    let writer = fixture.writer { why in
      guard case .forRedis(let error) = why, error.code == "OOM" else {
        Issue.record("\(why)")
        return false
      }
      do {
        _ = try RedisConnection(location.address).command(["CONFIG", "SET", "maxmemory", "0"])
      } catch {
        Issue.record(error)
      }
      return true
    }
    _ = try writer.begin(.test)
    _ = try connection.command(["CONFIG", "SET", "maxmemory", "1"])
    let entries = TestEntry.many(64 * 20)
    for entry in entries { try writer.append(entry) }
    #expect(try writer.seal() == QueueSize(entries: 1280, messages: 20))
  }

  @Test("a replica is rejected unless it was a primary before") func aReplicaIsRefusedUnlessItWasAPrimaryBefore() async throws {
    let fixture = try await QueueFixture()
    let queue = try fixture.fill(TestEntry.many(64))
    let connection = try fixture.connection()
    let worker = try TestConsumer(queue)
    try await worker.take(64, messages: 1)
    let begun = fixture.writer { why in
      do {
        if case .forRedis(let error) = why { #expect(error.code == "READONLY") } else { Issue.record("\(why)") }
        _ = try RedisConnection(fixture.location.address).command(["REPLICAOF", "NO", "ONE"])
      } catch {
        Issue.record(error)
      }
      return true
    }
    #expect(try begun.begin(.test) == .sealed(QueueSize(entries: 64, messages: 1)))
    try begun.add([QueuedManifest(name: "a", file: nil)], from: 0)

    // The server is unreachable: it held data, and accepts no writes.
    _ = try connection.command(["REPLICAOF", "127.0.0.1", "1"])
    worker.acknowledge(worker.messages[0])
    try await worker.wait(for: "the refusal") {
      if case .waiting(let why) = $0.condition { why.contains("READONLY") } else { false }
    }
    let late = try TestConsumer(queue)
    try await late.wait(for: "its end") { if case .refused(let why) = $0.condition { why.contains("primary") } else { false } }
    let error = #expect(throws: QueueError.self) {
      let writer = fixture.writer()
      _ = try writer.begin(.test)
      try writer.add([QueuedManifest(name: "a", file: nil)], from: 0)
    }
    #expect(error.map { "\($0)".contains("use the address of the primary") } == true)

    try begun.add([QueuedManifest(name: "b", file: nil)], from: 1)
    try await worker.wait(for: "the end") { $0.condition == .drained }
    #expect(try QueueFollower(fixture.location).progress()?.finalEntries == 64)
  }

  @Test("workers wait for a hanging server") func aServerThatStandsStillIsWaitedFor() async throws {
    let fixture = try await QueueFixture()
    let queue = try fixture.fill(TestEntry.many(64))
    var options = QueueConsumer.Options()
    options.timeouts = .init(connect: .milliseconds(50), answer: .milliseconds(50))
    let worker = try TestConsumer(queue, options)
    try await worker.take(64, messages: 1)
    fixture.server.pause()
    worker.acknowledge(worker.messages[0])
    try await worker.wait(for: "the silence") { if case .waiting = $0.condition { true } else { false } }
    fixture.server.resume()
    try await worker.wait(for: "the end") { $0.condition == .drained }
    #expect(try QueueFollower(fixture.location).resultURLs().count == 64)
  }

  @Test("lost scripts and groups are restored") func forgottenScriptsAndGroupsComeBack() async throws {
    let fixture = try await QueueFixture()
    let worker = try TestConsumer(try fixture.fill(TestEntry.many(64 * 3)))
    try await worker.take(64, messages: 1)
    let connection = try fixture.connection()
    _ = try connection.command(["SCRIPT", "FLUSH"])
    for message in worker.messages { worker.acknowledge(message) }
    let retries = fixture.keys.stream(QueueStream(priority: .low, isRetry: true))
    _ = try connection.command(["DEL", retries])
    worker.messages = []
    try await worker.drain()
    #expect(try QueueFollower(fixture.location).resultURLs().count == 192)
  }
}

extension TestConsumer {
  /// Processes all messages, few at a time, so that there are many requests and replies.
  func drainSlowly() async throws {
    consumer.take(maximumEntries: 40)
    try await wait(for: "the queue to be drained") { test in
      if let message = test.messages.popLast() {
        test.acknowledge(message)
        test.consumer.take(maximumEntries: message.entries.count)
      }
      return test.condition == .drained
    }
  }
}
