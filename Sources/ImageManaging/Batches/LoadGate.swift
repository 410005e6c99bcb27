import Glibc
import Synchronization

/// Lets loads in until it is closed, and knows who is inside: so the end of a manager comes after the last load that has begun.
final class LoadGate: Sendable {
  private struct State {
    /// The thread of each load that is inside; mostly few.
    var threads: [pthread_t] = []
    var isClosed = false
  }

  private let state = Mutex(State())

  /// Lets the calling thread in; false once it is closed. Who was let in leaves by ``leave()``, on the same thread.
  func enter() -> Bool {
    state.withLock { state in
      if !state.isClosed { state.threads.append(pthread_self()) }
      return !state.isClosed
    }
  }

  /// True where it was closed meanwhile, and this was the last inside.
  func leave() -> Bool {
    state.withLock { state in
      guard let place = state.threads.lastIndex(of: pthread_self()) else { preconditionFailure("only who is inside leaves") }
      state.threads.swapAt(place, state.threads.endIndex - 1)
      state.threads.removeLast()
      return state.isClosed && state.threads.isEmpty
    }
  }

  /// Lets nobody in from now on. True where nobody is inside; else that is told to the last who leaves. A second call is told false.
  func close() -> Bool {
    state.withLock { state in
      defer { state.isClosed = true }
      return !state.isClosed && state.threads.isEmpty
    }
  }

  /// Whether it was closed.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Whether the calling thread is inside.
  var holdsCurrentThread: Bool { state.withLock { $0.threads.contains(pthread_self()) } }
}
