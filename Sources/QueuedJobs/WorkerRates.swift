#if Queue
import ImageDownloading
import ImagePrimitives
import Threads
import WorkQueues

/// The rates of a worker's downloader: its part of the rates shared by all workers of its queue, and the pauses that
/// hosts requested from any of them. Adaptive limits and circuit breakers aren't shared.
final class WorkerRates: Sendable {
  private let downloader: ImageDownloader
  private let shared: SharedRates

  /// Joins the workers of the queue at `location`. From now on `downloader` uses only its part of the rates of
  /// `limits`, which is nothing until Redis has granted one.
  ///
  /// `onRefusal` is called with a sentence, once for each, if Redis refuses what sharing needs.
  init(
    _ location: QueueLocation,
    limits: DownloadLimits,
    of downloader: ImageDownloader,
    onRefusal: @escaping @Sendable (String) -> Void = { _ in }
  ) throws(ThreadError) {
    self.downloader = downloader
    let observer = DownloaderRates(downloader, limits: limits, onRefusal: onRefusal)
    observer.partChanged(0)
    let shared = try SharedRates(location, observer: observer)
    self.shared = shared
    downloader.observePauses { pause in shared.pause(pause.origin, for: pause.duration, status: pause.status) }
  }

  func setHasWork(_ hasWork: Bool) { shared.setHasWork(hasWork) }

  /// Leaves the workers, and waits for Redis until `deadline`, or without limit if that is nil. The downloader keeps
  /// its part of the rates until other limits are set.
  func stop(until deadline: MonotonicInstant? = nil) {
    downloader.observePauses(nil)
    if let deadline { shared.stop(until: deadline) } else { shared.stop() }
  }
}

/// Sets a downloader's rates to its part of the shared ones.
private final class DownloaderRates: SharedRatesObserver {
  /// Instead of a rate of zero, which a downloader can't have: one start in thirty years.
  private static let none = 1e-9

  private let downloader: ImageDownloader
  private let limits: DownloadLimits
  private let onRefusal: @Sendable (String) -> Void

  init(_ downloader: ImageDownloader, limits: DownloadLimits, onRefusal: @escaping @Sendable (String) -> Void) {
    (self.downloader, self.limits, self.onRefusal) = (downloader, limits, onRefusal)
  }

  func partChanged(_ part: Double) {
    guard limits.rate != nil || limits.perHostRate != nil else { return }
    var limits = limits
    limits.rate = limits.rate.map { max($0 * part, Self.none) }
    limits.perHostRate = limits.perHostRate.map { max($0 * part, Self.none) }
    downloader.setLimits(limits)
  }

  func hostPaused(_ origin: String, for duration: Duration, status: Int) {
    downloader.pause(origin, for: duration, status: status)
  }

  func wasRefused(_ why: String, workers: Int) {
    let part = workers == 1 ? "the full rates" : "1/\(workers) of the rates"
    onRefusal("rates and pauses aren't shared with other workers; this worker uses \(part): \(why)")
  }
}
#endif
