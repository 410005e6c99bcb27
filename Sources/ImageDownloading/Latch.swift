import Threads

/// A door that is opened once and lets all pass from then on.
final class Latch: Sendable {
  private let isOpen = WaitableState(false)

  func open() { isOpen.withLock(waking: .all) { $0 = true } }

  func wait() { isOpen.wait { $0 ? () : nil } }
}
