import ImageDownloading
import ImagePrimitives
import Threads
import WorkQueues

/// The rates of a worker's downloader: its part of those that all workers of its queue share, and the pauses that hosts have
/// asked any of them for.
///
/// How many transfers a host takes at once, found by trial or not, and when a host is left alone that does nothing but fail,
/// stays each worker's own.
final class WorkerRates: Sendable {
  private let downloader: ImageDownloader
  private let shared: SharedRates

  /// Joins the workers of the queue at `place`. From here on `downloader` keeps to its part of the rates of `limits`, which is none
  /// before Redis has said which.
  ///
  /// `onRefusal` gets a sentence if Redis refuses what sharing needs, the same once, on a thread that is held up meanwhile.
  init(
    _ place: QueuePlace,
    limits: DownloadLimits,
    of downloader: ImageDownloader,
    onRefusal: @escaping @Sendable (String) -> Void = { _ in }
  ) throws(ThreadRefusal) {
    self.downloader = downloader
    let observer = DownloaderRates(downloader, limits: limits, onRefusal: onRefusal)
    observer.partChanged(0)
    let shared = try SharedRates(place, observer: observer)
    self.shared = shared
    downloader.observePauses { pause in shared.pause(pause.origin, for: pause.duration, status: pause.status) }
  }

  /// Says whether the worker has work; cheap.
  func setHasWork(_ hasWork: Bool) { shared.setHasWork(hasWork) }

  /// Leaves the workers, but does not wait for Redis beyond `deadline`; nil: as long as it takes. The downloader keeps the part of
  /// the rates that it had until other limits are set.
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
