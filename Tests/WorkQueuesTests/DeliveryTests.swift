import ImagePrimitives
import RedisClient
import TestSupport
import Testing

@testable import WorkQueues

@Suite struct DeliveryTests {
  @Test("higher priorities come first") func higherClassesComeFirst() async throws {
    let fixture = try await QueueFixture()
    let entries = LoadPriority.allCases.reversed().flatMap { priority in
      (0..<3).map { TestEntry(url: "http://h\($0)/\(priority.name)", host: "h\($0)", priority: priority) }
    }
    let worker = try TestConsumer(try fixture.fill(entries))
    try await worker.take(640, messages: 15)
    #expect(worker.messages.map(\.priority) == LoadPriority.allCases.flatMap { [$0, $0, $0] })
    #expect(worker.messages.allSatisfy { $0.deliveries == 1 && !$0.isGivenUp && $0.error == nil })
  }

  @Test("a delivery has at most the requested entries and the rest of a message")
  func noMoreComesThanWasAskedForAndTheRestOfAMessage() async throws {
    let fixture = try await QueueFixture()
    let worker = try TestConsumer(try fixture.fill(TestEntry.many(640)))
    try await worker.take(65, messages: 2)
    #expect(try QueueFollower(fixture.location).progress()?.heldMessages == 2)
    try await worker.take(64, messages: 3)
    #expect(worker.messages.count == 3)
  }

  @Test("single entries before batches don't increase a delivery") func singleEntriesThatCameBeforeBatchesMakeNoMoreCome()
    async throws
  {
    let fixture = try await QueueFixture()
    let singles = TestEntry.many(150, hosts: 150, priority: .high)
    let worker = try TestConsumer(try fixture.fill(singles + TestEntry.many(640)))
    try await worker.take(100, messages: 100)
    #expect(worker.messages.allSatisfy { $0.entries.count == 1 })
    // The other 50, and as many batches as are needed for 78.
    try await worker.take(128, messages: 152)
    #expect(worker.messages.suffix(2).allSatisfy { $0.entries.count == 64 })
    #expect(try QueueFollower(fixture.location).progress()?.heldMessages == 152)
    try await worker.take(128 - 50, messages: 153)
    #expect(worker.messages.count == 153)
  }

  @Test("one scan returns everything that crashed workers held") func allThatDeadWorkersHeldComesInOneLook() async throws {
    let fixture = try await QueueFixture()
    let entries = TestEntry.many(1000, hosts: 1000)
    let queue = try fixture.fill(entries)
    try fixture.takeAsAnother()
    try fixture.letAllBeForsaken()
    var options = QueueConsumer.Options()
    options.takeOverInterval = .seconds(1)
    let begin = ContinuousClock.now
    let worker = try TestConsumer(queue, options)
    try await worker.take(500, messages: 500)
    #expect(worker.messages.count == 500)
    try await worker.take(500, messages: 1000)
    #expect(Set(worker.messages.flatMap(\.urls)) == Set(entries.map(\.url)))
    #expect(worker.messages.allSatisfy { $0.deliveries == 2 })
    // A worker shows that it is alive when it connects, every 10 s, and when one of its two scans starts: at most once
    // per second, not for every 64 messages.
    let counts = try #require(try fixture.connection().command(["INFO", "commandstats"]).text)
    let signs = try #require(counts.split(whereSeparator: \.isNewline).first { $0.hasPrefix("cmdstat_zadd:calls=") })
    let number = try #require(Double(signs.dropFirst("cmdstat_zadd:calls=".count).prefix { $0 != "," }))
    #expect(number <= 6 + 2 * ((ContinuousClock.now - begin) / .seconds(1)))
  }

  @Test("a crashed worker's entries are taken over one by one") func whatADeadWorkerHeldIsTakenOverEntryByEntry() async throws {
    let fixture = try await QueueFixture()
    let entries = TestEntry.many(40)
    let queue = try fixture.fill(entries)
    try fixture.takeAsAnother()
    let worker = try fixture.hastyConsumer(queue)
    try await worker.take(100, messages: 40)
    #expect(worker.messages.allSatisfy { $0.entries.count == 1 && $0.deliveries == 2 })
    #expect(worker.messages.flatMap(\.urls) == entries.map(\.url))
    #expect(worker.messages.map { $0.entries[0].line } == entries.map(\.line))
    for message in worker.messages { worker.acknowledge(message) }
    try await worker.wait(for: "the end") { $0.condition == .drained }
    #expect(try QueueFollower(fixture.location).resultURLs() == entries.map(\.url))
  }

  @Test("an entry delivered too often fails", arguments: [(8, false), (9, true)])
  func anEntryThatIsDeliveredTooOftenIsGivenUp(deaths: Int, isGivenUp: Bool) async throws {
    let fixture = try await QueueFixture()
    let queue = try fixture.fill(TestEntry.many(2))
    // Once with both entries, then with each alone.
    try fixture.takeAsAnother()
    let first = try fixture.hastyConsumer(queue)
    try await first.take(2, messages: 2)
    first.consumer.stop()
    try await first.wait(for: "its end") { $0.condition == .stopped }
    first.consumer.join()
    for _ in 0..<deaths { try fixture.takeOverAsAnother() }

    let worker = try fixture.hastyConsumer(queue)
    try await worker.take(2, messages: 1)
    worker.acknowledge(worker.messages[0])
    try await worker.take(0, messages: 2)
    worker.acknowledge(worker.messages[1])
    #expect(worker.messages.allSatisfy { $0.isGivenUp == isGivenUp && $0.deliveries == deaths + 2 && $0.entries.count == 1 })
    try await worker.wait(for: "the end") { $0.condition == .drained }
    #expect(try QueueFollower(fixture.location).progress()?.finalEntries == 2)
  }

  @Test("an entry that crashed two workers is retried on its own", arguments: [1, 20])
  func anEntryThatTwoWorkersDiedWithMeetsNoOtherOfTheKind(hosts: Int) async throws {
    let fixture = try await QueueFixture()
    let entries = TestEntry.many(20, hosts: hosts)
    let queue = try fixture.fill(entries)
    try await fixture.loseTwice(20, of: queue)
    let worker = try fixture.hastyConsumer(queue)
    try await worker.takeOneByOne(20)
    #expect(worker.messages.allSatisfy { $0.deliveries == 3 })
    #expect(Set(worker.messages.flatMap(\.urls)) == Set(entries.map(\.url)))
    try await worker.wait(for: "the end") { $0.condition == .drained }
  }

  @Test("the later of two workers with one message counts nothing") func theLaterOfTwoWorkersWithOneMessageCountsNothing()
    async throws
  {
    let fixture = try await QueueFixture()
    let queue = try fixture.fill([TestEntry(url: "http://h/1")])
    try fixture.takeAsAnother()
    // The entry's own message, which a worker gave back.
    let opener = try fixture.hastyConsumer(queue)
    try await opener.take(1, messages: 1)
    opener.consumer.stop()
    opener.consumer.join()
    var options = QueueConsumer.Options()
    options.takeOverInterval = .milliseconds(1)
    let first = try TestConsumer(queue, options)
    try await first.take(1, messages: 1)
    let second = try fixture.hastyConsumer(queue)
    try await second.take(1, messages: 1)
    #expect(second.messages[0].id == first.messages[0].id && second.messages[0].deliveries == 3)
    first.acknowledge(first.messages[0])
    try await first.wait(for: "the end") { $0.condition == .drained }
    second.acknowledge(second.messages[0])
    try await second.wait(for: "the end") { $0.condition == .drained }
    let progress = try #require(try QueueFollower(fixture.location).progress())
    #expect(progress.finalEntries == 1 && progress.counts.reduce(0, +) == 1)
    #expect(try QueueFollower(fixture.location).resultURLs() == ["http://h/1"])
  }

  @Test("a worker learns which entries it lost") func aWorkerIsToldOfWhatItLost() async throws {
    let fixture = try await QueueFixture()
    let queue = try fixture.fill(TestEntry.many(10))
    var options = QueueConsumer.Options()
    options.takeOverAfter = .milliseconds(30)
    options.takeOverInterval = .seconds(600)
    let worker = try TestConsumer(queue, options)
    try await worker.take(10, messages: 1)
    try fixture.claimAsAnother(worker.messages[0].id)
    try await worker.wait(for: "the loss") { $0.lost == [$0.messages[0].id] }
  }

  @Test("leases of held entries are renewed") func whatIsHeldIsRenewed() async throws {
    let fixture = try await QueueFixture()
    let queue = try fixture.fill(TestEntry.many(10))
    var options = QueueConsumer.Options()
    options.takeOverAfter = .milliseconds(3)
    options.takeOverInterval = .seconds(600)
    let worker = try TestConsumer(queue, options)
    try await worker.take(10, messages: 1)
    let id = worker.messages[0].id
    let connection = try fixture.connection()
    // It was idle for a while, then it isn't.
    _ = try connection.command([
      "XCLAIM", fixture.keys.stream(id.stream), "workers", try fixture.owner(of: id), 0, RedisArgument(id.text), "IDLE",
      "50000000", "JUSTID",
    ])
    try await poll("a renewal") { try fixture.pending(id)[2].count < 40_000_000 }
    #expect(try fixture.pending(id)[3] == .integer(1))
  }

  @Test("pending acknowledgements are sent before a stop") func acknowledgementsThatWaitAreSaidBeforeAStop() async throws {
    let fixture = try await QueueFixture()
    let queue = try fixture.fill(TestEntry.many(640))
    let worker = try TestConsumer(queue)
    try await worker.take(640, messages: 10)
    #expect(try QueueFollower(fixture.location).progress()?.workers == 1)
    for message in worker.messages { worker.acknowledge(message) }
    worker.consumer.stop()
    worker.consumer.join()
    let progress = try #require(try QueueFollower(fixture.location).progress())
    #expect(progress.finalEntries == 640 && progress.workers == 0)
  }

  @Test("a stop ends in time if Redis is away") func aStopEndsInTimeWhereRedisIsAway() async throws {
    let fixture = try await QueueFixture()
    let worker = try TestConsumer(try fixture.fill(TestEntry.many(64)))
    try await worker.take(64, messages: 1)
    try await fixture.server.stop()
    worker.acknowledge(worker.messages[0])
    worker.consumer.stop(patience: .milliseconds(20))
    worker.consumer.join()
    worker.update()
    #expect(worker.condition == .stopped)
  }

  @Test("a waiting worker gets later entries") func whoKeepsWaitingIsThereWhenMoreComes() async throws {
    let fixture = try await QueueFixture()
    var options = QueueConsumer.Options()
    options.keepsWaiting = true
    let worker = try TestConsumer(try fixture.fill([]), options)
    try await worker.wait(for: "the drained queue") { $0.condition == .drained }
    let follower = QueueFollower(fixture.location)
    try follower.delete()
    try await worker.wait(for: "its end") { $0.condition == .replaced(isUndone: false) }
    #expect(try fixture.connection().command(["KEYS", "*"]) == .array([]))
  }

  @Test("a queue that is deleted before the first delivery isn't done") func aQueueDeletedBeforeTheFirstDelivery() async throws {
    let fixture = try await QueueFixture()
    let follower = QueueFollower(fixture.location)
    _ = try fixture.writer().begin(.test)
    let worker = try TestConsumer(try #require(try follower.open()))
    try await worker.wait(for: "the empty queue") { $0.condition == .working }
    try follower.delete()
    try await worker.wait(for: "its end") { $0.condition == .replaced(isUndone: true) }

    let queue = try fixture.fill(TestEntry.many(1))
    try follower.delete()
    let late = try TestConsumer(queue)
    try await late.wait(for: "its end") { $0.condition == .replaced(isUndone: true) }
  }

  @Test("a queue that is deleted while others held its rest may be done") func aQueueDeletedAfterItsRestWasDelivered()
    async throws
  {
    let fixture = try await QueueFixture()
    let queue = try fixture.fill(TestEntry.many(1))
    try fixture.takeAsAnother()
    let worker = try TestConsumer(queue)
    try await worker.wait(for: "the rest of others") { $0.condition == .working }
    try QueueFollower(fixture.location).delete()
    try await worker.wait(for: "its end") { $0.condition == .replaced(isUndone: false) }
  }

  @Test("a message includes blacklisted URLs") func whatIsKnownToBeBadComesWithTheMessage() async throws {
    let fixture = try await QueueFixture()
    var job = QueuedJob.test
    job.variantCount = 2
    let queue = try fixture.fill(TestEntry.many(3) + [TestEntry(url: "http://h0/1.jpg", host: "other")], job: job)
    let worker = try TestConsumer(queue)
    try await worker.take(3, messages: 1)
    #expect(worker.messages[0].knownBad.isEmpty)
    func key(_ url: String, _ variant: Int) -> BadURLKey {
      Array(url.utf8).withUnsafeBytes { BadURLKey(url: $0, variant: variant) }
    }
    var settlement = Settlement(of: worker.messages[0], results: [], counts: [])
    settlement.badURLs = [(key("http://h0/1.jpg", 1), [7]), (key("http://h0/9.jpg", 0), [8])]
    worker.consumer.acknowledge(settlement)
    try await worker.take(1, messages: 2)
    #expect(worker.messages[1].knownBad == [.init(entry: 0, variant: 1, value: [7])])
    settlement = Settlement(of: worker.messages[1], results: [], counts: [])
    settlement.goodURLs = [key("http://h0/1.jpg", 1)]
    worker.consumer.acknowledge(settlement)
    try await worker.wait(for: "the end") { $0.condition == .drained }
    #expect(try fixture.connection().command(["HLEN", fixture.keys.blacklist]) == .integer(1))
  }
}
