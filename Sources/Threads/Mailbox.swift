import CLinux
import Glibc
public import ImagePrimitives
import Synchronization

/// Messages from any thread to the one that owns the mailbox.
///
/// A batch costs its sender one lock, and one `eventfd` write only where the owner sleeps. The owner may sleep on a
/// further descriptor and until a moment, so that one call waits for all it can wait for. Where the system has no descriptor left to wake
/// it by, the owner looks for messages every 10 ms instead.
public final class Mailbox<Message: Sendable>: Sendable {
  private struct State {
    var messages: [Message] = []
    /// How many messages wake the owner; nil while it is awake.
    var wakingCount: Int?
  }

  /// Why a wait ended.
  public enum Waking: Sendable {
    /// There may be messages.
    case messages
    case descriptorReady, timeout
  }

  /// How long the owner sleeps at most where nothing can wake it.
  private static var napMilliseconds: Int32 { 10 }

  private let state = Mutex(State())
  private let event: WakeEvent?

  /// An empty mailbox.
  public init() {
    do throws(ThreadError) { event = try WakeEvent() } catch { event = nil }
  }

  /// A mailbox as where the system has no descriptor left.
  init(withoutEvent: Void) { event = nil }

  /// Adds one message.
  public func post(_ message: Message) { post(contentsOf: CollectionOfOne(message)) }

  /// Adds messages in order; their owner wakes once.
  public func post(contentsOf messages: some Collection<Message>) {
    let wakes = state.withLock { state in
      state.messages.append(contentsOf: messages)
      guard let count = state.wakingCount, state.messages.count >= count else { return false }
      state.wakingCount = nil
      return true
    }
    if wakes { event?.signal() }
  }

  /// Moves all messages into `messages`, whose contents are replaced and whose storage is reused; false where there were none.
  public func takeAll(into messages: inout [Message]) -> Bool {
    messages.removeAll(keepingCapacity: true)
    state.withLock { swap(&$0.messages, &messages) }
    return !messages.isEmpty
  }

  /// Sleeps until there are `count` messages, `descriptor` can be read, or `deadline` has passed.
  ///
  /// Only the owner calls this. Without a deadline it sleeps as long as it takes. With a higher count than 1, the default, many messages
  /// cost one waking; fewer are there when it ends by its deadline.
  public func wait(
    for count: Int = 1,
    until deadline: MonotonicInstant? = nil,
    orReadable descriptor: Int32? = nil
  ) -> Waking {
    let hasMessages = state.withLock { state in
      state.wakingCount = state.messages.count >= count ? nil : count
      return state.wakingCount == nil
    }
    if hasMessages { return .messages }
    // One that is negative `poll` passes over.
    var descriptors = [pollfd(fd: event?.descriptor ?? -1, events: Int16(POLLIN), revents: 0)]
    if let descriptor { descriptors.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)) }
    while true {
      let left = Self.milliseconds(until: deadline)
      let naps = event == nil && !(0...Self.napMilliseconds).contains(left)
      let ready = poll(&descriptors, nfds_t(descriptors.count), naps ? Self.napMilliseconds : left)
      if ready < 0, errno == EINTR { continue }
      state.withLock { $0.wakingCount = nil }
      if descriptors[0].revents != 0 {
        event?.reset()
        return .messages
      }
      if ready > 0 { return .descriptorReady }
      return naps ? .messages : .timeout
    }
  }

  /// Rounded up, so that a deadline is past when the wait for it ends.
  private static func milliseconds(until deadline: MonotonicInstant?) -> Int32 {
    guard let deadline else { return -1 }
    let left = deadline.since(TimeSource.system.monotonic()).wholeNanoseconds
    return Int32(clamping: (left + 999_999) / 1_000_000)
  }
}

/// What wakes a thread that sleeps in `poll` or `epoll_wait`: an eventfd(2), closed when its owner goes.
public final class WakeEvent: Sendable {
  /// Readable from ``signal()`` to ``reset()``.
  public let descriptor: Int32

  /// An event that was not signalled yet; throws where the system has no descriptor left for it.
  public init() throws(ThreadError) {
    descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    guard descriptor >= 0 else { throw ThreadError(what: "descriptor to wake a thread by", code: errno) }
  }

  deinit { close(descriptor) }

  /// Makes the descriptor readable, from any thread.
  public func signal() {
    var one: UInt64 = 1
    // A wake that is lost is a thread that sleeps for ever. EAGAIN: the counter is full, and then the thread is awake already.
    while write(descriptor, &one, 8) < 0, errno != EAGAIN, errno != EBADF {}
  }

  /// Makes the descriptor unreadable.
  public func reset() {
    var count: UInt64 = 0
    // What is not read now wakes once too often, no more.
    _ = read(descriptor, &count, 8)
  }
}

/// The system refused what a thread needs.
public struct ThreadError: Error, Sendable, Hashable, CustomStringConvertible {
  /// One sentence: what is missing, why, and what to do.
  public let description: String

  init(what: String, code: Int32) {
    let advice =
      switch code {
      case EMFILE, ENFILE: "raise the limit of open files (ulimit -n)"
      case EAGAIN: "raise the limit of processes (ulimit -u, or pids.max of the control group)"
      default: "free memory, or raise its limit"
      }
    description = "the system gives no \(what): \(errorSentence(code)); \(advice)"
  }
}
