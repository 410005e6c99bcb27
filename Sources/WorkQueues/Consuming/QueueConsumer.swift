#if Queue
public import ImagePrimitives
public import RedisClient
import Synchronization
public import Threads

/// A worker's share in a queue: messages come in, results go out, over a connection that a thread of its own holds.
///
/// What is held is renewed, so that no other worker takes it; what others do not renew is taken over. Where Redis cannot be
/// reached, all waits, and what was acknowledged is said again until it is answered: results count once, however often they are
/// sent. All calls may come from any thread and return at once.
public final class QueueConsumer: Sendable {
  /// Rules of a consumer; how long a message was not renewed is measured by the server. Where its clock is set back, what was
  /// held then stays with a worker that is gone for as much longer.
  public struct Options: Sendable, Hashable {
    /// Whether it waits for more when the sealed queue is drained; false by default.
    public var keepsWaiting = false
    /// How long a message is another worker's that does not renew it; 30 s by default. What is held is renewed three times as
    /// often.
    public var takeOverAfter = Duration.seconds(30)
    /// How often it looks for such messages; 5 s by default.
    public var takeOverInterval = Duration.seconds(5)
    /// How often an entry is tried; 10 by default. Delivered once more, it is given up.
    public var maximumDeliveries = 10
    /// How long to wait for Redis.
    public var timeouts = RedisConnection.Timeouts()

    /// The defaults.
    public init() {}
  }

  /// How it stands with a consumer.
  public enum Condition: Sendable, Hashable {
    /// It is connected.
    case working
    /// Redis cannot be reached or cannot serve now, for the reason in the sentence; it goes on as soon as it can.
    case waiting(String)
    /// The queue is sealed, and nothing is left in it. Final unless it keeps waiting.
    case drained
    /// The queue was deleted, as it is once it is drained and its reports are written, or it was filled anew: what is held, or
    /// was acknowledged and not written down, counts no more. Final.
    case replaced(isHolding: Bool)
    /// Redis refuses, for the reason in the sentence. Final.
    case refused(String)
    /// It was stopped, and what could be said was said. Final.
    case stopped
  }

  /// What came since the last look.
  public struct News: Sendable {
    /// Messages to be worked, in the order in which they came.
    public var messages: [QueuedMessage]
    /// Messages that have become another worker's; their results will not count.
    public var lost: [QueuedMessage.ID]
    /// Whether another worker has nothing to do and finds nothing: what is held and not begun is best given back in part.
    public var othersNeedWork: Bool
    /// How it stands now.
    public var condition: Condition
  }

  /// What its thread is told.
  enum Request: Sendable {
    case take(Int)
    case acknowledge(Settlement)
    case divide(QueuedMessage)
    case giveBack([QueuedMessage.ID])
    case stop(until: MonotonicInstant)
  }

  private let inbox: ConsumerInbox
  private let requests = Mailbox<Request>()
  private let thread: WorkerThread

  /// Joins the workers of `queue`; nothing is taken before it is asked for.
  ///
  /// - Throws: ``ThreadError`` where the system gives no thread.
  public init(_ queue: OpenQueue, options: Options = Options()) throws(ThreadError) {
    let inbox = try ConsumerInbox()
    let requests = requests
    self.inbox = inbox
    thread = try WorkerThread(name: "queue") {
      QueueLink(queue, options: options, requests: requests, inbox: inbox).run()
    }
  }

  deinit { requests.post(.stop(until: TimeSource.system.monotonic())) }

  /// Asks for that many further entries; slightly more may come, since messages are not divided.
  public func take(maximumEntries: Int) { requests.post(.take(maximumEntries)) }

  /// Says whether it has nearly nothing left to do: where it then finds nothing new, it takes what others give back, and they are
  /// told so, see ``News/othersNeedWork``. False at first.
  public func setNeedsWork(_ needsWork: Bool) { inbox.needsWork = needsWork }

  /// Gives messages back that nothing was begun of, for workers that have nothing to do: that delivery does not count.
  public func giveBack(_ messages: [QueuedMessage.ID]) { requests.post(.giveBack(messages)) }

  /// Makes ``descriptor`` readable, for who waits for it and has a reason of its own to look.
  public func wake() { inbox.wake() }

  /// Readable when ``takeNews()`` has something.
  public var descriptor: Int32 { inbox.descriptor }

  /// Takes what came since the last call.
  public func takeNews() -> News { inbox.take() }

  /// How it stands now, whether that is taken or not.
  public var condition: Condition { inbox.condition }

  /// Says that the message's entries are all final.
  public func acknowledge(_ settlement: Settlement) {
    trap(
      unless: settlement.results.allSatisfy { $0.count <= Settlement.maximumResultBytes },
      "a result has at most \(Settlement.maximumResultBytes) bytes: divide it"
    )
    requests.post(.acknowledge(settlement))
  }

  /// Says that some entries of the message are final and others are not: ``stop(patience:)`` gives it back in single entries, so
  /// that what whoever takes them finishes is kept.
  public func divide(_ message: QueuedMessage) { requests.post(.divide(message)) }

  /// Takes nothing more, says what was acknowledged, gives back what is held so that others may take it at once, and ends. What
  /// is given back does not count as delivered.
  ///
  /// Where Redis takes no results for all of `patience`, as at its memory limit, what was acknowledged is given back as well.
  /// Where Redis is away it tries for `patience`, and ends then in any case. An answer that a connection is waiting for is waited
  /// for until the timeouts of ``Options``, even if `patience` ends before; who cannot wait as long calls
  /// ``join(afterSilence:since:)``.
  public func stop(patience: Duration = .seconds(5)) {
    requests.post(.stop(until: TimeSource.system.monotonic().advanced(by: patience)))
  }

  /// Waits until its thread has ended, as it does once its condition is final.
  public func join() { thread.join() }

  /// Waits until its thread has ended, or Redis has said nothing for so long, from `start` on; whether it has ended. One that has
  /// not ends by itself when its timeouts are over.
  public func join(afterSilence silence: Duration, since start: MonotonicInstant) -> Bool {
    var last = start
    while !thread.join(until: last.advanced(by: silence), letsGo: false) {
      guard inbox.answered > last else { return thread.join(until: last, letsGo: true) }
      last = inbox.answered
    }
    return true
  }
}

/// What a consumer's thread has for its caller.
final class ConsumerInbox: Sendable {
  private struct State {
    var messages: [QueuedMessage] = []
    var lost: [QueuedMessage.ID] = []
    var othersNeedWork = false
    var condition = QueueConsumer.Condition.waiting("Redis has not answered yet")
  }

  private let state = Mutex(State())
  private let event: WakeEvent
  private let need = Atomic(false)
  private let lastAnswer = Atomic(UInt64(0))

  init() throws(ThreadError) { event = try WakeEvent() }

  /// Readable while there is something to be taken.
  var descriptor: Int32 { event.descriptor }

  /// Whether the caller has nearly nothing left to do.
  var needsWork: Bool {
    get { need.load(ordering: .relaxed) }
    set { need.store(newValue, ordering: .relaxed) }
  }

  /// When Redis has last answered.
  var answered: MonotonicInstant { MonotonicInstant(nanoseconds: lastAnswer.load(ordering: .relaxed)) }

  func noteAnswer() { lastAnswer.store(TimeSource.system.monotonic().nanoseconds, ordering: .relaxed) }

  var condition: QueueConsumer.Condition { state.withLock { $0.condition } }

  func add(_ messages: [QueuedMessage]) {
    guard !messages.isEmpty else { return }
    state.withLock { $0.messages += messages }
    event.signal()
  }

  func add(lost: [QueuedMessage.ID]) {
    guard !lost.isEmpty else { return }
    state.withLock { $0.lost += lost }
    event.signal()
  }

  /// Says that another worker needs work.
  func noteNeed() {
    state.withLock { $0.othersNeedWork = true }
    event.signal()
  }

  /// Makes the descriptor readable.
  func wake() { event.signal() }

  func set(_ condition: QueueConsumer.Condition) {
    let isNew = state.withLock { state in
      defer { state.condition = condition }
      return state.condition != condition
    }
    if isNew { event.signal() }
  }

  func take() -> QueueConsumer.News {
    event.reset()
    return state.withLock { state in
      defer {
        state.messages = []
        state.lost = []
        state.othersNeedWork = false
      }
      return QueueConsumer.News(
        messages: state.messages,
        lost: state.lost,
        othersNeedWork: state.othersNeedWork,
        condition: state.condition
      )
    }
  }
}
#endif
