import ImagePrimitives
import RedisClient
import TestSupport
import Testing

@testable import WorkQueues

/// Messages that a stopped worker gives back don't count as delivered; those of a crashed one do.
@Suite struct GivingBackTests {
  @Test("returned entries are delivered as if for the first time") func whatIsGivenBackIsDeliveredAsIfForTheFirstTime()
    async throws
  {
    let fixture = try await QueueFixture()
    let queue = try fixture.fill(TestEntry.many(10))
    let first = try TestConsumer(queue)
    try await first.take(10, messages: 1)
    first.consumer.stop()
    try await first.wait(for: "its end") { $0.condition == .stopped }
    first.consumer.join()
    var options = QueueConsumer.Options()
    options.takeOverInterval = .milliseconds(1)
    let second = try TestConsumer(queue, options)
    try await second.take(10, messages: 1)
    #expect(second.messages[0].entries.count == 10 && second.messages[0].deliveries == 1)
  }

  @Test("eleven consecutive stops leave entries unchanged") func elevenStopsOnEndLeaveEntriesAsTheyWere() async throws {
    let fixture = try await QueueFixture()
    let entries = TestEntry.many(10)
    let queue = try fixture.fill(entries + [TestEntry(url: "http://single/1.jpg", host: "single")])
    for round in 0..<11 {
      let worker = try TestConsumer(queue, .impatient)
      // In the first round a batch and a message of one entry, then each entry alone.
      try await worker.take(11, messages: round == 0 ? 2 : 11)
      #expect(worker.messages.allSatisfy { $0.deliveries == 1 && !$0.isGivenUp }, "round \(round)")
      for message in worker.messages where message.entries.count > 1 { worker.consumer.divide(message) }
      try await worker.stop()
    }
    let last = try TestConsumer(queue, .impatient)
    try await last.take(11, messages: 11)
    #expect(last.messages.allSatisfy { $0.deliveries == 1 && !$0.isGivenUp && $0.entries.count == 1 })
    for message in last.messages { last.acknowledge(message) }
    try await last.wait(for: "the end") { $0.condition == .drained }
    #expect(try Set(QueueFollower(fixture.location).resultURLs()) == Set(entries.map(\.url) + ["http://single/1.jpg"]))
  }

  @Test("ten crashes among stops are ten deliveries") func tenDeathsAmongStopsAreTenDeliveries() async throws {
    let fixture = try await QueueFixture()
    let queue = try fixture.fill([TestEntry(url: "http://h/1.jpg")])
    try fixture.takeAsAnother()
    for death in 2...10 {
      let worker = try fixture.hastyConsumer(queue)
      try await worker.take(1, messages: 1)
      #expect(worker.messages[0].deliveries == death && !worker.messages[0].isGivenUp)
      try await worker.stop()
      try fixture.takeOverAsAnother()
    }
    let last = try fixture.hastyConsumer(queue)
    try await last.take(1, messages: 1)
    #expect(last.messages[0].deliveries == 11 && last.messages[0].isGivenUp)
  }

  @Test("a started message is returned in single entries") func whatWasBegunIsGivenBackInSingleEntries() async throws {
    let fixture = try await QueueFixture()
    let entries = TestEntry.many(128)
    let queue = try fixture.fill(entries)
    let first = try TestConsumer(queue)
    try await first.take(128, messages: 2)
    first.consumer.divide(first.messages[0])
    try await first.stop()
    let second = try TestConsumer(queue, .impatient)
    try await second.take(128, messages: 65)
    #expect(second.messages.allSatisfy { $0.deliveries == 1 })
    #expect(Set(second.messages.map(\.entries.count)) == [1, 64])
    #expect(Set(second.messages.flatMap(\.urls)) == Set(entries.map(\.url)))
    for message in second.messages { second.acknowledge(message) }
    try await second.wait(for: "the end") { $0.condition == .drained }
    #expect(try QueueFollower(fixture.location).progress()?.finalEntries == 128)
  }

  @Test("at the memory limit everything is returned unchanged", arguments: [true, false])
  func atTheMemoryLimitAllGoesBackAsItWas(isAcknowledged: Bool) async throws {
    let fixture = try await QueueFixture(settings: ["--maxmemory-policy", "noeviction"])
    let queue = try fixture.fill(TestEntry.many(64))
    let first = try TestConsumer(queue)
    try await first.take(64, messages: 1)
    let connection = try fixture.connection()
    _ = try connection.command(["CONFIG", "SET", "maxmemory", "1"])
    if isAcknowledged {
      first.acknowledge(first.messages[0])
      // It has lost its connection by then, and can't even join the workers again.
      try await first.wait(for: "the refusal") {
        if case .waiting(let why) = $0.condition { why.contains("(OOM)") } else { false }
      }
    } else {
      first.consumer.divide(first.messages[0])
    }
    try await first.stop(patience: .milliseconds(20))
    #expect(try fixture.pending(first.messages[0].id)[3] == .integer(0))
    _ = try connection.command(["CONFIG", "SET", "maxmemory", "0"])
    let second = try TestConsumer(queue, .impatient)
    try await second.take(64, messages: 1)
    #expect(second.messages[0].deliveries == 1 && second.messages[0].entries.count == 64)
    second.acknowledge(second.messages[0])
    try await second.wait(for: "the end") { $0.condition == .drained }
    #expect(try QueueFollower(fixture.location).progress()?.finalEntries == 64)
  }
}

extension TestConsumer {
  /// Stops like a worker that gets a signal, and waits until it has ended.
  fileprivate func stop(patience: Duration = .seconds(60)) async throws {
    consumer.stop(patience: patience)
    try await wait(for: "its end") { $0.condition == .stopped }
    consumer.join()
  }
}

extension QueueConsumer.Options {
  /// Scans for abandoned messages all the time, and waits for held ones as long as usual.
  fileprivate static var impatient: QueueConsumer.Options {
    var options = QueueConsumer.Options()
    options.takeOverInterval = .milliseconds(1)
    return options
  }
}
