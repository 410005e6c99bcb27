import CLinux
import Glibc

/// What wakes a thread that sleeps in `poll` or `epoll_wait`: an eventfd(2), closed when its owner goes.
public final class WakeEvent: Sendable {
  /// Readable from ``signal()`` to ``reset()``.
  public let descriptor: Int32

  /// An event that was not signalled yet; throws where the system has no descriptor left for it.
  public init() throws(ThreadRefusal) {
    descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    guard descriptor >= 0 else { throw ThreadRefusal(what: "descriptor to wake a thread by", code: errno) }
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
public struct ThreadRefusal: Error, Sendable, Hashable, CustomStringConvertible {
  /// One sentence: what is missing, why, and what to do.
  public let description: String

  init(what: String, code: Int32) {
    let advice =
      switch code {
      case EMFILE, ENFILE: "raise the limit of open files (ulimit -n)"
      case EAGAIN: "raise the limit of processes (ulimit -u, or pids.max of the control group)"
      default: "free memory, or raise its limit"
      }
    description = "the system gives no \(what): \(String(cString: strerror(code))); \(advice)"
  }
}
