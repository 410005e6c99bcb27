#if Queue
import ImagePrimitives
public import RedisClient

/// Reads the contents, progress and results of a queue. Must be used by one thread.
///
/// Connects when first used, and again after an error. A call that throws ``QueueError/redis(_:)`` with an
/// `unavailable` error may succeed later.
public final class QueueFollower {
  let location: QueueLocation
  let keys: QueueKeys
  private let timeouts: RedisConnection.Timeouts
  private var connection: RedisConnection?
  /// Identifies the last filling that was found.
  private var filling: String?

  /// Creates a follower of the queue at `location`.
  public init(_ location: QueueLocation, timeouts: RedisConnection.Timeouts = .init()) {
    self.location = location
    self.timeouts = timeouts
    keys = QueueKeys(location.name)
  }

  /// Returns the queue as it is filled now; nil if there is none.
  public func open() throws(QueueError) -> OpenQueue? {
    filling = nil
    let fields = try command(["HMGET", keys.job, "digest", "contents", "variants", "created", "filling"]).array ?? []
    if fields.allSatisfy({ $0 == .null }) { return nil }
    guard fields.count == 5, let digest = fields[0].text, let contents = fields[1].bytes, let filling = fields[4].text,
      let variants = fields[2].integer, (1...Int64(QueuedJob.maximumVariants)).contains(variants),
      let created = fields[3].integer,
      (-QueuedJob.maximumMilliseconds...QueuedJob.maximumMilliseconds).contains(created)
    else { throw .unreadable(location, what: "its key 'job' wasn't written by prewarm") }
    self.filling = filling
    let job = QueuedJob(
      contents: contents,
      digest: digest,
      variantCount: Int(variants),
      created: Timestamp(milliseconds: created)
    )
    return OpenQueue(location: location, job: job, filling: filling)
  }

  /// Returns its progress; nil if there is no queue.
  public func progress() throws(QueueError) -> QueueProgress? {
    let keys = keys
    let answer = try asking { connection throws(RedisError) in try connection.run(FollowerScripts.progress, keys: keys.all) }
    guard let parts = answer.array, parts.count == 5, let job = parts[0].array, job.count == 5, let totals = parts[1].array
    else { throw .unreadable(location, what: "unknown reply to a script") }
    if job[0] == .null { return nil }
    var progress = QueueProgress()
    progress.filling = job[0].text
    progress.written = QueueSize(entries: job[2].count, messages: job[1].count)
    progress.isSealed = job[3] != .null
    progress.isReported = job[4] != .null
    progress.openMessages = parts[2].count
    progress.heldMessages = parts[3].count
    progress.workers = Int(parts[4].count)
    progress.take(totals: totals)
    return progress
  }

  /// Returns at most `maximum` results after `position`, oldest first; empty if there are no more yet. At most 16,
  /// since each may have a megabyte.
  public func results(after position: QueueResult.ID = .start, maximum: Int = 16) throws(QueueError) -> [QueueResult] {
    guard let next = position.next else { return [] }
    let answer = try command([
      "XRANGE", keys.results, RedisArgument(next.text), "+", "COUNT", RedisArgument(max(1, min(maximum, 16))),
    ])
    return (answer.array ?? []).compactMap { entry in
      guard let parts = entry.array, parts.count == 2, let id = parts[0].text.flatMap(QueueResult.ID.init) else { return nil }
      let fields = parts[1].array ?? []
      return QueueResult(id: id, payload: fields.count == 2 && fields[0].text == "r" ? fields[1].bytes : nil)
    }
  }

  /// Records that the reports on the filling last found by ``open()`` are written, see ``QueueProgress/isReported``,
  /// and removes its results, atomically.
  ///
  /// Does nothing if the queue was deleted or filled again since, or ``open()`` found none.
  public func markReported() throws(QueueError) {
    guard let filling else { return }
    try run(FollowerScripts.markReported, keys: [keys.job, keys.results], filling)
  }

  /// Removes the queue with its contents, whatever it was filled with; does nothing if there is none.
  ///
  /// Keeps the rates that its workers share: pauses that hosts requested outlast the queue, and all of these keys
  /// expire.
  public func delete() throws(QueueError) { _ = try command(["UNLINK"] + keys.all) }

  /// Removes the queue as ``delete()`` does, but only while it has the filling of `queue`.
  public func delete(_ queue: OpenQueue) throws(QueueError) { try run(FollowerScripts.delete, keys: keys.all, queue.filling) }

  private func run(_ script: RedisScript, keys: [RedisArgument], _ filling: String) throws(QueueError) {
    _ = try asking { connection throws(RedisError) in try connection.run(script, keys: keys, [RedisArgument(filling)]) }
  }

  /// Runs a script that writes nothing.
  func run(_ script: RedisScript, keys: [RedisArgument]) throws(QueueError) -> RedisReply {
    try asking { connection throws(RedisError) in try connection.run(script, keys: keys) }
  }

  func command(_ arguments: [RedisArgument]) throws(QueueError) -> RedisReply {
    try asking { connection throws(RedisError) in try connection.command(arguments) }
  }

  private func asking(_ body: (RedisConnection) throws(RedisError) -> RedisReply) throws(QueueError) -> RedisReply {
    do throws(RedisError) {
      return try body(connected())
    } catch {
      connection = nil
      throw .redis(error)
    }
  }

  private func connected() throws(RedisError) -> RedisConnection {
    if let connection { return connection }
    let new = try RedisConnection(location.address, timeouts: timeouts)
    connection = new
    return new
  }
}

extension RedisReply {
  /// A count, at most ``QueueSize/maximum``; 0 for any other reply.
  var count: UInt64 { min(integer.flatMap(UInt64.init(exactly:)) ?? 0, QueueSize.maximum) }
}

extension QueueFollower {
  /// The number of fields per request.
  private static let manifestsAtOnce = 1000

  /// Returns the names of the manifests known so far, by index.
  public func manifests() throws(QueueError) -> [QueuedManifest] {
    var manifests: [QueuedManifest] = []
    while true {
      let indices = manifests.count..<manifests.count + Self.manifestsAtOnce
      let fields = indices.flatMap { [RedisArgument(QueuedManifest.nameField($0)), RedisArgument(QueuedManifest.fileField($0))] }
      let answer = try command(["HMGET", keys.job] + fields).array ?? []
      for index in stride(from: 0, to: answer.count - 1, by: 2) {
        guard let name = answer[index].text else { return manifests }
        manifests.append(QueuedManifest(name: name, file: answer[index + 1].text))
      }
      if answer.count < 2 * Self.manifestsAtOnce { return manifests }
    }
  }

  /// Returns the remarks on the lists of a sealed queue.
  public func remarks() throws(QueueError) -> ListRemarks {
    try ListRemarks { fields throws(QueueError) in try command(["HMGET", keys.job] + fields).array ?? [] }
  }
}

extension QueueFollower {
  /// Returns the policy by which Redis evicts keys that don't expire, such as `allkeys-lru`, at its memory limit; nil
  /// if it doesn't evict them, has no limit, or doesn't say.
  ///
  /// The policies are those of `maxmemory-policy` in Redis' documentation on key eviction; `volatile-…` ones spare keys
  /// that don't expire.
  public func evictionPolicy() throws(QueueError) -> String? {
    let reply: RedisReply
    do throws(QueueError) {
      reply = try command(["INFO", "memory"])
    } catch {
      // A user without this permission may still fill a queue.
      guard case .redis(let refusal) = error, refusal.kind == .refused else { throw error }
      return nil
    }
    var fields: [Substring: Substring] = [:]
    for line in (reply.text ?? "").split(whereSeparator: \.isNewline) {
      let parts = line.split(separator: ":", maxSplits: 1)
      if parts.count == 2 { fields[parts[0]] = parts[1] }
    }
    guard let policy = fields["maxmemory_policy"], policy.hasPrefix("allkeys"), fields["maxmemory"] != "0" else { return nil }
    return String(policy)
  }
}

/// The atomic operations of a follower in Redis.
enum FollowerScripts {
  /// How long after its last sign a worker counts as alive.
  static let workerSeconds = 30

  /// `KEYS`: job, totals, results, blacklist, workers, then the streams. Returns fields of the job, the totals, and the
  /// numbers of open messages, held messages and live workers.
  static let progress = RedisScript(
    name: "progress",
    source: """
      local open, held = 0, 0
      for i = 6, #KEYS do
        open = open + redis.call('XLEN', KEYS[i])
        held = held + (tonumber(redis.pcall('XPENDING', KEYS[i], 'workers')[1]) or 0)
      end
      local now = tonumber(redis.call('TIME')[1])
      local workers = redis.call('ZCOUNT', KEYS[5], now - \(workerSeconds), '+inf')
      return {redis.call('HMGET', KEYS[1], 'filling', 'written', 'entries', 'sealed', 'reported'), redis.call('HGETALL', KEYS[2]),
        open, held, workers}
      """
  )

  /// `KEYS`: job, results. `ARGV`: filling. Returns 1, or 0 if the queue has another filling or doesn't exist.
  ///
  /// Removes the results in the same step: they aren't needed any more, and those of another filling are never touched.
  static let markReported = RedisScript(
    name: "markReported",
    source: """
      if redis.call('HGET', KEYS[1], 'filling') ~= ARGV[1] then return 0 end
      redis.call('HSET', KEYS[1], 'reported', 1)
      redis.call('UNLINK', KEYS[2])
      return 1
      """
  )

  /// `KEYS`: job, then all other keys. `ARGV`: filling. Returns 1, or 0 if the queue has another filling or doesn't
  /// exist.
  static let delete = RedisScript(
    name: "delete",
    source: """
      if redis.call('HGET', KEYS[1], 'filling') ~= ARGV[1] then return 0 end
      redis.call('UNLINK', unpack(KEYS))
      return 1
      """
  )
}
#endif
