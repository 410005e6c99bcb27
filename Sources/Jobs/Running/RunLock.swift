import Glibc
import ImageCaching
import Base
import Lists

/// Keeps runs of the same lists over one cache apart: the second waits, and then finds the images of the first.
///
/// It is a lock (fcntl(2)) on one byte of `runs.lock` in the cache's folder, whose position is a hash of the lists. The kernel releases
/// it when the process ends in any way, and refuses a wait that would never end, as of two processes with the same jobs in other orders.
/// Runs of one process never wait for each other.
final class RunLock {
  private let descriptor: FileDescriptor
  /// Whether another process had it.
  private(set) var hasWaited = false

  /// Waits until no other process runs the lists of `job`; nil if the file system has no such locks, or if a list is standard input,
  /// which no other run reads.
  ///
  /// - Parameter onWait: called before a wait, with the process that it is for; 0 if that is in another container.
  init?(_ job: Job, in cache: ImageCache, onWait: (pid_t) -> Void) {
    guard !job.manifests.contains(where: \.isStandardInput) else { return nil }
    let number = open("\(cache.path)/runs.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
    guard number >= 0 else { return nil }
    descriptor = FileDescriptor(owning: number)
    let lists = "\(job.manifests.map(\.list.source)) \(job.shard.map { "\($0.index)/\($0.count)" } ?? "")"
    let hash = Array(lists.utf8).withUnsafeBytes { checksum(of: $0) }
    var lock = flock()
    (lock.l_type, lock.l_whence) = (Int16(F_WRLCK), Int16(SEEK_SET))
    // Positive, and with room for the byte's end.
    (lock.l_start, lock.l_len) = (Int(hash.low >> 2), 1)
    if fcntl(number, F_SETLK, &lock) == 0 { return }
    guard errno == EACCES || errno == EAGAIN else { return nil }
    hasWaited = true
    var holder = lock
    if fcntl(number, F_GETLK, &holder) == 0, holder.l_type != Int16(F_UNLCK) { onWait(max(0, holder.l_pid)) }
    while fcntl(number, F_SETLKW, &lock) != 0 { if errno != EINTR { return nil } }
  }
}
