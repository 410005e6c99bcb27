import ImageDownloading
import ImagePrimitives
import Threads
import WorkQueues

/// The starts of a worker's downloader, granted by what all workers of its queue share: their rates, and the pauses that hosts
/// have asked any of them for.
///
/// How many transfers a host takes at once, found by trial or not, and when a host is left alone that does nothing but fail,
/// stays each worker's own.
final class QueueStarts: StartGranting {
  private let politeness: SharedPoliteness

  /// Joins the workers of the queue at `place`, for a downloader whose limits are then set with this.
  ///
  /// `onRefusal` gets a sentence where Redis refuses what sharing needs, the same once, on a thread that is held up meanwhile.
  init(
    _ place: QueuePlace,
    for downloader: ImageDownloader,
    onRefusal: @escaping @Sendable (String) -> Void = { _ in }
  ) throws(ThreadRefusal) {
    politeness = try SharedPoliteness(place, receiver: DownloaderPoliteness(downloader, onRefusal: onRefusal))
  }

  func requestStarts(_ requests: [StartRequest]) {
    politeness.reserve(
      requests.map {
        StartReservation(origin: $0.origin, count: $0.count, intervalNanoseconds: $0.intervalNanoseconds)
      }
    )
  }

  func noteRest(of origin: String, for duration: Duration, status: Int) {
    politeness.rest(origin, for: duration, status: status)
  }

  /// Leaves the workers. The downloader goes on by rates of its own until other limits are set.
  func stop() { politeness.stop() }

  /// The same at the end of all work: what Redis does not answer until `deadline` is not waited for.
  func stop(until deadline: MonotonicInstant) { politeness.stop(until: deadline) }
}

/// Tells a downloader what the workers share.
private final class DownloaderPoliteness: PolitenessReceiver {
  private let downloader: ImageDownloader
  private let onRefusal: @Sendable (String) -> Void
  /// Any other than that of the other workers will do.
  private let phase = Double.random(in: 0..<1)

  init(_ downloader: ImageDownloader, onRefusal: @escaping @Sendable (String) -> Void) {
    self.downloader = downloader
    self.onRefusal = onRefusal
  }

  func reserved(_ starts: [ReservedStarts]) {
    downloader.grantStarts(
      starts.map {
        StartGrant(origin: $0.origin, count: $0.count, first: $0.first, intervalNanoseconds: $0.intervalNanoseconds)
      }
    )
  }

  func rests(_ origin: String, for duration: Duration, status: Int) { downloader.rest(origin, for: duration, status: status) }

  func becameUnavailable(workers: Int) { downloader.authorityIsAway(workers: workers, phase: phase) }

  func wasRefused(_ why: String, workers: Int) {
    let part = workers == 1 ? "as if it were alone" : "to its part of one in \(workers)"
    onRefusal("rates and pauses are not shared with other workers, and this one keeps to the rates \(part): \(why)")
  }

  func becameAvailable(workers: Int) { downloader.authorityIsBack(workers: workers) }

  func othersReturned() { downloader.authorityIsBack() }
}
