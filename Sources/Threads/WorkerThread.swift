import CLinux
import DequeModule
import Glibc
public import ImagePrimitives
import Synchronization

/// A thread of our own: it runs one function to its end.
///
/// The loops that own curl, the store and the decoders block in system calls, which Swift's cooperative pool must not.
public final class WorkerThread: Sendable {
  private static let napMicroseconds: UInt32 = 2000

  private let handle: pthread_t
  private let life: Life
  private let isLetGo = Atomic(false)

  /// What the thread says of itself.
  private final class Life: Sendable {
    let hasEnded = Atomic(false)
  }

  /// What crosses to the new thread through a C pointer.
  private final class Start {
    let name: String
    let life: Life
    let body: @Sendable () -> Void
    init(name: String, life: Life, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.life = life
      self.body = body
    }
  }

  /// Starts `body` on a new thread called `name` (15 bytes of it are shown by the system).
  ///
  /// Signals stay blocked on the new thread: they belong to whoever handles them. Throws where the system starts no thread.
  public init(name: String, body: @escaping @Sendable () -> Void) throws(ThreadError) {
    let life = Life()
    let start = Unmanaged.passRetained(Start(name: name, life: life, body: body))
    var signals = sigset_t()
    var before = sigset_t()
    sigfillset(&signals)
    pthread_sigmask(SIG_SETMASK, &signals, &before)
    var thread = pthread_t()
    let status = pthread_create(
      &thread,
      nil,
      { argument in
        let start = Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue()
        linux_set_thread_name(start.name)
        start.body()
        start.life.hasEnded.store(true, ordering: .relaxed)
        return nil
      },
      start.toOpaque()
    )
    pthread_sigmask(SIG_SETMASK, &before, nil)
    guard status == 0 else {
      start.release()
      throw ThreadError(what: "thread for \"\(name)\"", code: status)
    }
    self.life = life
    handle = thread
  }

  /// Whether it is the calling thread.
  public var isCurrent: Bool {
    // The system gives the handle of one that has ended to another.
    pthread_equal(handle, pthread_self()) != 0 && !life.hasEnded.load(ordering: .relaxed)
  }

  /// Waits until the thread has ended; a second call does nothing. On the thread itself it lets go of it instead, to end by itself.
  public func join() {
    guard !isLetGo.exchange(true, ordering: .relaxed) else { return }
    if isCurrent { pthread_detach(handle) } else { pthread_join(handle, nil) }
  }

  /// Waits until the thread has ended, but not beyond `deadline`; whether it has ended. One that has not is let go of, to end by
  /// itself, where `letsGo`.
  public func join(until deadline: MonotonicInstant, letsGo: Bool) -> Bool {
    while !life.hasEnded.load(ordering: .relaxed) {
      if TimeSource.system.monotonic() >= deadline {
        if letsGo, !isLetGo.exchange(true, ordering: .relaxed) { pthread_detach(handle) }
        return false
      }
      usleep(Self.napMicroseconds)
    }
    join()
    return true
  }

  // A thread that nobody waits for frees its own resources.
  deinit { if !isLetGo.exchange(true, ordering: .relaxed) { pthread_detach(handle) } }
}

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
