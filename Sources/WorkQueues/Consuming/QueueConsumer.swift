#if Queue
package import ImagePrimitives
public import RedisClient
import Synchronization
public import Threads

/// A worker's access to a queue: receives messages and writes results, over a connection on its own thread.
///
/// Held messages are renewed so that other workers don't take them over; messages that others don't renew are taken
/// over. If Redis is unreachable, everything waits, and acknowledgements are repeated until Redis replies: results
/// count once, however often they are sent. All calls may come from any thread and return at once.
public final class QueueConsumer: Sendable {
  /// Settings of a consumer. The server measures how long a message hasn't been renewed. If its clock is set back,
  /// messages of a crashed worker stay with it for that much longer.
  public struct Options: Sendable, Hashable {
    /// Whether to wait for more when the sealed queue is empty. Default: false.
    public var keepsWaiting = false
    /// How long another worker may not renew a message before this one takes it over. Default: 30 s. Held messages are
    /// renewed three times as often.
    public var takeOverAfter = Duration.seconds(30)
    /// How often to look for such messages. Default: 5 s.
    public var takeOverInterval = Duration.seconds(5)
    /// The maximum number of attempts per entry. Default: 10. If it is delivered once more, it is given up.
    public var maximumDeliveries = 10
    /// The timeouts of the connection.
    public var timeouts = RedisConnection.Timeouts()

    /// Creates the default settings.
    public init() {}
  }

  /// The state of a consumer.
  public enum Condition: Sendable, Hashable {
    /// It is connected.
    case working
    /// Redis is unreachable or can't serve now, with the reason as a sentence; work continues as soon as it can.
    case waiting(String)
    /// The queue is sealed and empty. Final unless the consumer keeps waiting.
    case drained
    /// The queue was deleted, as happens when it is finished and reported, or was filled again: held messages, and
    /// acknowledgements that weren't written, no longer count. Final.
    /// `isUndone`: the job can't be complete, since messages were held, or none had arrived and the queue wasn't sealed.
    case replaced(isUndone: Bool)
    /// Redis refuses, with the reason as a sentence. Final.
    case refused(String)
    /// The consumer was stopped and has written what it could. Final.
    case stopped
  }

  /// The news since the last call.
  public struct News: Sendable {
    /// Messages to process, in order of arrival.
    public var messages: [QueuedMessage]
    /// Messages that other workers have taken over; their results won't count.
    public var lost: [QueuedMessage.ID]
    /// Whether another worker is idle and finds nothing: consider giving back part of the messages that aren't started.
    public var othersNeedWork: Bool
    /// The current state.
    public var condition: Condition
  }

  /// Requests to its thread.
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

  /// Joins the workers of `queue`; takes nothing until asked.
  ///
  /// - Throws: ``ThreadError`` if the system can't create a thread.
  public init(_ queue: OpenQueue, options: Options = Options()) throws(ThreadError) {
    let inbox = try ConsumerInbox()
    let requests = requests
    self.inbox = inbox
    thread = try WorkerThread(name: "queue") {
      QueueLink(queue, options: options, requests: requests, inbox: inbox).run()
    }
  }

  deinit { requests.post(.stop(until: TimeSource.system.monotonic())) }

  /// Requests that many more entries; slightly more may come, since messages aren't divided.
  public func take(maximumEntries: Int) { requests.post(.take(maximumEntries)) }

  /// Sets whether it has almost nothing left to do. If it then finds nothing new, it takes messages that others gave
  /// back, and notifies them; see ``News/othersNeedWork``. Initially false.
  public func setNeedsWork(_ needsWork: Bool) { inbox.needsWork = needsWork }

  /// Gives back messages that aren't started, for idle workers; that delivery doesn't count.
  public func giveBack(_ messages: [QueuedMessage.ID]) { requests.post(.giveBack(messages)) }

  /// Makes ``descriptor`` readable, for a caller that waits on it and has another reason to wake.
  public func wake() { inbox.wake() }

  /// Readable when ``takeNews()`` has something.
  public var descriptor: Int32 { inbox.descriptor }

  /// Returns the news since the last call.
  public func takeNews() -> News { inbox.take() }

  /// The current state, even if ``takeNews()`` hasn't returned it yet.
  public var condition: Condition { inbox.condition }

  /// Records that the message's entries are all final.
  public func acknowledge(_ settlement: Settlement) {
    trap(
      unless: settlement.results.allSatisfy { $0.count <= Settlement.maximumResultBytes },
      "a result may have at most \(Settlement.maximumResultBytes) bytes; split it"
    )
    requests.post(.acknowledge(settlement))
  }

  /// Records that some entries of the message are final and others aren't: ``stop(patience:)`` gives it back as single
  /// entries, so that the results of each are kept.
  public func divide(_ message: QueuedMessage) { requests.post(.divide(message)) }

  /// Takes nothing more, writes acknowledgements, gives back held messages so that others may take them at once, and
  /// ends. Messages that are given back don't count as delivered.
  ///
  /// If Redis accepts no results for all of `patience`, for example at its memory limit, acknowledged messages are
  /// given back, too. If Redis is unreachable, it tries for `patience`, then ends in any case. A pending reply is
  /// awaited until the timeouts of ``Options``, even beyond `patience`; use ``join(afterSilence:since:)`` to wait for
  /// less.
  public func stop(patience: Duration = .seconds(5)) {
    requests.post(.stop(until: TimeSource.system.monotonic().advanced(by: patience)))
  }

  /// Waits until its thread has ended, which happens once its state is final.
  public func join() { thread.join() }

  /// Waits until its thread has ended, or Redis has been silent for that long, counted from `start`; returns whether
  /// the thread has ended. Otherwise the thread ends by itself after its timeouts.
  package func join(afterSilence silence: Duration, since start: MonotonicInstant) -> Bool {
    var last = start
    while !thread.join(until: last.advanced(by: silence), letsGo: false) {
      guard inbox.answered > last else { return thread.join(until: last, letsGo: true) }
      last = inbox.answered
    }
    return true
  }
}

/// The news of a consumer's thread for its caller.
final class ConsumerInbox: Sendable {
  private struct State {
    var messages: [QueuedMessage] = []
    var lost: [QueuedMessage.ID] = []
    var othersNeedWork = false
    var condition = QueueConsumer.Condition.waiting("Redis hasn't replied yet")
  }

  private let state = Mutex(State())
  private let event: WakeEvent
  private let need = Atomic(false)
  private let lastAnswer = Atomic(UInt64(0))

  init() throws(ThreadError) { event = try WakeEvent() }

  /// Readable while there is news.
  var descriptor: Int32 { event.descriptor }

  /// Whether the caller has almost nothing left to do.
  var needsWork: Bool {
    get { need.load(ordering: .relaxed) }
    set { need.store(newValue, ordering: .relaxed) }
  }

  /// The time of Redis' last reply.
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

  /// Records that another worker needs work.
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
