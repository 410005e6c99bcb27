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
    do throws(ThreadError) {
      return try begin(url, isOwnOrigin: isOwnOrigin)
    } catch {
      return FailedFetch(error.description)
    }
  }

  private func begin(_ url: BaseURL, isOwnOrigin: Bool) throws(ThreadError) -> SpooledFetch {
    let client = try self.client()
    let (fetch, id) = try state.withLock { state throws(ThreadError) in
      let id = state.lastID + 1
      let fetch = try SpooledFetch(spoolDirectory: spoolDirectory) { [weak client] in client?.cancel([id]) }
      state.lastID = id
      state.fetches[id] = fetch
      return (fetch, id)
    }
    let options = isOwnOrigin ? options : optionsForOtherOrigins
    client.submit([Download(id: id, requestURL: url.bytes, priority: .veryHigh, options: options)])
    return fetch
  }

  /// The client, made with the first manifest, as most jobs fetch none.
  private func client() throws(ThreadError) -> DownloadClient {
    try state.withLock { state throws(ThreadError) in
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
    case .failed(_, let failure, _): fetch.fail(failure.jobSentence)
    case .cancelled: fetch.fail("the run was stopped")
    }
    state.withLock { $0.fetches[event.id] = nil }
  }
}

/// A manifest on its way into a file without a name.
final class SpooledFetch: ManifestFetch, Sendable {
  private struct State {
    var file: SpooledBytes?
    var outcome: ManifestFetchOutcome?
  }

  private let ending: WakeEvent
  private let spoolDirectory: String
  private let onCancel: @Sendable () -> Void
  private let state = Mutex(State())

  /// `onCancel` gives up the transfer. Throws if the system has no descriptor left.
  init(spoolDirectory: String, onCancel: @escaping @Sendable () -> Void) throws(ThreadError) {
    ending = try WakeEvent()
    self.spoolDirectory = spoolDirectory
    self.onCancel = onCancel
  }

  /// Becomes readable when there is an outcome.
  var descriptor: Int32 { ending.descriptor }

  var outcome: ManifestFetchOutcome? { state.withLock { $0.outcome } }

  func cancel() { onCancel() }

  // MARK: What one thread does as bytes come

  /// Writes bytes at the end of the file; where that fails, so does the fetch.
  func append(_ bytes: [UInt8]) {
    let (file, hasEnded) = state.withLock { ($0.file, $0.outcome != nil) }
    if hasEnded { return }
    do throws(SpoolError) {
      let file = if let file { file } else { try SpooledBytes(in: spoolDirectory) }
      state.withLock { $0.file = file }
      try file.append(bytes)
    } catch {
      fail(error.message)
      onCancel()
    }
  }

  /// Forgets all bytes: the transfer begins anew.
  func restart() { state.withLock { $0.file = nil } }

  /// All bytes have come.
  func finish(contentType: String?, finalURL: [UInt8]?) {
    let file = state.withLock { $0.file }
    guard let file else { return }
    file.rewind()
    end(.fetched(FetchedManifest(bytes: file, contentType: contentType, finalURL: finalURL.flatMap(Self.base))))
  }

  /// Nothing more comes, because of that.
  func fail(_ sentence: String) { end(.failed(sentence)) }

  private func end(_ outcome: ManifestFetchOutcome) {
    let isFirst = state.withLock { state in
      state.file = nil
      guard state.outcome == nil else { return false }
      state.outcome = outcome
      return true
    }
    if isFirst { ending.signal() }
  }

  private static func base(_ url: [UInt8]) -> BaseURL? {
    url.withUnsafeBytes { bytes in URLNormalizer.parts(ofNormalForm: bytes).map { BaseURL(normalized: bytes, parts: $0) } }
  }
}

/// A manifest that could not be asked for.
final class FailedFetch: ManifestFetch {
  let outcome: ManifestFetchOutcome?

  /// A fetch that failed because of that.
  init(_ sentence: String) { outcome = .failed(sentence) }

  /// None, as nobody has to wait.
  var descriptor: Int32 { -1 }

  func cancel() {}
}

/// Why a manifest could not be kept.
private struct SpoolError: Error {
  let message: String
}

private final class SpooledBytes: FetchedBytes {
  private let file: UnnamedFile
  var descriptor: Int32 { file.descriptor }

  init(in directory: String) throws(SpoolError) {
    do throws(UnnamedFileError) {
      file = try UnnamedFile(in: directory)
    } catch {
      throw SpoolError(message: "it cannot be spooled in \(directory): \(error.reason)")
    }
  }

  func append(_ bytes: [UInt8]) throws(SpoolError) {
    do throws(UnnamedFileError) {
      try file.append(bytes)
    } catch {
      throw SpoolError(message: "its spool cannot be written: \(error.reason)")
    }
  }

  func rewind() { lseek(descriptor, 0, SEEK_SET) }
}
