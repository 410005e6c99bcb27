import DequeModule
import Synchronization

/// A value that is set once, for any number of callbacks and waiting tasks.
package final class OneShot<Value: Sendable>: Sendable {
  private struct State {
    var value: Value?
    var callbacks: [@Sendable (Value) -> Void] = []
  }

  private let state = Mutex(State())

  package init() {}

  /// Sets the value and calls the callbacks, on this thread; returns false if it was set before.
  @discardableResult
  package func set(_ value: Value) -> Bool {
    let callbacks: [@Sendable (Value) -> Void]? = state.withLock { state in
      guard state.value == nil else { return nil }
      state.value = value
      defer { state.callbacks = [] }
      return state.callbacks
    }
    callbacks?.forEach { $0(value) }
    return callbacks != nil
  }

  package var current: Value? { state.withLock { $0.value } }

  /// Calls `body` when the value is set, on the thread that sets it, or now if it is set; never under a lock.
  package func whenSet(_ body: @escaping @Sendable (Value) -> Void) {
    let value = state.withLock { state in
      if state.value == nil { state.callbacks.append(body) }
      return state.value
    }
    if let value { body(value) }
  }

  /// The value; waits until it is set. Calls `onCancel` if the waiting task is cancelled, and continues to wait.
  package func value(onCancel: @Sendable () -> Void = {}) async -> Value {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in whenSet { continuation.resume(returning: $0) } }
    } onCancel: {
      onCancel()
    }
  }
}

/// Events for any number of consumers: each has its own sequence, which begins with the newest events so far.
package final class Broadcast<Event: Sendable>: Sendable {
  private struct State {
    var latest: Deque<Event> = []
    var consumers: [Int: AsyncStream<Event>.Continuation] = [:]
    var lastConsumer = 0
    var isFinished = false
  }

  private let limit: Int
  private let state = Mutex(State())

  /// Creates one that keeps the newest `limit` events, for later consumers and for slow ones.
  package init(keeping limit: Int) { self.limit = limit }

  /// A new sequence; it ends after ``finish()``.
  package var events: AsyncStream<Event> {
    let (stream, consumer) = AsyncStream<Event>.makeStream(bufferingPolicy: .bufferingNewest(limit))
    let number: Int? = state.withLock { state in
      for event in state.latest { consumer.yield(event) }
      if state.isFinished { return nil }
      state.lastConsumer += 1
      state.consumers[state.lastConsumer] = consumer
      return state.lastConsumer
    }
    guard let number else {
      consumer.finish()
      return stream
    }
    consumer.onTermination = { [weak self] _ in _ = self?.state.withLock { $0.consumers.removeValue(forKey: number) } }
    return stream
  }

  package func send(_ event: Event) {
    state.withLock { state in
      guard !state.isFinished else { return }
      if state.latest.count == limit { state.latest.removeFirst() }
      state.latest.append(event)
      // Under the lock, so that all see the same order; a consumer's task resumes later.
      for consumer in state.consumers.values { consumer.yield(event) }
    }
  }

  package func finish() {
    let consumers = state.withLock { state in
      state.isFinished = true
      defer { state.consumers = [:] }
      return Array(state.consumers.values)
    }
    consumers.forEach { $0.finish() }
  }
}
