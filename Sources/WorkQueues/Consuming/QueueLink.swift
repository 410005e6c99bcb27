#if Queue
import DequeModule
import Glibc
import ImagePrimitives
import RedisClient
import Threads

/// The thread behind a ``QueueConsumer``: all that is known of messages lives here, and so does the connection.
///
/// Whatever an answer was lost for may be done again: a settled message is not settled twice, a message that was delivered and
/// never arrived is found among what the server believes this consumer to hold.
final class QueueLink {
  /// Why the thread ends, or has to connect anew.
  enum End: Error {
    case redis(RedisError)
    case final(QueueConsumer.Condition)

    /// Whether the server is there, and takes nothing for the time being.
    var isRefusalForNow: Bool {
      if case .redis(let error) = self { error.kind == .unavailable && error.code != nil } else { false }
    }
  }

  private static let pollInterval = Duration.milliseconds(100)
  private static let longestRenewInterval = Duration.seconds(10)
  private static let needCheckInterval = Duration.seconds(1)

  let queue: OpenQueue
  let options: QueueConsumer.Options
  let keys: QueueKeys
  let consumer: RedisArgument
  let inbox: ConsumerInbox

  /// Entries that are asked for and have not come.
  var credits = 0
  /// What was handed out and is not settled, with how often it was delivered.
  var held: [QueuedMessage.ID: Int] = [:]
  /// Of what is held, what is given back in single entries.
  var divided: [QueuedMessage] = []
  /// Of what is held, what the caller has let go of.
  var given: Set<QueuedMessage.ID> = []
  /// What was acknowledged and is not answered.
  var settlements = Deque<Settlement>()
  /// The looks for what others have lost: for batches, and for single entries.
  var batchScan = ClaimScan(isForRetries: false)
  var retryScan = ClaimScan(isForRetries: true)
  var isDrained = false
  /// When others are to be told again that it needs work.
  var nextNeedNotice = MonotonicInstant(nanoseconds: 0)
  /// When to end; nil until it is told to.
  private(set) var stopDeadline: MonotonicInstant?

  private let requests: Mailbox<QueueConsumer.Request>
  private var connection: RedisConnection?
  private var backoff = ReconnectBackoff()
  private var nextConnect = MonotonicInstant(nanoseconds: 0)
  private var nextRead = MonotonicInstant(nanoseconds: 0)
  private var nextRenewal = MonotonicInstant(nanoseconds: 0)
  private var nextNeedCheck = MonotonicInstant(nanoseconds: 0)
  /// Whether the server was ever one that takes writes.
  private var hasJoined = false

  init(
    _ queue: OpenQueue,
    options: QueueConsumer.Options,
    requests: Mailbox<QueueConsumer.Request>,
    inbox: ConsumerInbox
  ) {
    self.queue = queue
    self.options = options
    self.requests = requests
    self.inbox = inbox
    keys = QueueKeys(queue.location.name)
    consumer = RedisArgument(Self.newName())
  }

  /// Works until the condition is final.
  func run() {
    var batch: [QueueConsumer.Request] = []
    while true {
      _ = requests.takeAll(into: &batch)
      for request in batch { take(request) }
      let now = TimeSource.system.monotonic()
      do throws(End) {
        if connection != nil || nextConnect <= now { try iterate(now) }
        if let stopDeadline, stopDeadline <= now { throw .final(.stopped) }
      } catch {
        if end(error, now) { return }
      }
      _ = requests.wait(until: nextMoment)
    }
  }

  private func take(_ request: QueueConsumer.Request) {
    switch request {
    case .take(let count): credits += count
    case .acknowledge(let settlement): settlements.append(settlement)
    case .divide(let message): divided.append(message)
    case .giveBack(let messages): given.formUnion(messages)
    case .stop(let deadline):
      stopDeadline = deadline
      nextConnect = TimeSource.system.monotonic()
    }
  }

  /// One round of all that is due.
  private func iterate(_ now: MonotonicInstant) throws(End) {
    let connection = try connected(now)
    if let stopDeadline {
      try settle(connection, until: stopDeadline)
      try leave(connection)
      throw .final(.stopped)
    }
    while !settlements.isEmpty { try settle(connection) }
    if nextRenewal <= now { try renew(connection, now) }
    if !given.isEmpty { try giveBack(connection) }
    if nextNeedCheck <= now {
      try checkNeed(connection)
      nextNeedCheck = now.advanced(by: Self.needCheckInterval)
    }
    if credits > 0, batchScan.next <= now { try step(\.batchScan, entries: credits, now, connection) }
    if credits > 0, retryScan.next <= now, !isHoldingLoneRetry { try step(\.retryScan, entries: 1, now, connection) }
    if nextRead <= now, isReading {
      let hasNothingNew = try read(connection, now)
      nextRead = hasNothingNew ? now.advanced(by: Self.pollInterval) : now
    }
    if isDrained, !options.keepsWaiting {
      try leave(connection)
      throw .final(.drained)
    }
    backoff.reset()
    inbox.set(isDrained ? .drained : .working)
  }

  private func renew(_ connection: RedisConnection, _ now: MonotonicInstant) throws(End) {
    try renew(connection)
    nextRenewal = now.advanced(by: renewInterval)
  }

  /// A step of a look for what others have lost, which takes over `entries` at most and the rest of a message.
  private func step(
    _ scan: ReferenceWritableKeyPath<QueueLink, ClaimScan>,
    entries: Int,
    _ now: MonotonicInstant,
    _ connection: RedisConnection
  ) throws(End) {
    // After a standstill, what is held here is not to be taken over from here.
    if !self[keyPath: scan].isUnfinished { try renew(connection, now) }
    let cursors = try takeOver(entries, from: self[keyPath: scan].cursors, connection)
    self[keyPath: scan].advance(to: cursors, now: now, interval: options.takeOverInterval)
  }

  /// Whether an entry is held that two workers or more have lost. There is never a second beside it: the next that is lost with
  /// its worker is lost by itself, and what others of them count is not for that.
  var isHoldingLoneRetry: Bool { held.contains { $0.key.stream.isRetry && $0.value > 1 } }

  /// Whether there is reason to look into the streams: for entries, or for whether there are any left.
  private var isReading: Bool { credits > 0 || held.isEmpty }

  private var renewInterval: Duration { min(options.takeOverAfter / 3, Self.longestRenewInterval) }

  private var nextMoment: MonotonicInstant? {
    guard connection != nil else { return min(nextConnect, stopDeadline ?? nextConnect) }
    var next = min(nextRenewal, nextNeedCheck)
    if isReading { next = min(next, nextRead) }
    guard credits > 0 else { return next }
    next = min(next, batchScan.next)
    return isHoldingLoneRetry ? next : min(next, retryScan.next)
  }

  /// The connection; a new one joins the workers, renews what is held, and finds what was delivered to nobody.
  private func connected(_ now: MonotonicInstant) throws(End) -> RedisConnection {
    if let connection { return connection }
    var timeouts = options.timeouts
    if let stopDeadline {
      let left = max(stopDeadline.since(now), .milliseconds(1))
      timeouts = .init(connect: min(timeouts.connect, left), answer: min(timeouts.answer, left))
    }
    let new: RedisConnection
    do throws(RedisError) { new = try RedisConnection(queue.location.address, timeouts: timeouts) } catch { throw .redis(error) }
    // What a server refuses that takes nothing more is not needed to end.
    if stopDeadline == nil {
      try join(new)
      try renew(new, now)
      hasJoined = true
    }
    while try recover(new) {}
    // After the server was away all messages seem to be forsaken: their workers are to renew them first.
    batchScan.next = now.advanced(by: options.takeOverInterval)
    retryScan.next = batchScan.next
    connection = new
    return new
  }

  /// Whether the thread ends for that reason.
  private func end(_ reason: End, _ now: MonotonicInstant) -> Bool {
    connection = nil
    switch reason {
    case .final(let condition):
      inbox.set(condition)
      return true
    case .redis(let error):
      // A stream that somebody removed comes back with the next joining.
      guard error.passes(hasWritten: hasJoined) || error.code == "NOGROUP" else {
        inbox.set(.refused(error.description))
        return true
      }
      nextConnect = now.advanced(by: backoff.next())
      inbox.set(.waiting(error.description))
      return false
    }
  }

  /// A name that no other consumer has, and that tells people where it runs.
  private static func newName() -> String {
    var host = [CChar](repeating: 0, count: 256)
    gethostname(&host, host.count - 1)
    let name = String(decoding: host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return "\(name)-\(getpid())-\(String(UInt64.random(in: 0...UInt64.max), radix: 16))"
  }
}

/// A look for what others have lost, through the streams of batches or through those of single entries; it may take many steps.
struct ClaimScan {
  /// When its next step is due.
  var next = MonotonicInstant(nanoseconds: 0)
  /// Whether it has begun, and has not come to the end of all its streams.
  private(set) var isUnfinished = false
  /// Where it goes on, by stream, see ``ConsumerScripts/takeOver``.
  private(set) var cursors: [RedisArgument]

  private let firstCursors: [RedisArgument]

  init(isForRetries: Bool) {
    firstCursors = QueueStream.all.map { $0.isRetry == isForRetries ? "0-0" : "" }
    cursors = firstCursors
  }

  /// A step was taken, after which it goes on at `cursors`; what is forsaken comes as fast as entries are asked for, the next
  /// look begins an `interval` later.
  mutating func advance(to cursors: [RedisArgument], now: MonotonicInstant, interval: Duration) {
    isUnfinished = cursors.count == firstCursors.count && cursors.contains { $0 != "" }
    self.cursors = isUnfinished ? cursors : firstCursors
    next = isUnfinished ? now : now.advanced(by: interval)
  }
}
#endif
