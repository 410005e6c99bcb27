#if Queue
import CXXHash
public import ImagePrimitives
public import RedisClient

/// Fills a queue: gathers entries into messages of one host each, and numbers them so that an interrupted writer can
/// resume.
///
/// The same entries in the same order make the same messages with the same numbers. Messages that are already in the
/// queue aren't sent again, and a hash over all messages shows whether the entries are still the same. Must be used by
/// one thread; if Redis is unreachable, calls wait.
public final class QueueWriter {
  /// Limits of memory and of the queue.
  public struct Options: Sendable, Hashable {
    /// The maximum number of unfinished entries in the queue; adding waits at the limit. Default: 1,000,000.
    public var maximumQueuedEntries: UInt64 = 1_000_000
    /// The maximum number of unconfirmed messages, at least 1. Default: 128.
    public var maximumMessagesInFlight = 128
    /// The maximum number of entries that wait for others of their host. Default: 16,384. A queue must be resumed with
    /// the same number.
    public var maximumGatheredEntries = 16_384
    /// The timeouts of the connection.
    public var timeouts = RedisConnection.Timeouts()

    /// Creates the default limits.
    public init() {}
  }

  /// The result of ``QueueWriter/begin(_:)``.
  public enum Beginning: Sendable, Hashable {
    /// A new queue.
    case new
    /// The same job, partly written.
    case resumed(QueueSize)
    /// The same job, completely written.
    case sealed(QueueSize)
  }

  var link: WriterLink
  private var gatherer: EntryGatherer
  private(set) var filling = ""
  /// The names of the manifests, by index.
  var manifestNames: [Int: String] = [:]
  /// The size of the queue before this writer.
  private var found = QueueSize(entries: 0, messages: 0)
  private var size = QueueSize(entries: 0, messages: 0)
  private var chain: UInt64 = 0
  /// The last known number of final entries.
  private var finalEntries: UInt64 = 0

  /// Creates a writer for the queue at `location`.
  ///
  /// - Parameter waiting: Called about ten times a second while a call waits, with the reason; if it returns false, the
  ///   call throws ``QueueError/interrupted``.
  public init(_ location: QueueLocation, options: Options = Options(), waiting: @escaping (QueueWait) -> Bool) {
    link = WriterLink(location, options: options, waiting: waiting)
    gatherer = EntryGatherer(maximumEntries: options.maximumGatheredEntries)
  }

  /// Starts or resumes the queue; must be called once, before anything else.
  ///
  /// - Throws: ``QueueError``: `holdsAnotherJob` if the digest of its job differs.
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
    else { throw .unreadable(link.location, what: "its key 'job' wasn't written by prewarm") }
    guard digest == job.digest else { throw .holdsAnotherJob(link.location) }
    self.filling = filling
    found = QueueSize(entries: entries, messages: messages)
    if answer[4] != .null { return .sealed(found) }
    return filling == drawn ? .new : .resumed(found)
  }

  /// Adds an entry; `host` is that of its URL, empty if it has none.
  ///
  /// - Throws: ``QueueError``: `manifestsChanged` if the queue was started with other entries; this may be detected
  ///   later, at the latest by ``seal()``.
  public func append(_ entry: NewQueuedEntry, host: UnsafeRawBufferPointer, priority: LoadPriority) throws(QueueError) {
    var entry = entry
    if entry.url.count > QueuedMessage.maximumURLBytes {
      if case .good = entry.state { throw .entryTooLong(manifest: name(of: entry.manifest), line: entry.line) }
      entry.url = UnsafeRawBufferPointer(rebasing: entry.url.prefix(QueuedMessage.maximumURLBytes))
    }
    gatherer.add(entry, key: EntryGatherer.Key(priority: priority, host: XXH3_64bits(host.baseAddress, host.count)))
    while let message = gatherer.next() { try send(message) }
  }

  /// Sends the gathered entries and marks the queue as complete; nothing can be added afterwards.
  ///
  /// - Parameter remarks: remarks on the lists; see ``QueueFollower/remarks()``.
  /// - Returns: The size of the queue, including messages of earlier writers.
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
  /// The number of manifests per request.
  private static let manifestsAtOnce = 1000

  /// Writes the names of manifests, the first of which has that index; must be called before their entries are added.
  /// May be repeated.
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

  /// The name of the manifest with that index in errors.
  func name(of manifest: UInt32) -> String { manifestNames[Int(manifest)] ?? "list \(UInt64(manifest) + 1)" }
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

/// The reason why a ``QueueWriter`` waits.
public enum QueueWait: Sendable, Hashable {
  /// The queue contains that many entries, and workers must finish some first.
  case forWorkers(maximumEntries: UInt64)
  /// Redis is unreachable or accepts nothing at the moment.
  case forRedis(RedisError)
}
#endif
