#if Queue
import DequeModule
import Glibc
import ImagePrimitives
import RedisClient

/// A writer's connection: sends many messages at a time, and sends unconfirmed ones again on the next connection.
struct WriterLink {
  private static let napMilliseconds: Int64 = 100

  let location: QueueLocation
  let options: QueueWriter.Options
  let keys: QueueKeys
  let waiting: (QueueWait) -> Bool

  private var connection: RedisConnection?
  private var backoff = ReconnectBackoff()
  /// Messages that aren't confirmed, sent or not.
  private var inFlight = Deque<ScriptCall>()
  private var answersOnConnection = 0
  /// Whether the server has ever accepted writes.
  private var hasWritten = false

  init(_ location: QueueLocation, options: QueueWriter.Options, waiting: @escaping (QueueWait) -> Bool) {
    self.location = location
    self.options = options
    self.waiting = waiting
    keys = QueueKeys(location.name)
  }

  /// Sends a message; if many are unconfirmed, waits until half of them are confirmed.
  mutating func send(_ message: ScriptCall) throws(QueueError) {
    inFlight.append(message)
    try retrying { link, connection throws(RedisError) in
      if link.inFlight.count == connection.pendingReplies + 1 { connection.append(message) }
    }
    if inFlight.count >= options.maximumMessagesInFlight { try finish(downTo: options.maximumMessagesInFlight / 2) }
  }

  /// Waits until at most `count` messages are unconfirmed.
  mutating func finish(downTo count: Int = 0) throws(QueueError) {
    while inFlight.count > count {
      var answer = RedisReply.null
      try retrying { link, connection throws(RedisError) in
        answer = try connection.reply()
        if case .error(let text) = answer, !text.hasPrefix("NOSCRIPT") {
          throw RedisError(answer: text, from: connection.address)
        }
      }
      switch answer.text {
      // Redis has lost the scripts: the next connection loads them.
      case nil: connection = nil
      case "GAP":
        // After a refused message, those behind it are refused too, and all of them are sent again.
        if answersOnConnection == 0 { try check(answer) }
        connection = nil
      default:
        try check(answer)
        inFlight.removeFirst()
        answersOnConnection += 1
      }
    }
  }

  /// Runs `body` on a connection after sending all unconfirmed messages; repeats it as often as needed.
  mutating func retrying(
    _ body: (inout WriterLink, RedisConnection) throws(RedisError) -> Void
  ) throws(QueueError) {
    while true {
      do throws(RedisError) {
        try body(&self, connected())
        backoff.reset()
        return
      } catch {
        connection = nil
        guard error.passes(hasWritten: hasWritten) else { throw .redis(error) }
        try nap(backoff.next(), .forRedis(error))
      }
    }
  }

  /// Waits, and asks several times a second whether to continue.
  func nap(_ duration: Duration, _ why: QueueWait) throws(QueueError) {
    var left = duration.wholeMilliseconds
    repeat {
      guard waiting(why) else { throw .interrupted }
      usleep(UInt32(min(max(left, 0), Self.napMilliseconds)) * 1000)
      left -= Self.napMilliseconds
    } while left > 0
  }

  /// Throws if a reply shows that the queue was changed by others.
  mutating func check(_ answer: RedisReply) throws(QueueError) {
    switch answer.text {
    case "WRITTEN": hasWritten = true
    case "CHANGED": throw .manifestsChanged(location)
    case "REPLACED": throw .holdsAnotherJob(location)
    case "GAP": throw .unreadable(location, what: "Redis has lost messages that it had confirmed")
    default: throw .unreadable(location, what: "unknown reply to a script")
    }
  }

  private mutating func connected() throws(RedisError) -> RedisConnection {
    if let connection { return connection }
    let connection = try RedisConnection(location.address, timeouts: options.timeouts)
    for script in [WriterScripts.begin, WriterScripts.append, WriterScripts.seal] { try connection.prepare(script) }
    for message in inFlight { connection.append(message) }
    self.connection = connection
    answersOnConnection = 0
    return connection
  }
}

/// The atomic operations of a writer in Redis.
enum WriterScripts {
  /// `KEYS`: job, then all other keys; the streams start at the sixth. `ARGV`: the fields of the job, the first of
  /// which is its digest. Returns fields of the job, after creating it if there was none.
  static let begin = RedisScript(
    name: "begin",
    source: """
      if redis.call('EXISTS', KEYS[1]) == 0 then
        for i = 2, #KEYS do redis.call('UNLINK', KEYS[i]) end
        redis.call('HSET', KEYS[1], 'digest', ARGV[1], 'contents', ARGV[2], 'variants', ARGV[3], 'created', ARGV[4],
          'filling', ARGV[5], 'written', 0, 'chain', ARGV[6], 'entries', 0)
        for i = 6, #KEYS do redis.call('XGROUP', 'CREATE', KEYS[i], 'workers', '0', 'MKSTREAM') end
      end
      return redis.call('HMGET', KEYS[1], 'digest', 'filling', 'written', 'entries', 'sealed')
      """
  )

  /// `KEYS`: job, stream. `ARGV`: filling, number, the chain before and after, entries up to here, the message, its entries.
  ///
  /// A message whose number was written isn't written again, and a message is written only after the messages that its
  /// writer believes to be there. So late commands of an abandoned connection and simultaneous writers do no harm.
  static let append = RedisScript(
    name: "append",
    source: """
      local job = redis.call('HMGET', KEYS[1], 'filling', 'written', 'chain', 'sealed')
      if job[1] ~= ARGV[1] then return 'REPLACED' end
      local written, number = tonumber(job[2]), tonumber(ARGV[2])
      if number <= written then return 'WRITTEN' end
      if job[4] then return 'CHANGED' end
      if number > written + 1 then return 'GAP' end
      if job[3] ~= ARGV[3] then return 'CHANGED' end
      redis.call('XADD', KEYS[2], ARGV[2] .. '-0', 'm', ARGV[6], 'n', ARGV[7])
      redis.call('HSET', KEYS[1], 'written', ARGV[2], 'chain', ARGV[4], 'entries', ARGV[5])
      return 'WRITTEN'
      """
  )

  /// `KEYS`: job. `ARGV`: filling, number of messages, their chain, then fields of the job and their values.
  static let seal = RedisScript(
    name: "seal",
    source: """
      local job = redis.call('HMGET', KEYS[1], 'filling', 'written', 'chain')
      if job[1] ~= ARGV[1] then return 'REPLACED' end
      if tonumber(job[2]) < tonumber(ARGV[2]) then return 'GAP' end
      if job[2] ~= ARGV[2] or job[3] ~= ARGV[3] then return 'CHANGED' end
      redis.call('HSET', KEYS[1], 'sealed', 1, unpack(ARGV, 4))
      return 'WRITTEN'
      """
  )
}
#endif
