import DequeModule
import Glibc

/// Work for several threads: each element is taken by one of them, oldest first.
///
/// `@unchecked Sendable`: `elements` and `isClosed` are touched only while `mutex` is held; a condition variable needs
/// a C mutex, which `Mutex` does not give out.
public final class WorkQueue<Element: Sendable>: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var elements = Deque<Element>()
  private var isClosed = false

  /// An empty queue.
  public init() {
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Adds an element at the end.
  public func add(_ element: Element) {
    pthread_mutex_lock(mutex)
    elements.append(element)
    pthread_mutex_unlock(mutex)
    pthread_cond_signal(condition)
  }

  /// Takes the oldest element, waiting for one; nil once the queue is closed and empty.
  public func take() -> Element? {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while elements.isEmpty {
      if isClosed { return nil }
      pthread_cond_wait(condition, mutex)
    }
    return elements.removeFirst()
  }

  /// Lets the threads end: what is queued is still taken, nothing more is waited for.
  public func close() {
    pthread_mutex_lock(mutex)
    isClosed = true
    pthread_mutex_unlock(mutex)
    pthread_cond_broadcast(condition)
  }
}
