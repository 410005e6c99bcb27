import Synchronization
import Threads

/// What a consumer's thread has for its caller.
final class ConsumerInbox: Sendable {
  private struct State {
    var messages: [QueuedMessage] = []
    var lost: [QueuedMessage.ID] = []
    var condition = QueueConsumer.Condition.waiting("Redis has not answered yet")
  }

  private let state = Mutex(State())
  private let event: WakeEvent

  init() throws(ThreadRefusal) { event = try WakeEvent() }

  /// Readable while there is something to be taken.
  var descriptor: Int32 { event.descriptor }

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
      }
      return QueueConsumer.News(messages: state.messages, lost: state.lost, condition: state.condition)
    }
  }
}
