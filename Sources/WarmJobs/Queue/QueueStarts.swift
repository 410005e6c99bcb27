import ImageDownloading
import Threads
import WorkQueues

/// The starts of a worker's downloader, granted by what all workers of its queue share: their rates, and the pauses that hosts have asked
/// any of them for.
///
/// How many transfers a host takes at once, found by trial or not, and when a host is left alone that does nothing but fail, stays each
/// worker's own.
final class QueueStarts: StartGranting {
  private let politeness: SharedPoliteness

  /// Joins the workers of the queue at `place`, for a downloader whose limits are then set with this.
  init(_ place: QueuePlace, for downloader: ImageDownloader) throws(ThreadRefusal) {
    politeness = try SharedPoliteness(place, receiver: DownloaderPoliteness(downloader))
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
}

/// Tells a downloader what the workers share.
private final class DownloaderPoliteness: PolitenessReceiver {
  private let downloader: ImageDownloader

  init(_ downloader: ImageDownloader) { self.downloader = downloader }

  func reserved(_ starts: [ReservedStarts]) {
    downloader.grantStarts(
      starts.map {
        StartGrant(origin: $0.origin, count: $0.count, first: $0.first, intervalNanoseconds: $0.intervalNanoseconds)
      }
    )
  }

  func rests(_ origin: String, for duration: Duration, status: Int) { downloader.rest(origin, for: duration, status: status) }

  func becameUnavailable(workers: Int) { downloader.authorityIsAway(workers: workers) }

  func becameAvailable() { downloader.authorityIsBack() }
}
