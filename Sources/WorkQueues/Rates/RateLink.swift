#if Queue
import ImagePrimitives
import RedisClient
import Threads

/// The thread of a ``SharedRates``: it owns the connection and the membership.
///
/// Its loop waits for messages or a time, connects if needed, sends a heartbeat with new pauses, and passes the reply
/// to the observer.
final class RateLink {
  /// The maximum number of pauses kept while Redis is away.
  private static let maximumKeptPauses = 4096
  private static let maximumReportedRefusals = 16

  private let location: QueueLocation
  private let options: SharedRates.Options
  private let mailbox: Mailbox<SharedRates.Message>
  private let observer: any SharedRatesObserver
  private let keys: RateKeys
  /// This worker's name in Redis.
  private let worker = RedisArgument(String(UInt64.random(in: 1 ... .max), radix: 16))
  private let time = TimeSource.system

  private var connection: RedisConnection?
  private var backoff = ReconnectBackoff()
  private var membership: WorkerMembership
  private var reportedPart = 0
  private var reportedRefusals: Set<String> = []
  private var nextTry = MonotonicInstant(nanoseconds: 0)
  private var nextBeat = MonotonicInstant(nanoseconds: 0)
  private var lastPause = MembershipScripts.firstPause

  private var messages: [SharedRates.Message] = []
  /// Pauses to be shared, by origin.
  private var pauses: [String: (over: MonotonicInstant, status: Int)] = [:]
  private var isEnding = false

  init(
    _ location: QueueLocation,
    options: SharedRates.Options,
    mailbox: Mailbox<SharedRates.Message>,
    observer: any SharedRatesObserver
  ) {
    self.location = location
    self.options = options
    self.mailbox = mailbox
    self.observer = observer
    keys = RateKeys(location.name)
    membership = WorkerMembership(terms: .init(lease: options.lease), now: time.monotonic())
  }

  func run() {
    while !isEnding {
      membership.advance(now: time.monotonic())
      // Before the request to Redis, which may take a while.
      reportPart()
      do throws(RedisError) {
        try connectIfDue()
        try beatIfDue()
      } catch {
        lose(error)
      }
      reportPart()
      _ = mailbox.wait(until: connection == nil ? nextTry : nextBeat)
      takeMessages()
    }
    leave()
  }

  private func takeMessages() {
    _ = mailbox.takeAll(into: &messages)
    for message in messages {
      switch message {
      case .hasWork(let hasWork): membership.setHasWork(hasWork, now: time.monotonic())
      case .pause(let origin, let over, let status):
        guard pauses.count < Self.maximumKeptPauses || pauses[origin] != nil else { continue }
        if over > pauses[origin]?.over ?? MonotonicInstant(nanoseconds: 0) { pauses[origin] = (over, status) }
      case .stop: isEnding = true
      }
    }
  }

  private func reportPart() {
    guard membership.part != reportedPart else { return }
    reportedPart = membership.part
    observer.partChanged(Double(reportedPart) / Double(WorkerMembership.whole))
  }

  // MARK: Heartbeats

  private func connectIfDue() throws(RedisError) {
    guard connection == nil, time.monotonic() >= nextTry else { return }
    connection = try RedisConnection(location.address, timeouts: options.timeouts)
    nextBeat = MonotonicInstant(nanoseconds: 0)
    // The server may have lost its data and restarted its IDs.
    lastPause = MembershipScripts.firstPause
  }

  private func beatIfDue() throws(RedisError) {
    while let connection, !isEnding {
      let sent = time.monotonic()
      guard sent >= nextBeat || membership.hasNews || !pauses.isEmpty else { return }
      let replies = try connection.command(run: pauseCalls(now: sent) + [beatCall()])
      guard try take(replies[replies.count - 1], sent: sent) else { return lose(nil) }
      for case .error(let text) in replies { throw RedisError(answer: text, from: location.address) }
      pauses = [:]
      backoff.reset()
      nextBeat = sent.advanced(by: options.beatInterval)
      // The next heartbeat releases the rest of a part that has shrunk.
      reportPart()
    }
  }

  /// Takes the reply to a heartbeat; returns false if it is malformed.
  private func take(_ reply: RedisReply, sent: MonotonicInstant) throws(RedisError) -> Bool {
    if case .error(let text) = reply { throw RedisError(answer: text, from: location.address) }
    if let refusal = MembershipReply.refusal(reply) {
      let error = RedisError(answer: refusal.text, from: location.address)
      if error.kind == .refused { membership.refused(workers: refusal.workers, now: time.monotonic()) }
      throw error
    }
    guard let answer = MembershipReply(reply) else { return false }
    membership.answered(
      part: answer.part,
      workers: answer.workers,
      withWork: answer.workersWithWork,
      sent: sent,
      now: time.monotonic()
    )
    lastPause = answer.lastPause ?? lastPause
    for pause in answer.pauses { observer.hostPaused(pause.origin, for: pause.duration, status: pause.status) }
    return true
  }

  private func beatCall() -> ScriptCall {
    let heartbeat = membership.heartbeat
    membership.sent(heartbeat)
    return ScriptCall(
      MembershipScripts.beat,
      keys: [keys.members, keys.pauses],
      [
        worker, heartbeat.hasWork ? 1 : 0, RedisArgument(heartbeat.part), RedisArgument(options.lease.wholeMilliseconds),
        RedisArgument(options.returnInterval.wholeMilliseconds), lastPause,
      ]
    )
  }

  private func pauseCalls(now: MonotonicInstant) -> [ScriptCall] {
    pauses.map { origin, pause in
      // Redis requires at least 1.
      let milliseconds = RedisArgument(max(1, pause.over.since(now).wholeMilliseconds))
      return ScriptCall(
        MembershipScripts.pause,
        keys: [keys.pause(origin), keys.pauses],
        [milliseconds, RedisArgument(pause.status), worker, RedisArgument(origin)]
      )
    }
  }

  // MARK: Losing and leaving

  /// Handles that Redis is away, refuses with `error`, or sent a malformed reply.
  private func lose(_ error: RedisError?) {
    connection = nil
    let now = time.monotonic()
    var wait = backoff.next()
    if let error, error.kind == .refused || error.code == "MAXCLIENTS" {
      // The connection itself may succeed at once, but the next request would be refused, too.
      if error.kind == .refused { wait = max(wait, options.refusedInterval) }
      membership.refused(workers: nil, now: now)
      // The queue's own connection may have been admitted, and then nothing else reports it.
      reportRefusal(error.description)
    } else {
      membership.lost(now: now)
    }
    nextTry = now.advanced(by: wait)
  }

  private func reportRefusal(_ why: String) {
    guard reportedRefusals.count < Self.maximumReportedRefusals, reportedRefusals.insert(why).inserted else { return }
    observer.wasRefused(why, workers: membership.workers)
  }

  /// Shares the last pauses and ends the membership.
  private func leave() {
    guard let connection else { return }
    do throws(RedisError) {
      if !pauses.isEmpty { _ = try connection.command(run: pauseCalls(now: time.monotonic())) }
      _ = try connection.command(["HDEL", keys.members, worker])
    } catch {
      // Its membership expires.
    }
  }
}
#endif
