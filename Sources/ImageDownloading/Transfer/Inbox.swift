import Platform
import Base
import Synchronization

/// The messages of other threads to the transfer thread, in order.
///
/// The thread's epoll watches its eventfd, which is written only if the inbox was empty: a batch takes one lock and at most one write,
/// and the thread takes the lock only after a wake.
final class Inbox: Sendable {
  enum Message: Sendable {
    case open(client: Int, any DownloadReceiver)
    case close(client: Int, Latch?)
    case submit(client: Int, [Download])
    case cancel(client: Int, [UInt64], includingRunning: Bool)
    /// The downloads of one client; nil: of all.
    case cancelAll(client: Int?, includingRunning: Bool)
    case setPriority(client: Int, UInt64, LoadPriority)
    /// The load of that number has ended.
    case loaded(number: UInt64, Result<LoaderResponse, ImageFailure>)
    case report(EngineReport)
    case clearCookies
    case forgetFailures
    case setConcurrency(Int, perHost: Int)
    case setLimits(DownloadLimits)
    case pause(URLOrigin, for: Duration, status: Int)
    case setPauseObserver((@Sendable (HostPauseRequest) -> Void)?)
    case setSuspended(Bool)
    case capacityChanged
    case shutDown
  }

  private struct State {
    var messages: [Message] = []
    var isSuspended = false
    var isClosed = false

    /// Adds `message`. Returns whether the thread must be woken.
    mutating func add(_ message: Message) -> Bool {
      messages.append(message)
      return messages.count == 1
    }
  }

  /// Set when the thread has ended and all events are delivered.
  let ended = OneShot<Void>()
  /// Readable while there may be messages.
  var descriptor: Int32 { event.descriptor }
  private let event: WakeEvent
  private let state = Mutex(State())

  init() throws(DownloaderError) {
    do throws(ThreadError) { event = try WakeEvent() } catch { throw DownloaderError(message: "\(error)") }
  }

  /// Adds a message. Returns false after ``close()``.
  @discardableResult
  func post(_ message: Message) -> Bool {
    let (isTaken, wakes) = state.withLock { state in
      return state.isClosed ? (false, false) : (true, state.add(message))
    }
    if wakes { event.signal() }
    return isTaken
  }

  /// Whether the downloader was shut down.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  var isSuspended: Bool { state.withLock { $0.isSuspended } }

  func setSuspended(_ isSuspended: Bool) {
    let wakes = state.withLock { state in
      guard state.isSuspended != isSuspended else { return false }
      state.isSuspended = isSuspended
      return state.add(.setSuspended(isSuspended))
    }
    if wakes { event.signal() }
  }

  /// Asks the thread to end. Returns whether this was the first call.
  func close() -> Bool {
    let (isFirst, wakes) = state.withLock { state in
      guard !state.isClosed else { return (false, false) }
      defer { state.isClosed = true }
      return (true, state.add(.shutDown))
    }
    if wakes { event.signal() }
    return isFirst
  }

  /// Moves all messages into `messages`, whose storage is reused.
  func takeAll(into messages: inout [Message]) {
    // Before the lock, so that a later message wakes the thread again.
    event.reset()
    messages.removeAll(keepingCapacity: true)
    state.withLock { swap(&$0.messages, &messages) }
  }
}

extension DownloaderError {
  /// Creates the error of a failed system call, with the system's reason.
  init(system call: String) {
    let code = errno
    let advice =
      code == EMFILE || code == ENFILE ? "raise the limit of open files (ulimit -n)" : "free memory or raise its limit"
    message = "\(call) failed: \(errorSentence(code)); \(advice)"
  }
}

/// Opens once; from then on all callers pass.
final class Latch: Sendable {
  private let isOpen = WaitableState(false)

  func open() { isOpen.withLock(waking: .all) { $0 = true } }

  func wait() { isOpen.wait { $0 ? () : nil } }
}
