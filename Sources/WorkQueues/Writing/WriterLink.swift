import DequeModule
import Glibc
import ImagePrimitives
import RedisClient

/// A writer's connection: messages leave many at a time, and those that were not answered leave again on the next connection.
struct WriterLink {
  private static let napMilliseconds: Int64 = 100

  let place: QueuePlace
  let options: QueueWriter.Options
  let keys: QueueKeys
  let waiting: (QueueWait) -> Bool

  private var connection: RedisConnection?
  private var backoff = ReconnectBackoff()
  /// Sent or to be sent, not answered.
  private var inFlight = Deque<ScriptCall>()
  private var answersOnConnection = 0
  /// Whether the server was ever one that takes writes.
  private var hasWritten = false

  init(_ place: QueuePlace, options: QueueWriter.Options, waiting: @escaping (QueueWait) -> Bool) {
    self.place = place
    self.options = options
    self.waiting = waiting
    keys = QueueKeys(place.name)
  }

  /// Sends a message; where many are on their way, it waits for answers to half of them.
  mutating func send(_ message: ScriptCall) throws(QueueError) {
    inFlight.append(message)
    try retrying { link, connection throws(RedisError) in
      if link.inFlight.count == connection.pendingReplies + 1 { connection.append(message) }
    }
    if inFlight.count >= options.maximumMessagesInFlight { try finish(downTo: options.maximumMessagesInFlight / 2) }
  }

  /// Waits until no more than `count` messages have not been answered.
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
      // Scripts were forgotten: the next connection makes them known.
      case nil: connection = nil
      case "GAP":
        // What was sent behind a message that was refused is refused too, and all of it is sent again.
        if answersOnConnection == 0 { try check(answer) }
        connection = nil
      default:
        try check(answer)
        inFlight.removeFirst()
        answersOnConnection += 1
      }
    }
  }

  /// Does `body` on a connection on which all that is in flight has been sent, as often as it takes.
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

  /// Waits, and asks several times a second whether to go on.
  func nap(_ duration: Duration, _ why: QueueWait) throws(QueueError) {
    var left = duration.wholeMilliseconds
    repeat {
      guard waiting(why) else { throw .interrupted }
      usleep(UInt32(min(max(left, 0), Self.napMilliseconds)) * 1000)
      left -= Self.napMilliseconds
    } while left > 0
  }

  /// Throws where an answer says that the queue is not what it was.
  mutating func check(_ answer: RedisReply) throws(QueueError) {
    switch answer.text {
    case "WRITTEN": hasWritten = true
    case "CHANGED": throw .manifestsChanged(place)
    case "REPLACED": throw .holdsAnotherJob(place)
    case "GAP": throw .unreadable(place, what: "Redis has lost messages that it had written")
    default: throw .unreadable(place, what: "it answered a script in an unknown way")
    }
  }

  private mutating func connected() throws(RedisError) -> RedisConnection {
    if let connection { return connection }
    let connection = try RedisConnection(place.address, timeouts: options.timeouts)
    for script in [WriterScripts.begin, WriterScripts.append, WriterScripts.seal] { try connection.prepare(script) }
    for message in inFlight { connection.append(message) }
    self.connection = connection
    answersOnConnection = 0
    return connection
  }
}
