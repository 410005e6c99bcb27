import ImagePrimitives
import RedisClient
import Threads

/// The thread of a ``SharedPoliteness``: it owns the connection.
///
/// A turn: wait for messages or a time; reach Redis, where it was away; ask it everything at once; hand on the answers.
final class PolitenessLink {
  /// So many pauses are kept while Redis is away.
  private static let maximumKeptRests = 4096
  /// So many refusals are told.
  private static let maximumToldRefusals = 16

  private let place: QueuePlace
  private let options: SharedPoliteness.Options
  private let mailbox: Mailbox<SharedPoliteness.Message>
  private let receiver: any PolitenessReceiver
  private let keys: PolitenessKeys
  /// What the server knows this worker by.
  private let worker = RedisArgument(String(UInt64.random(in: 1 ... .max), radix: 16))
  private let time = TimeSource.system

  private var connection: RedisConnection?
  private var backoff = ReconnectBackoff()
  private var attendance: Attendance
  /// The sentences of refusals that were told, so that each is told once.
  private var toldRefusals: Set<String> = []
  private var nextTry = MonotonicInstant(nanoseconds: 0)
  private var nextBeat = MonotonicInstant(nanoseconds: 0)
  private var nextLook = MonotonicInstant(nanoseconds: 0)
  private var lastRest = PolitenessAnswers.firstRest

  private var messages: [SharedPoliteness.Message] = []
  private var reservations: [StartReservation] = []
  /// By origin, those that are to be passed on.
  private var rests: [String: (over: MonotonicInstant, status: Int)] = [:]
  private var isEnding = false

  init(
    _ place: QueuePlace,
    options: SharedPoliteness.Options,
    mailbox: Mailbox<SharedPoliteness.Message>,
    receiver: any PolitenessReceiver
  ) {
    self.place = place
    self.options = options
    self.mailbox = mailbox
    self.receiver = receiver
    keys = PolitenessKeys(place.name)
    attendance = Attendance(returnInterval: options.returnInterval)
  }

  /// Runs until told to stop.
  func run() {
    while !isEnding {
      do throws(RedisError) {
        try connectIfDue()
        try askAll()
      } catch {
        lose(error)
      }
      _ = mailbox.wait(until: connection == nil ? nextTry : nextLook)
      takeMessages()
    }
    leave()
  }

  private func takeMessages() {
    _ = mailbox.takeAll(into: &messages)
    for message in messages {
      switch message {
      case .reserve(let wanted): reservations += wanted
      case .rest(let origin, let over, let status):
        guard rests.count < Self.maximumKeptRests || rests[origin] != nil else { continue }
        if over > rests[origin]?.over ?? MonotonicInstant(nanoseconds: 0) { rests[origin] = (over, status) }
      case .stop: isEnding = true
      }
    }
    // Who asks before Redis is back may have been none that heard of its absence, and would wait for an answer for ever.
    if connection == nil, attendance.isAway, !reservations.isEmpty {
      reservations.removeAll()
      receiver.becameUnavailable(workers: attendance.workers)
    }
  }

  private func connectIfDue() throws(RedisError) {
    guard connection == nil, time.monotonic() >= nextTry else { return }
    connection = try RedisConnection(place.address, timeouts: options.timeouts)
    (nextBeat, nextLook) = (MonotonicInstant(nanoseconds: 0), MonotonicInstant(nanoseconds: 0))
    // It may have lost what it knew, and begun to count anew.
    lastRest = PolitenessAnswers.firstRest
  }

  // MARK: Asking

  private func askAll() throws(RedisError) {
    guard let connection else { return }
    let now = time.monotonic()
    guard attendance.isAway || !reservations.isEmpty || !rests.isEmpty || now >= nextLook else { return }
    let beats = now >= nextBeat
    let replies = try connection.command(run: calls(beats: beats, now: now))
    // How many workers there are is known, and with it the part of each, also where something else is refused.
    if let count = PolitenessAnswers.workers(replies) { attendance.hear(workers: count) }
    for case .error(let text) in replies { throw RedisError(answer: text, from: place.address) }
    let answers = PolitenessAnswers(
      replies.dropFirst(beats ? 1 : 0),
      reservations: reservations,
      rests: rests.count,
      at: time.monotonic()
    )
    // One who got no answer would wait for it for ever.
    guard answers.starts.count == reservations.count else { return lose(nil) }
    (reservations, rests) = ([], [:])
    backoff.reset()
    nextLook = now.advanced(by: options.restInterval)
    if beats { nextBeat = now.advanced(by: options.beatInterval) }
    handOn(answers)
  }

  /// Rests come before reservations, which look at them, and before the look for the others' rests.
  private func calls(beats: Bool, now: MonotonicInstant) -> [ScriptCall] {
    var calls: [ScriptCall] = []
    if beats {
      let goneAfter = RedisArgument(options.goneAfter.wholeMilliseconds)
      calls.append(ScriptCall(PolitenessScripts.beat, keys: [keys.workers], [worker, goneAfter]))
    }
    for (origin, rest) in rests {
      // At least 1, which Redis asks for.
      let milliseconds = RedisArgument(max(1, rest.over.since(now).wholeMilliseconds))
      calls.append(
        ScriptCall(
          PolitenessScripts.rest,
          keys: [keys.rest(origin), keys.rests],
          [milliseconds, RedisArgument(rest.status), worker, RedisArgument(origin)]
        )
      )
    }
    for wanted in reservations {
      calls.append(
        ScriptCall(
          PolitenessScripts.reserve,
          keys: [keys.rate(wanted.origin), keys.rest(wanted.origin), keys.workers],
          [RedisArgument(wanted.count), RedisArgument(wanted.intervalMicroseconds), RedisArgument(wanted.mostAtOnce)]
        )
      )
    }
    calls.append(ScriptCall(PolitenessScripts.newRests, keys: [keys.rests, keys.workers], [lastRest, worker]))
    return calls
  }

  private func handOn(_ answers: PolitenessAnswers) {
    lastRest = answers.lastRest ?? lastRest
    // What is asked for anew once Redis is back comes after this.
    switch attendance.answer(now: time.monotonic()) {
    case .none: break
    case .returned(let workers): receiver.becameAvailable(workers: workers)
    case .othersReturned: receiver.othersReturned()
    }
    for rest in answers.rests { receiver.rests(rest.origin, for: rest.duration, status: rest.status) }
    if !answers.starts.isEmpty { receiver.reserved(answers.starts) }
  }

  // MARK: Losing and leaving

  /// Redis is away, or refuses by `error`, or has answered without sense.
  private func lose(_ error: RedisError?) {
    connection = nil
    reservations.removeAll()
    var wait = backoff.next()
    if let error, error.kind == .refused {
      // It may answer all but one question, and so be back at once.
      wait = max(wait, options.refusedInterval)
      tellRefusal(error.description)
    } else if let error, error.code == "MAXCLIENTS" {
      // The queue's own connection may have been admitted, and then nobody else tells it.
      tellRefusal(error.description)
    }
    nextTry = time.monotonic().advanced(by: wait)
    if attendance.lose() { receiver.becameUnavailable(workers: attendance.workers) }
  }

  private func tellRefusal(_ why: String) {
    guard toldRefusals.count < Self.maximumToldRefusals, toldRefusals.insert(why).inserted else { return }
    receiver.wasRefused(why, workers: attendance.workers)
  }

  /// Passes on what was still said, and is no worker any more.
  private func leave() {
    defer { receiver.becameUnavailable(workers: 1) }
    guard let connection else { return }
    do throws(RedisError) {
      if !rests.isEmpty {
        reservations.removeAll()
        _ = try connection.command(run: calls(beats: false, now: time.monotonic()))
      }
      _ = try connection.command(["ZREM", keys.workers, worker])
    } catch {
      // It counts as gone when it has said nothing for a while.
    }
  }
}

extension StartReservation {
  /// Rounded up, so that no rate is exceeded; not beyond what Lua's numbers hold exactly.
  var intervalMicroseconds: UInt64 { min(intervalNanoseconds / 1000 + (intervalNanoseconds % 1000 > 0 ? 1 : 0), 1 << 50) }

  /// What any worker may ask for at once: a tenth of a second's worth, or what this one does.
  fileprivate var mostAtOnce: UInt64 { max(UInt64(count), 100_000 / intervalMicroseconds) }
}
