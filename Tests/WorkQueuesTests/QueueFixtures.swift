import ImagePrimitives
import RedisClient
import TestSupport
import Testing

@testable import WorkQueues

/// A server and the location of a queue on it.
struct QueueFixture {
  let server: RedisServer
  let location: QueueLocation

  init(settings: [String] = [], name: String = "test") async throws {
    server = try await RedisServer(settings: settings)
    location = QueueLocation(try RedisAddress(server.url), name: try #require(QueueName(name)))
  }

  var keys: QueueKeys { QueueKeys(location.name) }

  func connection() throws -> RedisConnection { try RedisConnection(location.address) }

  func writer(_ options: QueueWriter.Options = .init(), waiting: @escaping (QueueWait) -> Bool = { _ in true }) -> QueueWriter {
    QueueWriter(location, options: options, waiting: waiting)
  }

  /// Fills and seals a queue with these entries, and opens it.
  func fill(_ entries: [TestEntry], job: QueuedJob = .test) throws -> OpenQueue {
    let writer = writer()
    #expect(try writer.begin(job) == .new)
    for entry in entries { try writer.append(entry) }
    let size = try writer.seal()
    #expect(size.entries == UInt64(entries.count))
    return try #require(try QueueFollower(location).open())
  }

  /// A consumer that takes over messages without waiting.
  func hastyConsumer(_ queue: OpenQueue) throws -> TestConsumer { try TestConsumer(queue, .hasty) }
}

extension QueueFixture {
  /// Delivers all messages to a worker that then crashes.
  func takeAsAnother() throws {
    let connection = try connection()
    for stream in keys.streams {
      _ = try connection.command(["XREADGROUP", "GROUP", "workers", "dead", "COUNT", "1000", "STREAMS", stream, ">"])
    }
  }

  /// Makes all messages of ``takeAsAnother()`` idle for a day.
  func letAllBeForsaken() throws {
    let connection = try connection()
    for stream in keys.streams {
      let pending = try connection.command(["XPENDING", stream, "workers", "-", "+", "1000"]).array ?? []
      let ids = pending.compactMap { $0.array?.first?.bytes.map { RedisArgument($0) } }
      if ids.isEmpty { continue }
      _ = try connection.command(["XCLAIM", stream, "workers", "dead", 0] + ids + ["IDLE", "86400000", "JUSTID"])
    }
  }

  /// Stops the server, and waits until it has stopped.
  func silence() async throws {
    server.pause()
    try await poll("a silent server") {
      do throws(RedisError) {
        _ = try RedisConnection(location.address, timeouts: .init(connect: .milliseconds(100), answer: .milliseconds(100)))
        return false
      } catch {
        return true
      }
    }
  }

  /// Lets a worker take over all messages and crash.
  func takeOverAsAnother() throws {
    let connection = try connection()
    for stream in keys.streams {
      _ = try connection.command(["XAUTOCLAIM", stream, "workers", "dead", 0, "0-0", "COUNT", "1000"])
    }
  }

  /// Lets two workers lose all `count` entries of a queue: in messages as they were written, and each alone.
  func loseTwice(_ count: Int, of queue: OpenQueue) async throws {
    try takeAsAnother()
    let first = try hastyConsumer(queue)
    try await first.take(count, messages: count)
    #expect(first.messages.allSatisfy { $0.entries.count == 1 && $0.deliveries == 2 })
    first.consumer.stop()
    first.consumer.join()
    try takeOverAsAnother()
  }

  /// Lets another worker take over that message.
  func claimAsAnother(_ id: QueuedMessage.ID) throws {
    _ = try connection().command(["XCLAIM", keys.stream(id.stream), "workers", "other", 0, RedisArgument(id.text)])
  }

  /// Redis' data about a held message: id, owner, idle milliseconds, deliveries.
  func pending(_ id: QueuedMessage.ID) throws -> [RedisReply] {
    let reply = try connection().command([
      "XPENDING", keys.stream(id.stream), "workers", RedisArgument(id.text), RedisArgument(id.text), 1,
    ])
    return reply.array?.first?.array ?? []
  }

  func owner(of id: QueuedMessage.ID) throws -> RedisArgument { RedisArgument(try pending(id)[1].bytes ?? []) }
}

extension QueuedJob {
  static let test = QueuedJob(
    contents: Array("job".utf8),
    digest: "digest",
    variantCount: 1,
    created: Timestamp(milliseconds: 1_800_000_000_000)
  )
}

extension QueueConsumer.Options {
  /// Takes over after a millisecond, so that tests needn't wait. Constantly renews its own messages.
  static var hasty: QueueConsumer.Options {
    var options = QueueConsumer.Options()
    options.takeOverAfter = .milliseconds(1)
    options.takeOverInterval = .milliseconds(1)
    return options
  }
}

/// An entry with its host.
struct TestEntry: Hashable {
  var url: String
  var host = "host"
  var manifest: UInt32 = 0
  var line: UInt64 = 1
  var priority = LoadPriority.normal

  static func many(_ count: Int, hosts: Int = 1, priority: LoadPriority = .normal) -> [TestEntry] {
    (1...count).map {
      TestEntry(url: "http://h\($0 % hosts)/\($0).jpg", host: "h\($0 % hosts)", line: UInt64($0), priority: priority)
    }
  }
}

extension QueueWriter {
  func append(_ entry: TestEntry, state: NewQueuedEntry.State = .good) throws(QueueError) {
    let url = Array(entry.url.utf8)
    let host = Array(entry.host.utf8)
    try url.withRawBytes { url throws(QueueError) in
      try host.withRawBytes { host throws(QueueError) in
        try append(
          NewQueuedEntry(url: url, manifest: entry.manifest, line: entry.line, state: state),
          host: host,
          priority: entry.priority
        )
      }
    }
  }
}

extension QueuedMessage {
  var urls: [String] { entries.map { String(decoding: bytes[$0.url], as: UTF8.self) } }
}

/// A consumer that collects its news.
final class TestConsumer {
  let consumer: QueueConsumer
  var messages: [QueuedMessage] = []
  var lost: [QueuedMessage.ID] = []
  var othersNeedWork = false
  var condition = QueueConsumer.Condition.waiting("")

  init(_ queue: OpenQueue, _ options: QueueConsumer.Options = .init()) throws {
    consumer = try QueueConsumer(queue, options: options)
  }

  func update() {
    let news = consumer.takeNews()
    messages += news.messages
    lost += news.lost
    othersNeedWork = othersNeedWork || news.othersNeedWork
    condition = news.condition
  }

  /// Waits until the news satisfy a condition.
  func wait(for what: String, _ isMet: (TestConsumer) -> Bool) async throws {
    try await poll(what) {
      update()
      return isMet(self)
    }
  }

  /// Requests entries and waits until that many messages have arrived.
  func take(_ entries: Int, messages count: Int) async throws {
    consumer.take(maximumEntries: entries)
    try await wait(for: "\(count) messages") { $0.messages.count >= count }
  }

  /// Requests `count` entries, and acknowledges each when the previous one was confirmed.
  func takeOneByOne(_ count: Int) async throws {
    try await take(count, messages: 1)
    for held in 1...count {
      try await take(0, messages: held)
      #expect(messages.count == held)
      acknowledge(messages[held - 1])
    }
  }

  /// Reports that all entries of the message were downloaded; its URLs are the result.
  func acknowledge(_ message: QueuedMessage) {
    var counts = [UInt64](repeating: 0, count: LoadOutcome.allCases.count)
    counts[Int(LoadOutcome.downloaded.rawValue)] = UInt64(message.entries.count)
    consumer.acknowledge(Settlement(of: message, results: [Array(message.urls.joined(separator: "\n").utf8)], counts: counts))
  }

  /// Processes all messages until the queue is drained.
  func drain() async throws {
    consumer.take(maximumEntries: 200)
    try await wait(for: "the queue to be drained") { test in
      for message in test.messages {
        test.acknowledge(message)
        test.consumer.take(maximumEntries: max(1, message.entries.count))
      }
      test.messages = []
      return test.condition == .drained
    }
    consumer.join()
  }
}

extension QueueFollower {
  /// The URLs of all results, as ``TestConsumer/acknowledge(_:)`` writes them.
  func resultURLs() throws -> [String] {
    var urls: [String] = []
    var position = QueueResult.ID.start
    while true {
      let page = try results(after: position)
      guard let last = page.last else { return urls }
      position = last.id
      for result in page {
        urls += String(decoding: result.payload ?? [], as: UTF8.self).split(separator: "\n").map(String.init)
      }
    }
  }
}
