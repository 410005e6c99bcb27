import Platform
import Base
import Synchronization

/// The messages of other threads to the transfer thread, in order.
///
/// The thread's epoll watches its descriptor, and the thread takes messages only after a wake.
final class Inbox: Sendable {
  enum Message: Sendable {
    case open(client: Int, any DownloadReceiver)
    /// The state becomes true once the client is closed.
    case close(client: Int, WaitableState<Bool>?)
    case submit(client: Int, [Download])
    case cancel(client: Int, [UInt64], includingRunning: Bool)
    case cancelAll(includingRunning: Bool)
    /// The options are those of a download that waits less for its host, whose patience the download gets; nil: no change.
    case setPriority(client: Int, UInt64, LoadPriority, PreparedOptions?)
    /// The load of that number has ended.
    case loaded(number: UInt64, Result<LoaderResponse, ImageFailure>)
    case report(CurlReport)
    case clearCookies
    case forgetFailures
    case setLimits(DownloadLimits)
    case setSuspended(Bool)
    case capacityChanged
    case shutDown
  }

  private struct State {
    var isSuspended = false
    var isClosed = false
  }

  /// Set when the thread has ended and all events are delivered.
  let ended = OneShot<Void>()
  /// Readable while there may be messages.
  var descriptor: Int32 { event.descriptor }
  private let event: WakeEvent
  private let mailbox: Mailbox<Message>
  private let state = Mutex(State())

  init() throws(DownloaderError) {
    do throws(ThreadError) { event = try WakeEvent() } catch { throw DownloaderError(message: "\(error)") }
    mailbox = Mailbox(event: event)
  }

  /// Adds a message. Returns false after ``close()``.
  @discardableResult
  func post(_ message: Message) -> Bool {
    // Under the lock, so that none follows the message that ends the thread.
    state.withLock { state in
      if !state.isClosed { mailbox.post(message) }
      return !state.isClosed
    }
  }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  var isSuspended: Bool { state.withLock { $0.isSuspended } }

  func setSuspended(_ isSuspended: Bool) {
    state.withLock { state in
      if state.isSuspended != isSuspended { mailbox.post(.setSuspended(isSuspended)) }
      state.isSuspended = isSuspended
    }
  }

  /// Asks the thread to end. Returns whether this was the first call.
  func close() -> Bool {
    state.withLock { state in
      defer { state.isClosed = true }
      if !state.isClosed { mailbox.post(.shutDown) }
      return !state.isClosed
    }
  }

  func takeAll(into messages: inout [Message]) { _ = mailbox.takeAll(into: &messages) }
}
