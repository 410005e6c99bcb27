import DequeModule

/// Work for several threads: each element is taken by one of them, oldest first.
public final class WorkQueue<Element: Sendable>: Sendable {
  private struct State: Sendable {
    var elements = Deque<Element>()
    var isClosed = false
  }

  private let state = WaitableState(State())

  /// An empty queue.
  public init() {}

  /// Adds an element at the end.
  public func add(_ element: Element) { state.withLock(waking: .one) { $0.elements.append(element) } }

  /// Takes the oldest element, waiting for one; nil once the queue is closed and empty.
  public func take() -> Element? {
    state.wait { state -> Element?? in
      if let element = state.elements.popFirst() { return .some(element) }
      return state.isClosed ? .some(nil) : nil
    }
  }

  /// Lets the threads end: what is queued is still taken, nothing more is waited for.
  public func close() { state.withLock(waking: .all) { $0.isClosed = true } }
}
