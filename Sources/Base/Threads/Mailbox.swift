import Platform
import Synchronization

/// Messages from any thread to the owner's thread.
///
/// A batch costs the sender one lock, and one `eventfd` write if the owner sleeps. The owner can also wait for another descriptor
/// and a deadline in the same call. If no descriptor is available for the `eventfd`, the owner checks for messages every 10 ms
/// instead.
package final class Mailbox<Message: Sendable>: Sendable {
  private struct State {
    var messages: [Message] = []
    /// The number of messages that wakes the owner; nil while it is awake.
    var wakingCount: Int?
    /// Whether one of the messages wakes the owner whatever their number.
    var isUrgent = false
  }

  package enum Waking: Sendable {
    case messages
    case descriptorReady, timeout
  }

  /// The longest sleep of the owner if it has no `eventfd`.
  private static var napMilliseconds: Int32 { 10 }

  private let state = Mutex(State())
  private let event: WakeEvent?
  /// Whether the owner waits for the event by other means.
  private let isWatched: Bool

  package init() {
    do throws(ThreadError) { event = try WakeEvent() } catch { event = nil }
    isWatched = false
  }

  /// Creates a mailbox whose owner waits for `event` itself, and then calls ``takeAll(into:)``: each batch signals it.
  package init(event: WakeEvent) {
    self.event = event
    isWatched = true
  }

  /// A mailbox as if the system had no descriptor left, for tests.
  init(withoutEvent: Void) {
    event = nil
    isWatched = false
  }

  package func post(_ message: Message) { post(contentsOf: [message]) }

  /// Adds messages in order and wakes the owner once; with `wakes`, also if it waits for more.
  package func post(contentsOf messages: [Message], wakes isUrgent: Bool = false) {
    let wakes = state.withLock { state in
      let wasEmpty = state.messages.isEmpty
      state.messages.append(contentsOf: messages)
      if isUrgent { state.isUrgent = true }
      if isWatched { return wasEmpty }
      guard let count = state.wakingCount, isUrgent || state.messages.count >= count else { return false }
      state.wakingCount = nil
      return true
    }
    if wakes { event?.signal() }
  }

  /// Replaces the contents of `messages` with all messages, reusing its storage; false if there were none.
  package func takeAll(into messages: inout [Message]) -> Bool {
    messages.removeAll(keepingCapacity: true)
    // Before the lock, so that a later message signals it again.
    if isWatched { event?.reset() }
    state.withLock { state in
      swap(&state.messages, &messages)
      state.isUrgent = false
    }
    return !messages.isEmpty
  }

  /// Sleeps until there are `count` messages, `descriptor` is readable, or `deadline` has passed.
  ///
  /// Only the owner calls this. Without a deadline it may sleep indefinitely. A `count` above 1, the default, saves wake-ups; after
  /// a timeout there may be fewer messages.
  package func wait(for count: Int = 1, until deadline: MonotonicInstant? = nil, orReadable descriptor: Int32? = nil) -> Waking {
    let hasMessages = state.withLock { state in
      state.wakingCount = state.isUrgent || state.messages.count >= count ? nil : count
      return state.wakingCount == nil
    }
    if hasMessages { return .messages }
    // `poll` ignores negative descriptors.
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

  /// The time left, rounded up so that the deadline has passed when the wait ends.
  private static func milliseconds(until deadline: MonotonicInstant?) -> Int32 {
    guard let deadline else { return -1 }
    let left = deadline.since(TimeSource.system.monotonic()).wholeNanoseconds
    return Int32(clamping: (left + 999_999) / 1_000_000)
  }
}

/// A descriptor that wakes a thread in `poll`, closed on deinitialisation.
package final class WakeEvent: Sendable {
  /// Readable after ``signal()`` and until ``reset()``.
  package let descriptor: Int32

  package init() throws(ThreadError) {
    descriptor = system_wake_create()
    guard descriptor >= 0 else { throw ThreadError(task: "create a descriptor to wake a thread", code: errno) }
  }

  deinit { close(descriptor) }

  package func signal() { system_wake_signal(descriptor) }

  package func reset() { system_wake_reset(descriptor) }
}

/// The system couldn't provide a resource that a thread needs.
package struct ThreadError: Error, Sendable, Hashable, CustomStringConvertible {
  /// One sentence: what failed, why, and what to do.
  package let description: String

  package init(task: String, code: Int32) {
    let advice =
      switch code {
      case EMFILE, ENFILE: "raise the limit of open files (ulimit -n)"
      case EAGAIN: "raise the limit of processes (ulimit -u, or pids.max of the control group)"
      default: "free memory, or raise its limit"
      }
    description = "cannot \(task): \(errorSentence(code)); \(advice)"
  }
}
