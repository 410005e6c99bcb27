import ImagePrimitives
import RedisClient
import TestSupport
import Testing

@testable import WorkQueues

@Suite struct QueueWriterTests {
  private static let options = {
    var options = QueueWriter.Options()
    options.maximumMessagesInFlight = 4
    options.maximumGatheredEntries = 100
    return options
  }()

  /// The contents of all streams: ids and fields.
  private func contents(_ fixture: QueueFixture) throws -> [RedisReply] {
    let connection = try fixture.connection()
    return try fixture.keys.streams.map { try connection.command(["XRANGE", $0, "-", "+"]) }
  }

  private static let entries = (0..<900).map { index in
    TestEntry(
      url: "http://h\(index % 11)/\(index)",
      host: "h\(index % 11)",
      line: UInt64(index),
      priority: index % 3 == 0 ? .high : .normal
    )
  }

  @Test("a new writer resumes where another one ended") func aWriterThatEndsAnywhereIsFollowedByOneThatGoesOn() async throws {
    let whole = try await QueueFixture()
    let one = whole.writer(Self.options)
    #expect(try one.begin(.test) == .new)
    for entry in Self.entries { try one.append(entry) }
    let size = try one.seal()
    #expect(size.entries == 900)
    let expected = try contents(whole)

    let fixture = try await QueueFixture()
    for end in stride(from: 0, to: Self.entries.count, by: 83) {
      let writer = fixture.writer(Self.options)
      _ = try writer.begin(.test)
      for entry in Self.entries.prefix(end) { try writer.append(entry) }
      // It is dropped with gathered and unconfirmed messages.
    }
    let last = fixture.writer(Self.options)
    guard case .resumed(let found) = try last.begin(.test) else {
      Issue.record("the queue had been started")
      return
    }
    #expect(found.messages > 0 && found.messages < size.messages)
    for entry in Self.entries { try last.append(entry) }
    #expect(try last.seal() == size)
    #expect(try contents(fixture) == expected)
    #expect(try fixture.writer().begin(.test) == .sealed(size))
  }

  @Test("finished entries aren't written again") func whatWorkersHaveFinishedIsNotWrittenAgain() async throws {
    let fixture = try await QueueFixture()
    let writer = fixture.writer(Self.options)
    _ = try writer.begin(.test)
    for entry in Self.entries { try writer.append(entry) }
    let queue = try #require(try QueueFollower(fixture.location).open())
    let worker = try TestConsumer(queue)
    try await worker.take(10_000, messages: 5)
    for message in worker.messages { worker.acknowledge(message) }
    worker.consumer.stop()
    try await worker.wait(for: "its end") { $0.condition == .stopped }

    let other = fixture.writer(Self.options)
    _ = try other.begin(.test)
    for entry in Self.entries { try other.append(entry) }
    _ = try other.seal()
    try await TestConsumer(queue, .hasty).drain()
    #expect(try QueueFollower(fixture.location).resultURLs().sorted() == Self.entries.map(\.url).sorted())
  }

  @Test("different entries are noticed", arguments: [0, 450, 899])
  func otherEntriesThanBeforeAreNoticed(index: Int) async throws {
    let fixture = try await QueueFixture()
    let writer = fixture.writer(Self.options)
    _ = try writer.begin(.test)
    for entry in Self.entries { try writer.append(entry) }
    _ = try writer.seal()
    // As if the seal had not arrived.
    _ = try fixture.connection().command(["HDEL", fixture.keys.job, "sealed"])
    var changed = Self.entries
    changed[index].line += 1
    let other = fixture.writer(Self.options)
    _ = try other.begin(.test)
    #expect(throws: QueueError.manifestsChanged(fixture.location)) {
      for entry in changed { try other.append(entry) }
      _ = try other.seal()
    }
  }

  @Test("nothing is appended after different entries") func nothingIsWrittenBehindOtherEntriesThanBefore() async throws {
    let fixture = try await QueueFixture()
    let writer = fixture.writer(Self.options)
    _ = try writer.begin(.test)
    for entry in Self.entries.prefix(500) { try writer.append(entry) }
    _ = try writer.seal()
    _ = try fixture.connection().command(["HDEL", fixture.keys.job, "sealed"])
    let before = try contents(fixture)
    var changed = Self.entries
    changed[0].line += 1
    let other = fixture.writer(Self.options)
    _ = try other.begin(.test)
    #expect(throws: QueueError.manifestsChanged(fixture.location)) {
      for entry in changed { try other.append(entry) }
      _ = try other.seal()
    }
    #expect(try contents(fixture) == before)
  }

  @Test("missing entries are noticed", arguments: [899, 64, 0])
  func fewerEntriesThanBeforeAreNoticed(count: Int) async throws {
    let fixture = try await QueueFixture()
    let writer = fixture.writer(Self.options)
    _ = try writer.begin(.test)
    for entry in Self.entries { try writer.append(entry) }
    _ = try writer.seal()
    _ = try fixture.connection().command(["HDEL", fixture.keys.job, "sealed"])
    let other = fixture.writer(Self.options)
    _ = try other.begin(.test)
    #expect(throws: QueueError.manifestsChanged(fixture.location)) {
      for entry in Self.entries.prefix(count) { try other.append(entry) }
      _ = try other.seal()
    }
  }

  @Test("another job isn't mixed in") func anotherJobIsNotMixedIn() async throws {
    let fixture = try await QueueFixture()
    _ = try fixture.writer().begin(.test)
    var other = QueuedJob.test
    other.digest = "other"
    #expect(throws: QueueError.holdsAnotherJob(fixture.location)) { try fixture.writer().begin(other) }
  }

  @Test("two writers of one job write it once") func twoWritersOfOneJobWriteItOnce() async throws {
    let fixture = try await QueueFixture()
    let writers = [fixture.writer(Self.options), fixture.writer(Self.options)]
    for writer in writers { _ = try writer.begin(.test) }
    for (index, entry) in Self.entries.enumerated() {
      // They alternate in being ahead.
      for writer in index / 100 % 2 == 0 ? writers : writers.reversed() { try writer.append(entry) }
    }
    let sizes = try writers.map { try $0.seal() }
    #expect(sizes[0] == sizes[1])
    let progress = try #require(try QueueFollower(fixture.location).progress())
    #expect(progress.written == sizes[0] && progress.openMessages == sizes[0].messages)
  }

  @Test("a writer resumes after a crash of Redis") func aWriterGoesOnAfterRedisHasCrashed() async throws {
    let fixture = try await QueueFixture()
    let writer = fixture.writer(Self.options)
    _ = try writer.begin(.test)
    for entry in Self.entries.prefix(500) { try writer.append(entry) }
    try await fixture.server.restart()
    for entry in Self.entries.dropFirst(500) { try writer.append(entry) }
    _ = try writer.seal()
    try await TestConsumer(try #require(try QueueFollower(fixture.location).open())).drain()
    #expect(try QueueFollower(fixture.location).resultURLs().sorted() == Self.entries.map(\.url).sorted())
  }

  @Test("a writer that may not wait is interrupted") func aWriterThatMayNotWaitIsInterrupted() async throws {
    let fixture = try await QueueFixture()
    let why = Watched<QueueWait?>(nil)
    let writer = fixture.writer(Self.options) { wait in
      why.withLock { $0 = wait }
      return false
    }
    _ = try writer.begin(.test)
    try await fixture.server.stop()
    #expect(throws: QueueError.interrupted) {
      for entry in Self.entries { try writer.append(entry) }
      _ = try writer.seal()
    }
    guard case .forRedis(let error) = why.value else {
      Issue.record("it waits for something else")
      return
    }
    #expect(error.description.contains(fixture.server.host))
  }

  @Test("a full queue delays the writer until workers have finished entries")
  func aFullQueueHoldsTheWriterUpUntilWorkersHaveFinishedSome() async throws {
    let fixture = try await QueueFixture()
    var options = Self.options
    options.maximumQueuedEntries = 300
    let waits = Watched(0)
    let writer = fixture.writer(options) { _ in
      waits.withLock { $0 += 1 }
      return true
    }
    _ = try writer.begin(.test)
    let queue = try #require(try QueueFollower(fixture.location).open())
    let follower = QueueFollower(fixture.location)
    async let drained: Void = {
      try await waits.wait(for: "the writer to wait") { $0 > 0 }
      let progress = try #require(try QueueFollower(fixture.location).progress())
      #expect(progress.written.entries <= 300 + 64)
      try await TestConsumer(queue).drain()
    }()
    let size = try await Task.detached { [writer = Unchecked(writer)] in
      for entry in Self.entries { try writer.value.append(entry) }
      return try writer.value.seal()
    }.value
    try await drained
    #expect(size.entries == 900)
    #expect(try follower.progress()?.finalEntries == 900)
  }

  @Test("messages that Redis lost are reported at the end") func messagesThatRedisHasLostAreToldOfAtTheEnd() async throws {
    let fixture = try await QueueFixture()
    let writer = fixture.writer()
    _ = try writer.begin(.test)
    for entry in TestEntry.many(64) { try writer.append(entry) }
    // Waits for the reply.
    try writer.add([QueuedManifest(name: "list.txt", file: nil)], from: 0)
    _ = try fixture.connection().command(["HSET", fixture.keys.job, "written", 0])
    let error = #expect(throws: QueueError.self) { try writer.seal() }
    expectGolden(error?.description)
  }

  @Test("a URL that is too long is named by manifest and line") func aURLThatIsTooLongIsNamedByItsManifestAndLine() async throws {
    let fixture = try await QueueFixture()
    let writer = fixture.writer()
    _ = try writer.begin(.test)
    try writer.add([QueuedManifest(name: "list.txt", file: nil)], from: 0)
    for (manifest, name) in [(UInt32(0), "list.txt"), (1, "list 2")] {
      let url = String(repeating: "u", count: QueuedMessage.maximumURLBytes + 1)
      let error = #expect(throws: QueueError.self) { try writer.append(TestEntry(url: url, manifest: manifest, line: 7)) }
      #expect(error == .entryTooLong(manifest: name, line: 7))
      #expect(error?.description.contains("line 7 of \(name)") == true)
    }
  }

  @Test("a foreign message in the way is an error") func aStrangersMessageInTheWayIsAnError() async throws {
    let fixture = try await QueueFixture()
    let writer = fixture.writer(Self.options)
    _ = try writer.begin(.test)
    let stream = fixture.keys.stream(QueueStream(priority: .normal, isRetry: false))
    _ = try fixture.connection().command(["XADD", stream, "999999-0", "m", "x"])
    #expect(throws: QueueError.self) {
      for entry in Self.entries { try writer.append(entry) }
      _ = try writer.seal()
    }
  }
}

/// A value that a test passes to one other task and doesn't touch meanwhile.
struct Unchecked<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
