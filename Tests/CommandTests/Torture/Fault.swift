/// A failing system call, in the form of strace's `inject`.
struct Fault: Hashable, CustomStringConvertible {
  /// The call's name, such as `openat`.
  let call: String
  /// The error it fails with, such as `EIO`.
  let error: String
  /// The number of the failing call, from 1. strace counts per thread, so the call of that number fails in every thread
  /// that makes as many: one fault, or a few at the same time.
  let place: Int

  var description: String { "\(call)=\(error) at \(place)" }

  /// The value of strace's `-e`.
  var expression: String { "inject=\(call):error=\(error):when=\(place)" }
}

extension Fault {
  /// The calls to fail, each with possible errors (their pages in section 2 of the manual).
  static let errors: [(call: String, errors: [String])] = [
    ("openat", ["EMFILE", "EIO", "ENOSPC"]),
    ("read", ["EIO"]),
    ("pread64", ["EIO"]),
    ("write", ["ENOSPC", "EIO"]),
    ("pwrite64", ["ENOSPC", "EIO"]),
    ("pwritev", ["ENOSPC", "EIO"]),
    ("fdatasync", ["EIO", "ENOSPC"]),
    ("fsync", ["EIO", "ENOSPC"]),
    ("ftruncate", ["EIO", "ENOSPC"]),
    ("renameat", ["EIO", "ENOSPC"]),
    ("rename", ["EIO", "ENOSPC"]),
    ("linkat", ["EIO", "ENOSPC"]),
    ("unlinkat", ["EIO"]),
    ("mkdirat", ["EIO", "ENOSPC"]),
    ("mmap", ["ENOMEM"]),
    ("socket", ["EMFILE", "ENOMEM"]),
    ("connect", ["ENOMEM"]),
    ("sendto", ["ENOMEM"]),
    ("recvfrom", ["ENOMEM"]),
    ("epoll_create1", ["EMFILE", "ENOMEM"]),
    ("epoll_ctl", ["ENOSPC", "ENOMEM"]),
    ("eventfd2", ["EMFILE", "ENOMEM"]),
    ("clone3", ["EAGAIN", "ENOMEM"]),
  ]
}
