#if Queue
import CXXHash
public import ImagePrimitives
public import RedisClient

/// Fills a queue: gathers entries into messages of one host each, and numbers them so that a writer that was stopped anywhere can
/// go on.
///
/// The same entries in the same order make the same messages with the same numbers. What is in the queue already is not sent
/// again, and a hash over all that was sent tells whether the entries are still the same. For one thread; where Redis cannot be
/// reached, calls wait.
public final class QueueWriter {
  /// How much is held and sent at once.
  public struct Options: Sendable, Hashable {
    /// How many entries the queue may hold that no worker has finished; at more, adding waits. 1,000,000 by default.
    public var maximumQueuedEntries: UInt64 = 1_000_000
    /// How many messages may be on their way; 128 by default, at least 1.
    public var maximumMessagesInFlight = 128
    /// How many entries wait for others of their host; 16,384 by default. A queue has to be resumed with the same number.
    public var maximumGatheredEntries = 16_384
    /// How long to wait for Redis.
    public var timeouts = RedisConnection.Timeouts()

    /// The defaults.
    public init() {}
  }

  /// What ``QueueWriter/begin(_:)`` found.
  public enum Beginning: Sendable, Hashable {
    /// Nothing: the queue begins.
    case new
    /// The same job, written so far.
    case resumed(QueueSize)
    /// The same job, written to its end.
    case sealed(QueueSize)
  }

  var link: WriterLink
  private var gatherer: EntryGatherer
  private(set) var filling = ""
  /// What the manifests are called, by their index.
  var manifestNames: [Int: String] = [:]
  /// What was in the queue when it was begun.
  private var found = QueueSize(entries: 0, messages: 0)
  private var size = QueueSize(entries: 0, messages: 0)
  private var chain: UInt64 = 0
  /// How many entries were final when that was asked last.
  private var finalEntries: UInt64 = 0

  /// A writer for the queue at `location`.
  ///
  /// - Parameter waiting: Called about ten times a second while a call waits, with what for; where it returns false, the call
  ///   throws ``QueueError/interrupted``.
  public init(_ location: QueueLocation, options: Options = Options(), waiting: @escaping (QueueWait) -> Bool) {
    link = WriterLink(location, options: options, waiting: waiting)
    gatherer = EntryGatherer(maximumEntries: options.maximumGatheredEntries)
  }

  /// Begins the queue, or goes on with it; to be called once, before all else.
  ///
  /// - Throws: ``QueueError``: `holdsAnotherJob` where its job's digest is another.
  public func begin(_ job: QueuedJob) throws(QueueError) -> Beginning {
    let drawn = String(UInt64.random(in: 1...UInt64.max), radix: 16) + String(UInt64.random(in: 1...UInt64.max), radix: 16)
    let keys = link.keys
    let arguments: [RedisArgument] = [
      RedisArgument(job.digest), RedisArgument(job.contents), RedisArgument(job.variantCount),
      RedisArgument(job.created.milliseconds),
      RedisArgument(drawn), RedisArgument(chain),
    ]
    var answer: [RedisReply] = []
    try link.retrying { _, connection throws(RedisError) in
      answer = try connection.run(WriterScripts.begin, keys: keys.all, arguments).array ?? []
    }
    guard answer.count == 5, let digest = answer[0].text, let filling = answer[1].text,
      let messages = answer[2].integer.flatMap(UInt64.init(exactly:)), messages <= QueueSize.maximum,
      let entries = answer[3].integer.flatMap(UInt64.init(exactly:)), entries <= QueueSize.maximum
    else { throw .unreadable(link.location, what: "its key 'job' is none of prewarm's") }
    guard digest == job.digest else { throw .holdsAnotherJob(link.location) }
    self.filling = filling
    found = QueueSize(entries: entries, messages: messages)
    if answer[4] != .null { return .sealed(found) }
    return filling == drawn ? .new : .resumed(found)
  }

  /// Adds an entry; `host` is that of its URL, empty where it has none.
  ///
  /// - Throws: ``QueueError``: `manifestsChanged` where the queue was begun with other entries; this may show late, at the
  ///   latest in ``seal()``.
  public func append(_ entry: NewQueuedEntry, host: UnsafeRawBufferPointer, priority: Priority) throws(QueueError) {
    var entry = entry
    if entry.url.count > QueuedMessage.maximumURLBytes {
      if case .good = entry.state { throw .entryTooLong(manifest: name(of: entry.manifest), line: entry.line) }
      entry.url = UnsafeRawBufferPointer(rebasing: entry.url.prefix(QueuedMessage.maximumURLBytes))
    }
    gatherer.add(entry, key: EntryGatherer.Key(priority: priority, host: XXH3_64bits(host.baseAddress, host.count)))
    while let message = gatherer.next() { try send(message) }
  }

  /// Sends what is gathered, and writes down that this is all: nothing can be added any more.
  ///
  /// - Parameter remarks: what there is to tell of the lists; see ``QueueFollower/remarks()``.
  /// - Returns: What the queue has been given, over all its writers.
  public func seal(_ remarks: ListRemarks = ListRemarks()) throws(QueueError) -> QueueSize {
    while let message = gatherer.takeOldest() { try send(message) }
    try link.finish()
    guard size.messages >= found.messages else { throw .manifestsChanged(link.location) }
    let keys = link.keys
    let arguments = [RedisArgument(filling), RedisArgument(size.messages), RedisArgument(chain)] + remarks.fields
    var answer = RedisReply.null
    try link.retrying { _, connection throws(RedisError) in
      answer = try connection.run(WriterScripts.seal, keys: [keys.job], arguments)
    }
    try link.check(answer)
    return size
  }

  private func send(_ message: EntryGatherer.Message) throws(QueueError) {
    let before = chain
    chain = Self.chained(before, message)
    size.messages += 1
    size.entries += UInt64(message.entryCount)
    guard size.messages > found.messages else { return }
    try waitForRoom()
    let stream = link.keys.stream(QueueStream(priority: message.priority, isRetry: false))
    try link.send(
      ScriptCall(
        WriterScripts.append,
        keys: [link.keys.job, stream],
        [
          RedisArgument(filling), RedisArgument(size.messages), RedisArgument(before), RedisArgument(chain),
          RedisArgument(size.entries), RedisArgument(message.bytes), RedisArgument(message.entryCount),
        ]
      )
    )
  }

  /// The hash over all messages up to `message`.
  private static func chained(_ before: UInt64, _ message: EntryGatherer.Message) -> UInt64 {
    message.bytes.withUnsafeBytes {
      XXH3_64bits_withSeed($0.baseAddress, $0.count, before &* 31 &+ UInt64(message.priority.rawValue))
    }
  }

  private func waitForRoom() throws(QueueError) {
    let maximum = link.options.maximumQueuedEntries
    while size.entries > finalEntries, size.entries - finalEntries > maximum {
      try link.finish()
      let keys = link.keys
      var answer = RedisReply.null
      try link.retrying { _, connection throws(RedisError) in
        answer = try connection.command(["HGET", keys.totals, TotalsField.entries])
      }
      finalEntries = answer.count
      guard size.entries > finalEntries, size.entries - finalEntries > maximum else { return }
      try link.nap(.milliseconds(200), .forWorkers(maximumEntries: maximum))
    }
  }
}

extension QueueWriter {
  /// So many manifests are told at a time.
  private static let manifestsAtOnce = 1000

  /// Writes down what manifests are called, the first of which has that index, to be done before their entries are added; a
  /// second time does no harm.
  public func add(_ manifests: [QueuedManifest], from first: Int) throws(QueueError) {
    for start in stride(from: 0, to: manifests.count, by: Self.manifestsAtOnce) {
      var arguments = [RedisArgument(filling)]
      for (offset, manifest) in manifests.enumerated().dropFirst(start).prefix(Self.manifestsAtOnce) {
        manifestNames[first + offset] = manifest.name
        arguments += [RedisArgument(QueuedManifest.nameField(first + offset)), RedisArgument(manifest.name)]
        guard let file = manifest.file else { continue }
        arguments += [RedisArgument(QueuedManifest.fileField(first + offset)), RedisArgument(file)]
      }
      try describe(arguments)
    }
  }

  private func describe(_ arguments: [RedisArgument]) throws(QueueError) {
    try link.finish()
    let keys = link.keys
    var answer = RedisReply.null
    try link.retrying { _, connection throws(RedisError) in
      answer = try connection.run(WriterScripts.describe, keys: [keys.job], arguments)
    }
    try link.check(answer)
  }

  /// What errors call the manifest of that index.
  func name(of manifest: UInt32) -> String { manifestNames[Int(manifest)] ?? "manifest \(UInt64(manifest) + 1)" }
}

extension WriterScripts {
  /// `KEYS`: job. `ARGV`: filling, then fields and values.
  static let describe = RedisScript(
    name: "describe",
    source: """
      if redis.call('HGET', KEYS[1], 'filling') ~= ARGV[1] then return 'REPLACED' end
      redis.call('HSET', KEYS[1], unpack(ARGV, 2))
      return 'WRITTEN'
      """
  )
}

/// What a ``QueueWriter`` waits for.
public enum QueueWait: Sendable, Hashable {
  /// The queue holds that many entries, and workers have to finish some.
  case forWorkers(maximumEntries: UInt64)
  /// Redis cannot be reached or takes nothing for the time being.
  case forRedis(RedisError)
}
#endif
