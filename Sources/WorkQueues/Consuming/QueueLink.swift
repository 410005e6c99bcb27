#if Queue
import DequeModule
import Glibc
import ImagePrimitives
import RedisClient
import Threads

/// The thread of a ``QueueConsumer``, which owns the connection and all state of messages.
///
/// After a lost reply, any step may be repeated: a settled message isn't settled twice, and a message that was
/// delivered but never arrived is found among those that the server assigns to this consumer.
final class QueueLink {
  /// The reason why the thread ends, or must reconnect.
  enum End: Error {
    case redis(RedisError)
    case final(QueueConsumer.Condition)

    /// Whether the server is reachable but accepts nothing at the moment.
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

  /// Entries that were requested and haven't arrived.
  var credits = 0
  /// Messages that were passed on and aren't settled, with their numbers of deliveries.
  var held: [QueuedMessage.ID: Int] = [:]
  /// Held messages that are to be given back as single entries.
  var divided: [QueuedMessage] = []
  /// Held messages that the caller has released.
  var given: Set<QueuedMessage.ID> = []
  /// Acknowledgements that aren't confirmed.
  var settlements = Deque<Settlement>()
  /// The scans for messages of crashed workers: for batches, and for single entries.
  var batchScan = ClaimScan(isForRetries: false)
  var retryScan = ClaimScan(isForRetries: true)
  var isDrained = false
  /// Whether the job may be complete if the queue is deleted: the queue was sealed, or a message arrived.
  var mayBeDone = false
  /// The time of the next announcement that it needs work.
  var nextNeedNotice = MonotonicInstant(nanoseconds: 0)
  /// The time to end; nil until it is stopped.
  private(set) var stopDeadline: MonotonicInstant?

  private let requests: Mailbox<QueueConsumer.Request>
  private var connection: RedisConnection?
  private var backoff = ReconnectBackoff()
  private var nextConnect = MonotonicInstant(nanoseconds: 0)
  private var nextRead = MonotonicInstant(nanoseconds: 0)
  private var nextRenewal = MonotonicInstant(nanoseconds: 0)
  private var nextNeedCheck = MonotonicInstant(nanoseconds: 0)
  /// Whether the server has ever accepted writes.
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

  /// Runs until the state is final.
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

  /// Performs all steps that are due.
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

  /// One step of a scan for messages of crashed workers; it takes over at most `entries`, plus the rest of a message.
  private func step(
    _ scan: ReferenceWritableKeyPath<QueueLink, ClaimScan>,
    entries: Int,
    _ now: MonotonicInstant,
    _ connection: RedisConnection
  ) throws(End) {
    // After a pause of this process, don't take over messages that it holds itself.
    if !self[keyPath: scan].isUnfinished { try renew(connection, now) }
    let cursors = try takeOver(entries, from: self[keyPath: scan].cursors, connection)
    self[keyPath: scan].advance(to: cursors, now: now, interval: options.takeOverInterval)
  }

  /// Whether it holds an entry that at least two workers lost. A worker never holds two: so the next one that is lost
  /// with its worker is lost alone, and not counted because of another.
  var isHoldingLoneRetry: Bool { held.contains { $0.key.stream.isRetry && $0.value > 1 } }

  /// Whether to read the streams: for entries, or to check whether any are left.
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

  /// The connection; a new one joins the workers, renews held messages, and finds those that were lost on the way.
  private func connected(_ now: MonotonicInstant) throws(End) -> RedisConnection {
    if let connection { return connection }
    var timeouts = options.timeouts
    if let stopDeadline {
      let left = max(stopDeadline.since(now), .milliseconds(1))
      timeouts = .init(connect: min(timeouts.connect, left), answer: min(timeouts.answer, left))
    }
    let new: RedisConnection
    do throws(RedisError) { new = try RedisConnection(queue.location.address, timeouts: timeouts) } catch { throw .redis(error) }
    // Joining isn't needed to end, and a server that accepts nothing would refuse it.
    if stopDeadline == nil {
      try join(new)
      try renew(new, now)
      hasJoined = true
    }
    while try recover(new) {}
    // After an outage of the server all messages seem abandoned: let their workers renew them first.
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
      // A stream that was removed is created again by the next join.
      guard error.passes(hasWritten: hasJoined) || error.code == "NOGROUP" else {
        inbox.set(.refused(error.description))
        return true
      }
      nextConnect = now.advanced(by: backoff.next())
      inbox.set(.waiting(error.description))
      return false
    }
  }

  /// A unique consumer name that shows people where it runs.
  private static func newName() -> String {
    var host = [CChar](repeating: 0, count: 256)
    gethostname(&host, host.count - 1)
    let name = String(decoding: host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return "\(name)-\(getpid())-\(String(UInt64.random(in: 0...UInt64.max), radix: 16))"
  }
}

/// A scan for messages of crashed workers, through the streams of batches or those of single entries; it may take many
/// steps.
struct ClaimScan {
  /// The time of its next step.
  var next = MonotonicInstant(nanoseconds: 0)
  /// Whether it has started and not reached the end of all its streams.
  private(set) var isUnfinished = false
  /// The position in each stream, see ``ConsumerScripts/takeOver``.
  private(set) var cursors: [RedisArgument]

  private let firstCursors: [RedisArgument]

  init(isForRetries: Bool) {
    firstCursors = QueueStream.all.map { $0.isRetry == isForRetries ? "0-0" : "" }
    cursors = firstCursors
  }

  /// Records a step that returned `cursors`. A scan continues as fast as entries are requested; the next one starts an
  /// `interval` later.
  mutating func advance(to cursors: [RedisArgument], now: MonotonicInstant, interval: Duration) {
    isUnfinished = cursors.count == firstCursors.count && cursors.contains { $0 != "" }
    self.cursors = isUnfinished ? cursors : firstCursors
    next = isUnfinished ? now : now.advanced(by: interval)
  }
}
#endif
