import ImagePrimitives
public import RedisClient

/// Looks at a queue from outside: what it holds, how far it is, what came out. For one thread.
///
/// It connects when it is asked for something, and anew after an error. What throws ``QueueError/redis(_:)`` with an error that
/// is `unavailable` may succeed when it is called again later.
public final class QueueFollower {
  let place: QueuePlace
  let keys: QueueKeys
  private let timeouts: RedisConnection.Timeouts
  private var connection: RedisConnection?
  /// What tells the filling that was found last from others.
  private var filling: String?

  /// A follower of the queue at `place`.
  public init(_ place: QueuePlace, timeouts: RedisConnection.Timeouts = .init()) {
    self.place = place
    self.timeouts = timeouts
    keys = QueueKeys(place.name)
  }

  /// The queue as it is filled now; nil where there is none.
  public func open() throws(QueueError) -> OpenQueue? {
    filling = nil
    let fields = try command(["HMGET", keys.job, "digest", "contents", "variants", "created", "filling"]).array ?? []
    if fields.allSatisfy({ $0 == .null }) { return nil }
    guard fields.count == 5, let digest = fields[0].text, let contents = fields[1].bytes, let filling = fields[4].text,
      let variants = fields[2].integer, (1...Int64(QueuedJob.maximumVariants)).contains(variants),
      let created = fields[3].integer,
      (-QueuedJob.maximumMilliseconds...QueuedJob.maximumMilliseconds).contains(created)
    else { throw .unreadable(place, what: "its key 'job' is none of prewarm's") }
    self.filling = filling
    let job = QueuedJob(
      contents: contents,
      digest: digest,
      variantCount: Int(variants),
      created: Timestamp(milliseconds: created)
    )
    return OpenQueue(place: place, job: job, filling: filling)
  }

  /// How far it is; nil where there is no queue.
  public func progress() throws(QueueError) -> QueueProgress? {
    let keys = keys
    let answer = try asking { connection throws(RedisError) in try connection.run(FollowerScripts.progress, keys: keys.all) }
    guard let parts = answer.array, parts.count == 5, let job = parts[0].array, job.count == 5, let totals = parts[1].array
    else { throw .unreadable(place, what: "it answered a script in an unknown way") }
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

  /// At most `maximum` results behind `position`, oldest first; none where there are no more yet. At most 16, since each may have
  /// a megabyte.
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

  /// Writes down that the reports on the filling that ``open()`` found last are written, see ``QueueProgress/isReported``, and
  /// removes its results, in one step.
  ///
  /// Where the queue was deleted or filled anew since, or ``open()`` found none, nothing happens.
  public func markReported() throws(QueueError) {
    guard let filling else { return }
    try run(FollowerScripts.markReported, keys: [keys.job, keys.results], filling)
  }

  /// Removes the queue with all it holds, whatever it was filled with; where there is none, nothing happens.
  ///
  /// What its workers share about rates stays: pauses that hosts have asked for outlast the queue, and all of it expires.
  public func delete() throws(QueueError) { _ = try command(["UNLINK"] + keys.all) }

  /// Removes the queue as ``delete()`` does, but only while it is filled as `queue` says: what others have filled it with since
  /// stays.
  public func delete(_ queue: OpenQueue) throws(QueueError) { try run(FollowerScripts.delete, keys: keys.all, queue.filling) }

  private func run(_ script: RedisScript, keys: [RedisArgument], _ filling: String) throws(QueueError) {
    _ = try asking { connection throws(RedisError) in try connection.run(script, keys: keys, [RedisArgument(filling)]) }
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
    let new = try RedisConnection(place.address, timeouts: timeouts)
    connection = new
    return new
  }
}

extension RedisReply {
  /// A count, at most ``QueueSize/maximum``, which is 0 where it is anything else.
  var count: UInt64 { min(integer.flatMap(UInt64.init(exactly:)) ?? 0, QueueSize.maximum) }
}
