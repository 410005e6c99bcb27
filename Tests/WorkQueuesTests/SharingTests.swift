import ImagePrimitives
import RedisClient
import TestSupport
import Testing

@testable import WorkQueues

/// Messages that a worker hasn't started go to idle workers.
@Suite struct SharingTests {
  @Test("an idle worker gets another's returned entries") func whoHasNothingToDoGetsWhatAnotherGivesBack() async throws {
    let fixture = try await QueueFixture()
    let queue = try fixture.fill(TestEntry.many(192))
    let first = try TestConsumer(queue, .patient)
    try await first.take(192, messages: 3)
    let second = try TestConsumer(queue, .patient)
    second.consumer.setNeedsWork(true)
    second.consumer.take(maximumEntries: 320)
    try await first.wait(for: "the request for work") { $0.othersNeedWork }
    first.consumer.giveBack([first.messages[2].id])
    try await second.wait(for: "returned messages") { !$0.messages.isEmpty }
    #expect(second.messages.map(\.id) == [first.messages[2].id])
    #expect(second.messages[0].entries.count == 64 && second.messages[0].deliveries == 1)
    second.acknowledge(second.messages[0])
    for message in first.messages.prefix(2) { first.acknowledge(message) }
    try await first.wait(for: "the end") { $0.condition == .drained }
    #expect(first.lost.isEmpty)
    #expect(try QueueFollower(fixture.location).progress()?.finalEntries == 192)
  }

  /// Messages that several give back are for several: each takes at most a batch at once, even of single entries.
  @Test("returned entries are taken one batch at a time") func whatIsGivenBackIsTakenABatchAtATime() async throws {
    let fixture = try await QueueFixture()
    let queue = try fixture.fill(TestEntry.many(150, hosts: 150))
    let first = try TestConsumer(queue, .patient)
    try await first.take(150, messages: 150)
    first.consumer.giveBack(first.messages.map(\.id))
    try await poll("all to be given back") {
      try QueueFollower(fixture.location).progress()?.heldMessages == 150 && fixture.givenBackCount() == 150
    }
    let second = try TestConsumer(queue, .patient)
    second.consumer.setNeedsWork(true)
    second.consumer.take(maximumEntries: 64)
    try await second.wait(for: "a batch") { $0.messages.count == 64 }
    #expect(try fixture.givenBackCount() == 86)
    #expect(second.messages.allSatisfy { $0.deliveries == 1 })
  }

  @Test("an entry that crashed two workers is taken back alone") func anEntryThatTwoWorkersDiedWithIsTakenBackAlone() async throws
  {
    let fixture = try await QueueFixture()
    let queue = try fixture.fill(TestEntry.many(5))
    try await fixture.loseTwice(5, of: queue)
    // Given back by a worker that hasn't started them: they count two deliveries of workers that crashed.
    try fixture.giveAllBack()
    let worker = try TestConsumer(queue, .patient)
    worker.consumer.setNeedsWork(true)
    try await worker.takeOneByOne(5)
    #expect(worker.messages.allSatisfy { $0.deliveries == 3 })
  }

  @Test("a stopped worker's entries are found without a scan of others'")
  func whatAStoppedWorkerGaveBackIsFoundWithoutALookThroughWhatOthersHold() async throws {
    let fixture = try await QueueFixture()
    let queue = try fixture.fill(TestEntry.many(10))
    let first = try TestConsumer(queue, .patient)
    try await first.take(10, messages: 1)
    first.consumer.stop()
    first.consumer.join()
    let second = try TestConsumer(queue, .patient)
    second.consumer.setNeedsWork(true)
    try await second.take(10, messages: 1)
    #expect(second.messages[0].entries.count == 10 && second.messages[0].deliveries == 1)
  }

  @Test("a worker asks for work until it has some") func whoNeedsWorkSaysSoUntilItHasSome() async throws {
    let fixture = try await QueueFixture()
    let writer = fixture.writer()
    _ = try writer.begin(.test)
    let worker = try TestConsumer(try #require(try QueueFollower(fixture.location).open()), .patient)
    worker.consumer.setNeedsWork(true)
    worker.consumer.take(maximumEntries: 64)
    let connection = try fixture.connection()
    try await poll("word of its need") { try connection.command(["HEXISTS", fixture.keys.job, "needed"]) == .integer(1) }
    for entry in TestEntry.many(64) { try writer.append(entry) }
    _ = try writer.seal()
    try await worker.wait(for: "a message") { !$0.messages.isEmpty }
    #expect(try connection.command(["HEXISTS", fixture.keys.job, "needed"]) == .integer(0))
  }

  @Test(
    "another worker's request for work counts for a second",
    arguments: [("%d one", 0), ("%d two", 1), ("1 two", 0), ("no time", 0), ("", 0)]
  )
  func theNeedOfAnotherCountsForASecond(word: String, answer: Int64) async throws {
    let fixture = try await QueueFixture()
    let queue = try fixture.fill(TestEntry.many(1))
    let connection = try fixture.connection()
    // By the server's clock, so that it also works on a busy machine.
    let time = try #require(try connection.command(["TIME"]).array?.first?.integer) * 1000
    let script = ConsumerScripts.checkNeed.source.replacing("redis.call('TIME')", with: "{'\(time / 1000)', '500000'}")
    let now = RedisArgument(word.replacing("%d", with: String(time)))
    _ = try connection.command(["HSET", fixture.keys.job, "needed", now])
    let look = RedisScript(name: "look", source: script)
    #expect(try connection.run(look, keys: [fixture.keys.job], [RedisArgument(queue.filling), "one"]) == .integer(answer))
  }
}

extension QueueConsumer.Options {
  /// Never scans for messages of crashed workers.
  fileprivate static var patient: QueueConsumer.Options {
    var options = QueueConsumer.Options()
    options.takeOverInterval = .seconds(600)
    return options
  }
}

extension QueueFixture {
  /// The number of messages that were given back and aren't held.
  fileprivate func givenBackCount() throws -> Int {
    let connection = try connection()
    return try keys.streams.reduce(0) { count, stream in
      let pending = try connection.command(["XPENDING", stream, "workers", "-", "+", "1000", "given-back"])
      return count + (pending.array?.count ?? 0)
    }
  }

  /// Gives back all held messages, with their numbers of deliveries.
  fileprivate func giveAllBack() throws {
    let connection = try connection()
    for stream in keys.streams {
      let pending = try connection.command(["XPENDING", stream, "workers", "-", "+", "1000"]).array ?? []
      let ids = pending.compactMap { $0.array?.first?.bytes.map { RedisArgument($0) } }
      if !ids.isEmpty { _ = try connection.command(["XCLAIM", stream, "workers", "given-back", 0] + ids + ["JUSTID"]) }
    }
  }
}
