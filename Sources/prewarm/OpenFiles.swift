import Glibc

/// How many files and sockets the process may have open at once.
enum OpenFiles {
  /// Raises the limit to what the system allows this user; a job with thousands of transfers and large images needs more than the
  /// usual 1,024. Where it cannot be raised, less runs at once and errors say what to do.
  static func raiseLimit() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
