import Platform

/// State under a mutex that threads can wait on for changes.
///
/// `@unchecked Sendable`: `state` is accessed only while `mutex` is held; a condition variable needs a C mutex at a fixed address,
/// which `Mutex` doesn't expose.
package final class WaitableState<State: Sendable>: @unchecked Sendable {
  /// The waiting threads to wake after a change.
  package enum Wake: Sendable {
    case nobody, one, all
  }

  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var state: State

  package init(_ state: State) {
    self.state = state
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Reads or changes the state, then wakes waiting threads as `wake` says.
  package func withLock<Result>(waking wake: Wake, _ body: (inout State) -> Result) -> Result {
    pthread_mutex_lock(mutex)
    let result = body(&state)
    pthread_mutex_unlock(mutex)
    switch wake {
    case .nobody: break
    case .one: pthread_cond_signal(condition)
    case .all: pthread_cond_broadcast(condition)
    }
    return result
  }

  /// Waits until `body`, called under the lock, returns a result: at once, or after a change that wakes this thread.
  package func wait<Result>(for body: (inout State) -> Result?) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while true {
      if let result = body(&state) { return result }
      pthread_cond_wait(condition, mutex)
    }
  }
}
