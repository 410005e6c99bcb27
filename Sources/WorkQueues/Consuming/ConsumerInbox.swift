import ImagePrimitives
import Synchronization
import Threads

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

  init() throws(ThreadRefusal) { event = try WakeEvent() }

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
