import ImageDownloading
import Synchronization

/// The clients by which a manager submits downloads: one of its own downloader, and one of each that a context names.
///
/// Those other downloaders are retained by their owners only: clients of released ones are removed when the next is added.
final class DownloadClients: Sendable {
  private struct Other: Sendable {
    weak let downloader: ImageDownloader?
    let client: DownloadClient
  }

  private let own: DownloadClient
  private let ownDownloader: ImageDownloader
  private let receiver: any DownloadReceiver
  private let others = Mutex<[ObjectIdentifier: Other]>([:])

  init(of downloader: ImageDownloader, receiver: any DownloadReceiver) {
    ownDownloader = downloader
    self.receiver = receiver
    own = downloader.client(receiver)
  }

  /// The client of `downloader`; the manager's own one if nil.
  func client(of downloader: ImageDownloader?) -> DownloadClient {
    guard let downloader else { return own }
    let key = ObjectIdentifier(downloader)
    let (client, _) = others.withLock { others in
      // An earlier downloader at the same address is gone by now, as its weak reference shows.
      if let other = others[key], other.downloader === downloader { return (other.client, [Other]()) }
      let gone = others.filter { $0.value.downloader == nil }
      for key in gone.keys { others[key] = nil }
      let client = downloader.client(receiver)
      others[key] = Other(downloader: downloader, client: client)
      // The caller releases them, outside of the lock.
      return (client, Array(gone.values))
    }
    return client
  }

  var all: [DownloadClient] { [own] + others.withLock { $0.values.map(\.client) } }

  /// Whether the calling thread makes transfers for one of their downloaders.
  var runOnCurrentThread: Bool {
    let downloaders = others.withLock { $0.values.compactMap(\.downloader) }
    return ownDownloader.runsOnCurrentThread || downloaders.contains { $0.runsOnCurrentThread }
  }
}
