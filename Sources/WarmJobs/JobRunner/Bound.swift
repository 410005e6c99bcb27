import ImageDownloading
import ImagePrimitives

/// What held a run's speed down, from how long each limit kept transfers from starting.
struct Bound {
  private let times: [(nanoseconds: UInt64, sentence: String)]

  init(from before: DownloaderStatistics, to after: DownloaderStatistics, job: Job) {
    let earlier = before.boundNanoseconds
    let later = after.boundNanoseconds
    let concurrency = job.prefetch.concurrency
    let used = min(after.peakRunning, concurrency)
    times = [
      (
        later.concurrency &- earlier.concurrency,
        "concurrency: all \(concurrency) transfers used; raise prefetch.concurrency"
      ),
      (
        later.hosts &- earlier.hosts,
        "per-host: \(used) of \(concurrency) transfers used; raise prefetch.per-host"
      ),
      (
        later.held &- earlier.held,
        job.verify.decode == .full
          ? "decoding: transfers waited for images to be decoded; use more cores, or verify.decode: header"
          : "disk: transfers waited for the cache to be written; use a faster disk"
      ),
    ]
  }

  /// The limit that counted most, and what to do; nil where nothing had to wait.
  var sentence: String? {
    guard let most = times.max(by: { $0.nanoseconds < $1.nanoseconds }), most.nanoseconds > 0 else { return nil }
    return most.sentence
  }
}
