#if Queue
import ImageDownloading
import ImagePrimitives
import Threads
import WorkQueues

/// The rates of a worker's downloader: its part of those that all workers of its queue share, and the pauses that hosts have
/// asked any of them for. Adaptive limits and circuit breakers stay each worker's own.
final class WorkerRates: Sendable {
  private let downloader: ImageDownloader
  private let shared: SharedRates

  /// Joins the workers of the queue at `location`. From here on `downloader` keeps to its part of the rates of `limits`, which is
  /// none before Redis has granted one.
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

  /// Leaves the workers, and waits for Redis until `deadline`, or as long as it takes if that is nil. The downloader keeps its
  /// part of the rates until other limits are set.
  func stop(until deadline: MonotonicInstant? = nil) {
    downloader.observePauses(nil)
    if let deadline { shared.stop(until: deadline) } else { shared.stop() }
  }
}

/// Sets a downloader's rates to its part of the shared ones.
private final class DownloaderRates: SharedRatesObserver {
  /// In place of a rate of zero, which a downloader cannot have: a start in thirty years.
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
    let part = workers == 1 ? "as if it were alone" : "to its part of one in \(workers)"
    onRefusal("rates and pauses are not shared with other workers, and this one keeps to the rates \(part): \(why)")
  }
}
#endif
