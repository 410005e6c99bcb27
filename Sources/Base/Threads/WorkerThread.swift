import DequeModule
import Platform
import Synchronization

/// A dedicated thread that runs one function.
///
/// The loops that own curl, the store and the decoders block in system calls, which threads of Swift's cooperative pool must not
/// do.
package final class WorkerThread: Sendable {
  private let handle: SystemThread
  private let life: Life
  private let isReleased = Atomic(false)

  /// The state that the thread shares with its handle.
  private final class Life: Sendable {
    let hasEnded = Atomic(false)
  }

  /// Starts `body` on a new thread called `name`, of which the system shows 15 bytes.
  ///
  /// Signals are blocked on the new thread and left to the threads that handle them. Throws if the system can't create a thread.
  package init(name: String, body: @escaping @Sendable () -> Void) throws(ThreadError) {
    let life = Life()
    var signals = sigset_t()
    var before = sigset_t()
    sigfillset(&signals)
    pthread_sigmask(SIG_SETMASK, &signals, &before)
    let thread = SystemThread.start {
      system_name_thread(name)
      body()
      life.hasEnded.store(true, ordering: .relaxed)
    }
    let code = errno
    pthread_sigmask(SIG_SETMASK, &before, nil)
    guard let thread else { throw ThreadError(task: "start thread '\(name)'", code: code) }
    handle = thread
    self.life = life
  }

  package var isCurrent: Bool {
    // The system reuses the handle of a thread that has ended.
    handle.isCurrent && !life.hasEnded.load(ordering: .relaxed)
  }

  /// Waits until the thread has ended; a second call does nothing. On the thread itself it detaches the thread instead.
  package func join() {
    guard !isReleased.exchange(true, ordering: .relaxed) else { return }
    if isCurrent { handle.detach() } else { handle.join() }
  }

  // A detached thread frees its own resources.
  deinit { if !isReleased.exchange(true, ordering: .relaxed) { handle.detach() } }
}

/// A queue for several threads: each element goes to one of them, oldest first.
package final class WorkQueue<Element: Sendable>: Sendable {
  private struct State: Sendable {
    var elements = Deque<Element>()
    var isClosed = false
  }

  private let state = WaitableState(State())

  package init() {}

  package func add(_ element: Element) { state.withLock(waking: .one) { $0.elements.append(element) } }

  /// Takes the oldest element, waiting if there is none; nil once the queue is closed and empty.
  package func take() -> Element? {
    state.wait { state -> Element?? in
      if let element = state.elements.popFirst() { return .some(element) }
      return state.isClosed ? .some(nil) : nil
    }
  }

  /// Closes the queue: queued elements are still taken, then ``take()`` returns nil.
  package func close() { state.withLock(waking: .all) { $0.isClosed = true } }
}

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
