public import TestSupport

/// A gate that holds answers back until a test opens it: order without sleeping.
public final class Gate: Sendable {
  /// What a gate looks like from outside.
  public struct State: Sendable {
    /// Whether all pass.
    public fileprivate(set) var isOpen: Bool

    /// How many stand before it now.
    public var waiting: Int { line.count }

    /// Those who stand before it, first come first.
    fileprivate var line: [(id: Int, pass: @Sendable () -> Void)] = []
    fileprivate var nextID = 0
    fileprivate var stepsLeft = 0
  }

  private let state: Watched<State>

  /// A closed gate, or an open one.
  public init(isOpen: Bool = false) { state = Watched(State(isOpen: isOpen)) }

  /// Lets all pass, from now on.
  public func open() {
    let line = state.withLock { state in
      state.isOpen = true
      defer { state.line = [] }
      return state.line.map(\.pass)
    }
    for pass in line { pass() }
  }

  /// Holds back those who come from now on.
  public func close() { state.withLock { $0.isOpen = false } }

  /// Lets `count` pass, first come first; where fewer wait, the next to come pass instead.
  public func step(_ count: Int = 1) {
    let line = state.withLock { state in
      let passing = min(count, state.line.count)
      state.stepsLeft += count - passing
      defer { state.line.removeFirst(passing) }
      return state.line.prefix(passing).map(\.pass)
    }
    for pass in line { pass() }
  }

  /// How many stand before the gate now.
  public var waiting: Int { state.value.waiting }

  /// Blocks until at least `count` answers stand before the gate.
  public func waitForWaiting(_ count: Int, timeout: Duration = .patience) throws {
    try state.wait(for: "\(count) before the gate", timeout: timeout) { $0.waiting >= count }
  }

  /// Suspends until at least `count` answers stand before the gate.
  public func waitForWaiting(_ count: Int, timeout: Duration = .patience) async throws {
    try await state.wait(for: "\(count) before the gate", timeout: timeout) { $0.waiting >= count }
  }

  /// Calls `pass` once the gate lets it through, at once or later from another thread.
  ///
  /// - Returns: A number for ``leave(_:)``; nil where it passed at once.
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

  /// Takes one who gave up out of the line, so that no step is spent on it.
  func leave(_ id: Int) { state.withLock { state in state.line.removeAll { $0.id == id } } }
}
