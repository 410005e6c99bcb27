import Glibc
import ImageDownloading
import ImageManaging
import ImagePrimitives
import ImageURLs
import Manifests
import Synchronization
import Threads

/// Fetches a job's manifests through the downloader of its images, with the job's own connection options.
///
/// Bodies are written to unlinked files on this object's own thread: neither the transfer thread nor the one that reads
/// the manifests waits for a disk or a server.
final class JobManifestFetcher: ManifestFetcher, DownloadReceiver, Sendable {
  private struct State {
    var downloader: ImageDownloader?
    /// Created with the first manifest.
    var client: DownloadClient?
    var writer: WorkerThread?
    var fetches: [UInt64: SpooledFetch] = [:]
    var lastID: UInt64 = 0
  }

  /// The maximum size of a manifest, measured after decoding its Content-Encoding.
  static let maximumBytes = 256 << 20

  private let options: PreparedOptions
  private let optionsForOtherOrigins: PreparedOptions
  private let spoolDirectory: String
  private let events = WorkQueue<[DownloadEvent]>()
  private let state = Mutex(State())

  /// Creates a fetcher that waits for ``start(with:)``; files go to `spoolDirectory`.
  init(_ options: DownloadOptions, spoolDirectory: String) {
    self.options = PreparedOptions(options)
    optionsForOtherOrigins = PreparedOptions(options.forOtherOrigin)
    self.spoolDirectory = spoolDirectory
  }

  /// Sets the downloader; must be called once, before the first ``fetch(_:isOwnOrigin:)``.
  func start(with downloader: ImageDownloader) { state.withLock { $0.downloader = downloader } }

  /// Cancels all fetches, and waits until they have ended.
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

  /// The client, created with the first manifest, since most jobs fetch none.
  private func client() throws(ThreadError) -> DownloadClient {
    try state.withLock { state throws(ThreadError) in
      if let client = state.client { return client }
      guard let downloader = state.downloader else { preconditionFailure("manifests can't be fetched before the run starts") }
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

  /// Called on the thread of this object.
  private func take(_ event: DownloadEvent) {
    guard let fetch = state.withLock({ $0.fetches[event.id] }) else { return }
    switch event {
    case .started, .response, .progress, .retrying: return
    case .chunk(_, _, let bytes): return fetch.append(bytes)
    case .restarted: return fetch.restart()
    case .finished(_, let manifest):
      fetch.append(manifest.body)
      fetch.finish(contentType: manifest.contentType, finalURL: manifest.finalURL)
    case .notModified: fetch.fail("the server sent 304 Not Modified for an unconditional request")
    case .failed(_, let failure, _): fetch.fail(failure.jobSentence)
    case .cancelled: fetch.fail("the run was stopped")
    }
    state.withLock { $0.fetches[event.id] = nil }
  }
}

/// A manifest that is being written to an unlinked file.
final class SpooledFetch: ManifestFetch, Sendable {
  private struct State {
    var file: SpooledBytes?
    var outcome: ManifestFetchOutcome?
  }

  private let ending: WakeEvent
  private let spoolDirectory: String
  private let onCancel: @Sendable () -> Void
  private let state = Mutex(State())

  /// `onCancel` cancels the transfer. Throws if the system has no descriptor left.
  init(spoolDirectory: String, onCancel: @escaping @Sendable () -> Void) throws(ThreadError) {
    ending = try WakeEvent()
    self.spoolDirectory = spoolDirectory
    self.onCancel = onCancel
  }

  /// Becomes readable when there is an outcome.
  var descriptor: Int32 { ending.descriptor }

  var outcome: ManifestFetchOutcome? { state.withLock { $0.outcome } }

  func cancel() { onCancel() }

  // MARK: Receiving, on one thread

  /// Appends bytes to the file; if that fails, so does the fetch.
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

  /// Discards all bytes, since the transfer restarts.
  func restart() { state.withLock { $0.file = nil } }

  /// Ends the fetch after all bytes have arrived.
  func finish(contentType: String?, finalURL: [UInt8]?) {
    let file = state.withLock { $0.file }
    guard let file else { return }
    file.rewind()
    end(.fetched(FetchedManifest(bytes: file, contentType: contentType, finalURL: finalURL.flatMap(Self.base))))
  }

  /// Ends the fetch with that error.
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

/// A manifest that couldn't be requested.
final class FailedFetch: ManifestFetch {
  let outcome: ManifestFetchOutcome?

  /// Creates a fetch that failed with that error.
  init(_ sentence: String) { outcome = .failed(sentence) }

  /// None, since no wait is needed.
  var descriptor: Int32 { -1 }

  func cancel() {}
}

/// The reason why a manifest couldn't be written.
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
      throw SpoolError(message: "cannot create a temporary file in \(directory): \(error.reason)")
    }
  }

  func append(_ bytes: [UInt8]) throws(SpoolError) {
    do throws(UnnamedFileError) {
      try file.append(bytes)
    } catch {
      throw SpoolError(message: "cannot write its temporary file: \(error.reason)")
    }
  }

  func rewind() { lseek(descriptor, 0, SEEK_SET) }
}
