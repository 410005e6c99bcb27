import CLinux
import Glibc
import ImagePrimitives
import Synchronization

/// What other threads ask of the transfer thread, in order.
///
/// Its eventfd is one of the descriptors of the thread's epoll, and is written only by who finds the inbox empty: a batch costs
/// one lock and at most one write, and the thread takes the lock only where it was woken.
final class Inbox: Sendable {
  enum Message: Sendable {
    case open(client: Int, any DownloadReceiver)
    case close(client: Int, Latch?)
    case submit(client: Int, [Download])
    case cancel(client: Int, [UInt64], includingRunning: Bool)
    /// Those of one client, or of all where it is nil.
    case cancelAll(client: Int?, includingRunning: Bool)
    case setPriority(client: Int, UInt64, Priority)
    /// The load of that number has ended.
    case loaded(number: UInt64, Result<LoaderAnswer, Failure>)
    case clearCookies
    case setConcurrency(Int, perHost: Int)
    case setLimits(DownloadLimits)
    case setSuspended(Bool)
    case capacityChanged
    case shutDown
  }

  private struct State {
    var messages: [Message] = []
    var isSuspended = false
    var isClosed = false

    /// Adds `message`; true where the thread has to be woken.
    mutating func add(_ message: Message) -> Bool {
      messages.append(message)
      return messages.count == 1
    }
  }

  /// Open once the thread has ended and all events are told.
  let ended = Latch()
  /// Readable while there may be messages.
  let descriptor: Int32
  private let state = Mutex(State())

  init() throws(DownloaderError) {
    descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    guard descriptor >= 0 else { throw DownloaderError(system: "eventfd") }
  }

  deinit { Glibc.close(descriptor) }

  /// Leaves a message; false where the thread was asked to end before, and takes no more.
  @discardableResult
  func post(_ message: Message) -> Bool {
    let (isTaken, wakes) = state.withLock { state in
      trap(unless: !state.isClosed || !message.isSubmission, "a downloader that is shut down takes no downloads")
      return state.isClosed ? (false, false) : (true, state.add(message))
    }
    if wakes { wake() }
    return isTaken
  }

  var isSuspended: Bool { state.withLock { $0.isSuspended } }

  func setSuspended(_ isSuspended: Bool) {
    let wakes = state.withLock { state in
      guard state.isSuspended != isSuspended else { return false }
      state.isSuspended = isSuspended
      return state.add(.setSuspended(isSuspended))
    }
    if wakes { wake() }
  }

  /// Asks the thread to end; false where that was asked before.
  func close() -> Bool {
    let (isFirst, wakes) = state.withLock { state in
      guard !state.isClosed else { return (false, false) }
      defer { state.isClosed = true }
      return (true, state.add(.shutDown))
    }
    if wakes { wake() }
    return isFirst
  }

  /// Moves all messages into `messages`, whose storage is reused.
  func takeAll(into messages: inout [Message]) {
    var count: UInt64 = 0
    // Drained before the lock, so that a message that comes after it wakes again.
    _ = read(descriptor, &count, 8)
    messages.removeAll(keepingCapacity: true)
    state.withLock { swap(&$0.messages, &messages) }
  }

  private func wake() {
    var one: UInt64 = 1
    // Fails only where the counter is full, and then the thread is awake already.
    _ = write(descriptor, &one, 8)
  }
}

extension Inbox.Message {
  fileprivate var isSubmission: Bool {
    switch self {
    case .open, .submit: true
    default: false
    }
  }
}

extension DownloaderError {
  /// A system call that failed, with the system's reason.
  init(system call: String) {
    message = "\(call) failed: \(String(cString: strerror(errno))); raise the limit of open files (ulimit -n)"
  }
}
