import CLinux
import Glibc
public import ImagePrimitives
import Synchronization

/// Messages from any thread to the one that owns the mailbox.
///
/// A batch costs its sender one lock, and one `eventfd` write only where the owner sleeps. The owner may sleep on a
/// further descriptor and until a moment, so that one call waits for all it can wait for.
public final class Mailbox<Message: Sendable>: Sendable {
  private struct State {
    var messages: [Message] = []
    var ownerSleeps = false
  }

  /// Why a wait ended.
  public enum Waking: Sendable {
    case messages, descriptorReady, timeout
  }

  private let state = Mutex(State())
  private let event: Int32

  /// An empty mailbox; traps where the system has no descriptor left for it.
  public init() {
    event = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    guard event >= 0 else { fatalError("eventfd: \(String(cString: strerror(errno))); raise the limit of open files") }
  }

  deinit { close(event) }

  /// Adds one message.
  public func post(_ message: Message) { post(contentsOf: CollectionOfOne(message)) }

  /// Adds messages in order; their owner wakes once.
  public func post(contentsOf messages: some Collection<Message>) {
    let wakes = state.withLock { state in
      state.messages.append(contentsOf: messages)
      defer { state.ownerSleeps = false }
      return state.ownerSleeps
    }
    if wakes { wake() }
  }

  /// Moves all messages into `messages`, whose contents are replaced and whose storage is reused; false where there were none.
  public func takeAll(into messages: inout [Message]) -> Bool {
    messages.removeAll(keepingCapacity: true)
    state.withLock { swap(&$0.messages, &messages) }
    return !messages.isEmpty
  }

  /// Sleeps until there is a message, `descriptor` can be read, or `deadline` has passed.
  ///
  /// Only the owner calls this. Without a deadline it sleeps as long as it takes.
  public func wait(until deadline: MonotonicInstant? = nil, orReadable descriptor: Int32? = nil) -> Waking {
    let hasMessages = state.withLock { state in
      state.ownerSleeps = state.messages.isEmpty
      return !state.ownerSleeps
    }
    if hasMessages { return .messages }
    var descriptors = [pollfd(fd: event, events: Int16(POLLIN), revents: 0)]
    if let descriptor { descriptors.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)) }
    while true {
      let ready = poll(&descriptors, nfds_t(descriptors.count), Self.milliseconds(until: deadline))
      if ready < 0, errno == EINTR { continue }
      state.withLock { $0.ownerSleeps = false }
      if descriptors[0].revents != 0 {
        drain()
        return .messages
      }
      return ready > 0 ? .descriptorReady : .timeout
    }
  }

  /// Rounded up, so that a deadline is past when the wait for it ends.
  private static func milliseconds(until deadline: MonotonicInstant?) -> Int32 {
    guard let deadline else { return -1 }
    let left = deadline.since(TimeSource.system.monotonic()).wholeNanoseconds
    return Int32(clamping: (left + 999_999) / 1_000_000)
  }

  private func wake() {
    var one: UInt64 = 1
    // Fails only where the counter is full, and then the owner is awake already.
    _ = write(event, &one, 8)
  }

  private func drain() {
    var count: UInt64 = 0
    _ = read(event, &count, 8)
  }
}
