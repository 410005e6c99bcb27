internal import CXXHash
import Glibc

/// Prevents other runs from writing the same report until it is released or its process ends in any way.
///
/// The lock (flock(2)) is on an empty hidden file beside the report, and releasing it removes the file. The file of a killed run
/// stays, and the next run uses it. A file system without such locks gives no protection.
final class ReportLock {
  private let name: String
  private let descriptor: Int32

  /// Locks the report at `target`, which the job calls `path`; nil if the file system doesn't allow it.
  ///
  /// - Throws: ``ReportError`` if another run has the lock.
  init?(target: String, path: String) throws(ReportError) {
    var file = target.utf8.split(separator: UInt8(ascii: "/")).last.map { Array($0) } ?? []
    let hash = file.withUnsafeMutableBytes { XXH3_64bits($0.baseAddress, $0.count) }
    // Short, since the report's own name may have the maximum length.
    name = "\(folder(of: target)).prewarm-lock-\(String(hash, radix: 36))"
    while true {
      // The file of another user can be locked even if it isn't writable.
      let existing = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
      let opened = existing >= 0 ? existing : open(name, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o666)
      guard opened >= 0 else { return nil }
      guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
        let code = errno
        close(opened)
        if code == EINTR { continue }
        guard code == EWOULDBLOCK else { return nil }
        throw ReportError(.lock, path: path, code: code)
      }
      // Its owner may have removed it meanwhile.
      var (held, named) = (stat(), stat())
      if fstat(opened, &held) == 0, stat(name, &named) == 0, held.st_ino == named.st_ino, held.st_dev == named.st_dev {
        descriptor = opened
        return
      }
      close(opened)
    }
  }

  deinit {
    unlink(name)
    close(descriptor)
  }
}
