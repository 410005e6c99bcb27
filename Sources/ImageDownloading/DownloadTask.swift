public import Base
import Synchronization

/// A single download, for callers that want one image rather than a batch: see
/// ``ImageDownloader/download(_:priority:options:validators:progressInterval:)``.
///
/// It keeps its downloader running. Releasing it doesn't cancel it.
public final class DownloadTask: Sendable {
  /// A step of the download.
  public enum Event: Sendable {
    /// The transfer has begun; once.
    case started
    /// The head of a response that isn't a redirect; once per attempt.
    case response(ResponseHead)
    /// The body's bytes received in this attempt, and its length if the server declared it. The first report of an attempt has 0, the last
    /// one all.
    case progress(received: Int, expected: Int?)
    /// The attempt failed, and another follows after that time.
    case retrying(after: ImageFailure, in: Duration)
    /// The download has ended, with the result that ``DownloadTask/value`` returns or throws. The last event.
    case ended(Result<DownloadResponse, DownloadError>)
  }

  private let state: TaskState
  private let client: DownloadClient
  private let id: UInt64
  private let current: Mutex<LoadPriority>
  /// Retained, since a released downloader cancels its downloads.
  private let downloader: ImageDownloader

  init(id: UInt64, priority: LoadPriority, state: TaskState, client: DownloadClient, downloader: ImageDownloader) {
    self.id = id
    self.state = state
    self.client = client
    self.downloader = downloader
    current = Mutex(priority)
  }

  /// The download's events: started, response, progress, and the end as the last. Each use has its own sequence, which begins with the
  /// newest 64 so far; a slow consumer misses older ones.
  public var events: AsyncStream<Event> { state.events.events }

  /// The response, with the whole body in memory; waits for it. Cancelling the waiting task cancels the download.
  public var value: DownloadResponse {
    get async throws(DownloadError) {
      // The awaiting caller may hold nothing else that keeps the downloader alive.
      defer { withExtendedLifetime(self) {} }
      return try await state.outcome.value { cancel() }.get()
    }
  }

  /// Cancels the download unless it has ended; other downloads that share the transfer continue.
  public func cancel() { client.cancel([id]) }

  /// The class, which can change while the download waits.
  public var priority: LoadPriority {
    get { current.withLock { $0 } }
    set {
      current.withLock { $0 = newValue }
      client.setPriority(newValue, of: id)
    }
  }
}

/// Why ``DownloadTask/value`` has no image.
public enum DownloadError: Error, Sendable, Hashable {
  case cancelled
  /// The downloader was shut down, before or during the download.
  case shutDown
  /// It failed after all retries.
  case failed(ImageFailure)

  /// The failure, if it wasn't cancelled.
  public var failure: ImageFailure? {
    if case .failed(let failure) = self { failure } else { nil }
  }
}

/// Single downloads for callers that await them.
extension ImageDownloader {
  /// Starts a download within the limits of all clients. After a shutdown it fails as ``DownloadError/shutDown``.
  ///
  /// - Parameters:
  ///   - url: as written; it is normalised first, unless a loader handles it. A URL that isn't http or https fails as
  ///     `invalid-url` at once, without network traffic.
  ///   - priority: its class, which ``DownloadTask/priority`` can change.
  ///   - options: how it is fetched. Downloads of one URL with equal options share a transfer.
  ///   - validators: makes the request conditional; a 304 gives a response with that status and an empty body.
  ///   - progressInterval: the minimum time between two progress reports.
  public func download(
    _ url: String,
    priority: LoadPriority = .normal,
    options: DownloadOptions = DownloadOptions(),
    validators: Validators? = nil,
    progressInterval: Duration = .zero
  ) -> DownloadTask {
    let (client, receiver) = taskClient()
    let (id, state) = receiver.add()
    let task = DownloadTask(id: id, priority: priority, state: state, client: client, downloader: self)
    if let reason = options.invalidReason {
      receiver.receive([.failed(id: id, ImageFailure(invalidOptions: reason), TransferSummary())])
      return task
    }
    do throws(InvalidURL) {
      var download = Download(id: id, requestURL: try normalized(url), priority: priority, options: prepared(options))
      download.validators = validators
      (download.wantsProgress, download.wantsDetails) = (true, true)
      download.progressInterval = progressInterval
      client.submit([download])
    } catch {
      receiver.receive([.failed(id: id, ImageFailure(.invalidURL, message: error.message), TransferSummary())])
    }
    return task
  }

  /// Downloads one image whole. Cancelling the calling task cancels the download. The parameters are those of
  /// ``download(_:priority:options:validators:progressInterval:)``.
  public func data(
    from url: String,
    priority: LoadPriority = .normal,
    options: DownloadOptions = DownloadOptions(),
    validators: Validators? = nil
  ) async throws(DownloadError) -> DownloadResponse {
    try await download(url, priority: priority, options: options, validators: validators).value
  }

  private func normalized(_ url: String) throws(InvalidURL) -> [UInt8] {
    loaders.contains { $0.canLoad(url) } ? Array(url.utf8) : try BaseURL(url).bytes
  }
}

extension ImageFailure {
  /// The failure of a load or download whose own options can't be used.
  package init(invalidOptions reason: String) { self.init(.internal, message: "the request's options are invalid: \(reason)") }
}

/// The state of a ``DownloadTask``: written by the transfer thread, awaited by tasks.
final class TaskState: Sendable {
  let events = Broadcast<DownloadTask.Event>(keeping: 64)
  let outcome = OneShot<Result<DownloadResponse, DownloadError>>()
  private let body = Mutex<[UInt8]>([])

  /// Handles an event; returns true if it was the last.
  ///
  /// - Parameter isShutDown: whether a cancelled download was cancelled by a shutdown.
  func take(_ event: DownloadEvent, isShutDown: Bool) -> Bool {
    switch event {
    case .chunk(_, _, let bytes): body.withLock { $0 += bytes }
    case .restarted: body.withLock { $0 = [] }
    case .started: events.send(.started)
    case .response(_, let head): events.send(.response(head))
    case .progress(_, let received, let expected): events.send(.progress(received: received, expected: expected))
    case .retrying(_, let failure, let delay): events.send(.retrying(after: failure, in: delay))
    case .finished(_, var image):
      if image.wasStreamed { (image.body, image.wasStreamed) = (body.withLock { $0 }, false) }
      return end(.success(image))
    case .notModified(_, let image): return end(.success(image))
    case .failed(_, let failure, _): return end(.failure(.failed(failure)))
    case .cancelled: return end(.failure(isShutDown ? .shutDown : .cancelled))
    }
    return false
  }

  private func end(_ outcome: Result<DownloadResponse, DownloadError>) -> Bool {
    events.send(.ended(outcome))
    events.finish()
    self.outcome.set(outcome)
    return true
  }
}

final class TaskReceiver: DownloadReceiver {
  private let tasks = Mutex<(lastID: UInt64, states: [UInt64: TaskState])>((0, [:]))
  private let inbox: Inbox

  init(_ inbox: Inbox) { self.inbox = inbox }

  var mayStart: Bool { true }

  func add() -> (id: UInt64, state: TaskState) {
    let state = TaskState()
    return tasks.withLock { tasks in
      tasks.lastID += 1
      tasks.states[tasks.lastID] = state
      return (tasks.lastID, state)
    }
  }

  func receive(_ events: [DownloadEvent]) {
    for event in events {
      guard let state = tasks.withLock({ $0.states[event.id] }) else { continue }
      if state.take(event, isShutDown: inbox.isClosed) { tasks.withLock { $0.states[event.id] = nil } }
    }
  }
}
