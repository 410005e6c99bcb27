import Glibc

/// How many transfers may run at once with the files that this process may have open (getrlimit(2), RLIMIT_NOFILE).
///
/// A job whose concurrency needs more runs with less, and says so: entries that fail for want of a descriptor would say nothing about
/// their images.
struct OpenFileBudget {
  /// Reports, manifests, the cache, epoll, and what else is open once only, with something to spare.
  private static let fixed = 40
  /// A socket, a large body that arrives, and a connection that is kept or a name that is being resolved.
  private static let perTransfer = 3

  /// The files that may be open.
  let limit: Int
  /// Those of them that somebody else keeps open while the job runs.
  var reserved = 0

  init(limit: Int) { self.limit = limit }

  /// The limit as it is now.
  init() {
    var limit = rlimit()
    let isKnown = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
    self.limit = isKnown ? Int(clamping: limit.rlim_cur) : 1024
  }

  /// Transfers that there are files for. A quarter of them all is for large bodies that wait for their commit.
  var transfers: Int { max(1, (limit - limit / 4 - Self.fixed - reserved) / Self.perTransfer) }

  /// What to say of a job that wants more; nil if its files suffice.
  func warning(concurrency: Int) -> String? {
    guard concurrency > transfers else { return nil }
    return
      "\(limit) files may be open, so \(transfers) of \(concurrency) transfers run at once; raise the limit (ulimit -n), or lower "
      + "prefetch.concurrency"
  }
}
