import Glibc
import ImageDownloading
import ImageManaging
import ImagePrimitives
import ImageURLs
import Manifests
import Synchronization
import Threads

/// Fetches a job's manifests through the downloader of its images, with the job's own options for connections.
///
/// Bodies go to files without names, on a thread of this object's own: neither the thread of the transfers nor the one that
/// reads the manifests waits for a disk or a server.
final class JobManifestFetcher: ManifestFetcher, DownloadReceiver, Sendable {
  private struct State {
    var downloader: ImageDownloader?
    /// Both from the first manifest on.
    var client: DownloadClient?
    var writer: WorkerThread?
    var fetches: [UInt64: SpooledFetch] = [:]
    var lastID: UInt64 = 0
  }

  /// What a manifest may have, as it comes but for a Content-Encoding; more is no manifest.
  static let maximumBytes = 256 << 20

  private let options: PreparedOptions
  private let optionsForOtherOrigins: PreparedOptions
  private let spoolDirectory: String
  private let events = WorkQueue<[DownloadEvent]>()
  private let state = Mutex(State())

  /// A fetcher that waits for ``start(with:)``; files go to `spoolDirectory`.
  init(_ options: DownloadOptions, spoolDirectory: String) {
    self.options = PreparedOptions(options)
    optionsForOtherOrigins = PreparedOptions(options.forOtherOrigin)
    self.spoolDirectory = spoolDirectory
  }

  /// Says who fetches; to be called once, before the first ``fetch(_:isOwnOrigin:)``.
  func start(with downloader: ImageDownloader) { state.withLock { $0.downloader = downloader } }

  /// Gives up what is under way and waits until nothing more comes.
  func stop() {
    let (client, writer) = state.withLock { ($0.client, $0.writer) }
    client?.close()
    events.close()
    writer?.join()
  }

  // MARK: ManifestFetcher

  func fetch(_ url: BaseURL, isOwnOrigin: Bool) -> any ManifestFetch {
    do throws(ThreadRefusal) {
      return try begin(url, isOwnOrigin: isOwnOrigin)
    } catch {
      return RefusedFetch(error.description)
    }
  }

  private func begin(_ url: BaseURL, isOwnOrigin: Bool) throws(ThreadRefusal) -> SpooledFetch {
    let client = try self.client()
    let (fetch, id) = try state.withLock { state throws(ThreadRefusal) in
      let id = state.lastID + 1
      let fetch = try SpooledFetch(spoolDirectory: spoolDirectory) { [weak client] in client?.cancel([id]) }
      state.lastID = id
      state.fetches[id] = fetch
      return (fetch, id)
    }
    let options = isOwnOrigin ? options : optionsForOtherOrigins
    client.submit([Download(id: id, url: url.bytes, priority: .veryHigh, options: options)])
    return fetch
  }

  /// The client, made with the first manifest, as most jobs fetch none.
  private func client() throws(ThreadRefusal) -> DownloadClient {
    try state.withLock { state throws(ThreadRefusal) in
      if let client = state.client { return client }
      guard let downloader = state.downloader else { preconditionFailure("manifests are fetched before the run has begun") }
      state.writer = try WorkerThread(name: "manifests") { [events, self] in
        while let batch = events.take() {
          for event in batch { take(event) }
        }
      }
      let client = downloader.client(self)
      state.client = client
      return client
    }
  }

  // MARK: DownloadReceiver

  var mayStart: Bool { true }

  func receive(_ batch: [DownloadEvent]) { events.add(batch) }

  /// On the thread of this object.
  private func take(_ event: DownloadEvent) {
    guard let fetch = state.withLock({ $0.fetches[event.id] }) else { return }
    switch event {
    case .started, .response, .progress: return
    case .chunk(_, _, let bytes): return fetch.append(bytes)
    case .restarted: return fetch.restart()
    case .finished(_, let manifest):
      fetch.append(manifest.body)
      fetch.finish(contentType: manifest.contentType, finalURL: manifest.finalURL)
    case .notModified: fetch.fail("the server answered 304 Not Modified to what was no question")
    case .failed(_, let failure, _): fetch.fail(failure.message)
    case .cancelled: fetch.fail("the run was stopped")
    }
    state.withLock { $0.fetches[event.id] = nil }
  }
}
