import ImageDownloading
import ImagePrimitives

/// What held a run's speed down, from how long each limit kept transfers from starting.
struct Bound {
  /// A limit that counted for less than this part of the run did not hold it down.
  private static let leastPart = 0.1

  /// The limit that counted most, and what to do; nil where none counted.
  let sentence: String?

  init(from before: DownloaderStatistics, to after: DownloaderStatistics, job: Job, duration: Duration) {
    let earlier = before.boundNanoseconds
    let later = after.boundNanoseconds
    let concurrency = job.prefetch.concurrency
    let used = min(after.peakRunning, concurrency)
    var limits = [
      (
        later.concurrency &- earlier.concurrency,
        "concurrency: all \(concurrency) transfers used; raise prefetch.concurrency"
      ),
      (
        later.held &- earlier.held,
        job.verify.decode == .full
          ? "decoding: transfers waited for images to be decoded; use more cores, or verify.decode: header"
          : "disk: transfers waited for the cache to be written; use a faster disk"
      ),
    ]
    // Below the limit of a host, what waited for it waited for its first connection, or for a retry.
    if used >= job.prefetch.perHost {
      let sentence = "per-host: \(used) of \(concurrency) transfers used; raise prefetch.per-host"
      limits.append((later.hosts &- earlier.hosts, sentence))
    }
    let least = UInt64(Double(duration.wholeNanoseconds) * Self.leastPart)
    sentence = limits.filter { $0.0 > least }.max { $0.0 < $1.0 }?.1
  }
}
