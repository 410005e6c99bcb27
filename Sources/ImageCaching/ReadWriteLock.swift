import Glibc

/// A lock that many hold at once, or one alone: a `pthread_rwlock_t`.
///
/// Transactions hold it shared while they run, so that the map is never moved under one. It guards nothing but that.
final class ReadWriteLock: @unchecked Sendable {
  // A pthread lock may be used by any thread; the pointer is fixed from `init` to `deinit`.
  private let lock: UnsafeMutablePointer<pthread_rwlock_t>

  init() {
    lock = .allocate(capacity: 1)
    check(pthread_rwlock_init(lock, nil))
  }

  deinit {
    check(pthread_rwlock_destroy(lock))
    lock.deallocate()
  }

  func lockShared() { check(pthread_rwlock_rdlock(lock)) }
  func unlock() { check(pthread_rwlock_unlock(lock)) }

  /// Calls `body` while nobody else holds the lock.
  func alone<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    check(pthread_rwlock_wrlock(lock))
    defer { unlock() }
    return try body()
  }

  private func check(_ code: Int32) { precondition(code == 0, "pthread_rwlock: \(errorSentence(code))") }
}
