import TestSupport

/// A gate that holds back responses until a test opens it: order without sleeping.
public final class Gate: Sendable {
  private struct State: Sendable {
    var isOpen: Bool
    /// The responses that wait, in order of arrival.
    var line: [(id: Int, pass: @Sendable () -> Void)] = []
    var nextID = 0
    var stepsLeft = 0

    var waiting: Int { line.count }
  }

  private let state: Watched<State>

  public init(isOpen: Bool = false) { state = Watched(State(isOpen: isOpen)) }

  public func open() {
    let line = state.withLock { state in
      state.isOpen = true
      defer { state.line = [] }
      return state.line.map(\.pass)
    }
    for pass in line { pass() }
  }

  public func close() { state.withLock { $0.isOpen = false } }

  /// Lets `count` pass in order of arrival; if fewer wait, the next to arrive pass too.
  public func step(_ count: Int = 1) {
    let line = state.withLock { state in
      let passing = min(count, state.line.count)
      state.stepsLeft += count - passing
      defer { state.line.removeFirst(passing) }
      return state.line.prefix(passing).map(\.pass)
    }
    for pass in line { pass() }
  }

  public var waiting: Int { state.value.waiting }

  /// Blocks until at least `count` responses wait.
  public func waitForWaiting(_ count: Int) throws { try state.wait(for: "\(count) before the gate") { $0.waiting >= count } }

  /// Suspends until at least `count` responses wait.
  public func waitForWaiting(_ count: Int) async throws {
    try await state.wait(for: "\(count) before the gate") { $0.waiting >= count }
  }

  /// Calls `pass` once the gate allows it, at once or later on another thread.
  ///
  /// - Returns: A number for ``leave(_:)``; nil if it passed at once.
  func enter(_ pass: @escaping @Sendable () -> Void) -> Int? {
    let id = state.withLock { state -> Int? in
      if state.isOpen { return nil }
      if state.stepsLeft > 0 {
        state.stepsLeft -= 1
        return nil
      }
      state.nextID += 1
      state.line.append((state.nextID, pass))
      return state.nextID
    }
    if id == nil { pass() }
    return id
  }

  /// Removes one that has left, so that no step is used for it.
  func leave(_ id: Int) { state.withLock { state in state.line.removeAll { $0.id == id } } }
}
