import Glibc
import ImageDownloading
import ImageManaging
import Base
import Lists
import Synchronization

/// Fetches a job's lists through the downloader of its images, with the job's own connection options.
///
/// Bodies are written to unlinked files on this object's own thread: neither the transfer thread nor the one that reads
/// the manifests waits for a disk or a server. With ``ListCopies``, a list that hasn't changed isn't sent again.
final class JobListFetcher: ListFetcher, DownloadReceiver, Sendable {
  private struct State {
    var downloader: ImageDownloader?
    var client: DownloadClient?
    var writer: WorkerThread?
    var fetches: [UInt64: Fetch] = [:]
    var lastID: UInt64 = 0
    var isStopped = false
  }

  private struct Fetch {
    let spooled: SpooledFetch
    var download: Download
    /// The name of its copy; nil if none is kept.
    var name: String?
    /// The copy that is current if the server says so.
    var copy: ListCopy?
    var isSubmitted = false
  }

  private enum Work {
    /// Look for a copy before the fetch with that number.
    case start(UInt64)
    case events([DownloadEvent])
  }

  /// The maximum size of a list, measured after decoding its Content-Encoding.
  static let maximumBytes = 256 << 20

  /// How lists are fetched: those that the job names, and those that servers of other origins name.
  private struct Options {
    let own: PreparedOptions
    let other: PreparedOptions
    /// Whether both may have secrets, since the job names the host.
    let isOfHost: Bool

    init(_ job: Job, of rule: Job.HostRule? = nil) {
      isOfHost = rule?.changesRequests ?? false
      own = PreparedOptions((rule.map(job.applying) ?? job).listDownloadOptions)
      if let rule, isOfHost {
        other = PreparedOptions(job.withoutSecrets.applying(rule).listDownloadOptions)
      } else {
        other = PreparedOptions(own.options.forOtherOrigin)
      }
    }
  }

  private let options: Options
  private let optionsOfHosts: [HostPattern: Options]
  private let spoolDirectory: String
  private let copies: ListCopies?
  private let work = WorkQueue<Work>()
  private let state = Mutex(State())

  /// Creates a fetcher that waits for ``start(with:)``; files go to `spoolDirectory`.
  init(_ job: Job, spoolDirectory: String, copies: ListCopies? = nil) {
    options = Options(job)
    optionsOfHosts = job.hostRules.mapValues { Options(job, of: $0) }
    (self.spoolDirectory, self.copies) = (spoolDirectory, copies)
  }

  /// Sets the downloader; must be called once, before the first ``fetch(_:isOwnOrigin:)``.
  func start(with downloader: ImageDownloader) { state.withLock { $0.downloader = downloader } }

  /// Cancels all fetches, and waits until they have ended.
  func stop() {
    let (client, writer) = state.withLock { state in
      state.isStopped = true
      return (state.client, state.writer)
    }
    client?.close()
    work.close()
    writer?.join()
  }

  // MARK: ListFetcher

  func fetch(_ url: BaseURL, isOwnOrigin: Bool) -> any ListFetch {
    do throws(ThreadError) {
      return try begin(url, isOwnOrigin: isOwnOrigin)
    } catch {
      return FailedFetch(error.description)
    }
  }

  private func begin(_ url: BaseURL, isOwnOrigin: Bool) throws(ThreadError) -> SpooledFetch {
    try makeClient()
    let ofHost = optionsOfHosts.value(of: url) ?? options
    let options = isOwnOrigin ? ofHost.own : ofHost.other
    let name = copies?.name(of: url, options.options, isOwnOrigin: isOwnOrigin || ofHost.isOfHost)
    let (fetch, id) = try state.withLock { state throws(ThreadError) in
      let id = state.lastID + 1
      let fetch = try SpooledFetch(spoolDirectory: spoolDirectory) { [weak self] in self?.cancel(id) }
      state.lastID = id
      let download = Download(id: id, requestURL: url.bytes, priority: .veryHigh, options: options)
      state.fetches[id] = Fetch(spooled: fetch, download: download, name: name)
      return (fetch, id)
    }
    if name == nil { submit(id) } else { work.add(.start(id)) }
    return fetch
  }

  /// Creates the client with the first list, since most jobs fetch none.
  private func makeClient() throws(ThreadError) {
    try state.withLock { state throws(ThreadError) in
      if state.client != nil { return }
      guard let downloader = state.downloader else { preconditionFailure("manifests can't be fetched before the run starts") }
      state.writer = try WorkerThread(name: "manifests") { [work, self] in
        while let next = work.take() {
          switch next {
          case .start(let id): start(id)
          case .events(let batch): for event in batch { take(event) }
          }
        }
      }
      state.client = downloader.client(self)
    }
  }

  /// Requests a list, unless its fetch was cancelled before.
  private func submit(_ id: UInt64) {
    // Under the lock, since a closed client traps.
    state.withLock { state in
      guard !state.isStopped, let download = state.fetches[id]?.download else { return }
      state.fetches[id]?.isSubmitted = true
      state.client?.submit([download])
    }
  }

  private func cancel(_ id: UInt64) {
    let client = state.withLock { state in
      if state.fetches[id]?.isSubmitted == false { state.fetches[id] = nil }
      return state.client
    }
    client?.cancel([id])
  }

  // MARK: DownloadReceiver

  var mayStart: Bool { true }

  func receive(_ batch: [DownloadEvent]) { work.add(.events(batch)) }

  // MARK: On the thread of this object

  private func start(_ id: UInt64) {
    let name = state.withLock { $0.fetches[id]?.name }
    if let name, let copy = copies?.copy(named: name) { use(copy, for: id) }
    submit(id)
  }

  /// Asks whether `copy` is current; if it is nil, fetches the list.
  private func use(_ copy: ListCopy?, for id: UInt64) {
    state.withLock { state in
      state.fetches[id]?.copy = copy
      state.fetches[id]?.download.validators = copy?.validators
    }
  }

  private func take(_ event: DownloadEvent) {
    guard let fetch = state.withLock({ $0.fetches[event.id] }) else { return }
    switch event {
    case .started, .response, .progress, .retrying: return
    case .chunk(_, _, let bytes): return fetch.spooled.append(bytes)
    case .restarted: return fetch.spooled.restart()
    case .finished(_, let response):
      fetch.spooled.append(response.body)
      let list = fetch.spooled.finish(contentType: response.contentType, finalURL: response.finalURLBytes)
      if let list, let name = fetch.name { copies?.keep(list, named: name, response) }
    case .notModified(let id, let response):
      guard let copy = fetch.copy, let name = fetch.name else {
        fetch.spooled.fail("the server sent 304 Not Modified for an unconditional request")
        break
      }
      // The copy is that of another URL if a redirect changed.
      guard copy.finalURL == response.finalURLBytes else {
        use(nil, for: id)
        return submit(id)
      }
      copies?.touch(name)
      fetch.spooled.finish(copy, contentType: copy.contentType, finalURL: copy.finalURL)
    case .failed(_, let failure, _): fetch.spooled.fail(failure.jobSentence)
    case .cancelled: fetch.spooled.fail("the run was stopped")
    }
    state.withLock { $0.fetches[event.id] = nil }
  }
}

/// A list that is being written to an unlinked file.
final class SpooledFetch: ListFetch, Sendable {
  private struct State {
    var file: UnnamedFile?
    var outcome: ListFetchOutcome?
  }

  private let ending: WakeEvent
  private let spoolDirectory: String
  private let onCancel: @Sendable () -> Void
  private let state = Mutex(State())

  /// `onCancel` cancels the transfer. Throws if the system has no descriptor left.
  init(spoolDirectory: String, onCancel: @escaping @Sendable () -> Void) throws(ThreadError) {
    ending = try WakeEvent()
    (self.spoolDirectory, self.onCancel) = (spoolDirectory, onCancel)
  }

  /// Becomes readable when there is an outcome.
  var descriptor: Int32 { ending.descriptor }

  var outcome: ListFetchOutcome? { state.withLock { $0.outcome } }

  func cancel() { onCancel() }

  // MARK: Receiving, on one thread

  /// Appends bytes to the file; if that fails, so does the fetch.
  func append(_ bytes: [UInt8]) {
    var (file, hasEnded) = state.withLock { ($0.file, $0.outcome != nil) }
    if hasEnded { return }
    do throws(UnnamedFileError) {
      if file == nil {
        let new = try UnnamedFile(in: spoolDirectory)
        state.withLock { $0.file = new }
        file = new
      }
      try file?.append(bytes)
    } catch {
      let work = file == nil ? "cannot create a temporary file in \(spoolDirectory)" : "cannot write its temporary file"
      fail("\(work): \(error.reason)")
      onCancel()
    }
  }

  func restart() { state.withLock { $0.file = nil } }

  /// Ends the fetch after all bytes have arrived, and returns them; nil if it has failed.
  func finish(contentType: String?, finalURL: [UInt8]?) -> (any FetchedBytes)? {
    let file = state.withLock { $0.outcome == nil ? $0.file : nil }
    guard let file else { return nil }
    lseek(file.descriptor, 0, SEEK_SET)
    finish(file, contentType: contentType, finalURL: finalURL)
    return file
  }

  func finish(_ bytes: any FetchedBytes, contentType: String?, finalURL: [UInt8]?) {
    end(.fetched(FetchedList(bytes: bytes, contentType: contentType, finalURL: finalURL.flatMap(Self.base))))
  }

  func fail(_ sentence: String) { end(.failed(sentence)) }

  private func end(_ outcome: ListFetchOutcome) {
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

final class FailedFetch: ListFetch {
  let outcome: ListFetchOutcome?

  init(_ sentence: String) { outcome = .failed(sentence) }

  /// None, since no wait is needed.
  var descriptor: Int32 { -1 }

  func cancel() {}
}
