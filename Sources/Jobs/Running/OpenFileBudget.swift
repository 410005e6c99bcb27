import Glibc

/// The number of simultaneous transfers that the limit of open files allows (getrlimit(2), RLIMIT_NOFILE).
///
/// A job with a higher concurrency runs with fewer transfers and a warning: failures for lack of a descriptor would say
/// nothing about the images.
struct OpenFileBudget {
  /// Reports, lists, the cache, epoll and other files that are opened once, with some reserve.
  private static let fixed = 40
  /// A socket, a large body being written, and a kept connection or a name being resolved.
  private static let perTransfer = 3

  let limit: Int
  /// Descriptors that others keep open while the job runs.
  var reserved = 0

  init(limit: Int) { self.limit = limit }

  init() {
    var limit = rlimit()
    let isKnown = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
    self.limit = isKnown ? Int(clamping: limit.rlim_cur) : 1024
  }

  /// The number of transfers that the limit allows. A quarter of the files is reserved for large bodies waiting for
  /// their commit.
  var transfers: Int { max(1, (limit - limit / 4 - Self.fixed - reserved) / Self.perTransfer) }

  /// The warning for a job that wants more; nil if the limit suffices.
  func warning(concurrency: Int) -> String? {
    guard concurrency > transfers else { return nil }
    return
      "the limit of \(limit) open files allows only \(transfers) of \(concurrency) simultaneous transfers; raise it (ulimit -n), or lower "
      + "prefetch.concurrency"
  }
}
