public import ImagePrimitives
import ImageURLs
import Synchronization

/// A single download, for callers that want one image rather than a batch: see
/// ``ImageDownloader/download(_:priority:options:validators:progressInterval:)``.
///
/// It keeps its downloader running. Releasing it doesn't cancel it.
public final class DownloadTask: Sendable {
  /// The download's events, for one reader: started, response, progress, and the end as the last. Chunks of a large body are left
  /// out, since ``value`` has the whole body.
  public let progress: AsyncStream<DownloadEvent>

  private let state: TaskState
  private let client: DownloadClient
  private let id: UInt64
  private let current: Mutex<Priority>
  /// Retained, since a released downloader cancels its downloads.
  private let downloader: ImageDownloader

  init(id: UInt64, priority: Priority, state: TaskState, client: DownloadClient, downloader: ImageDownloader) {
    self.id = id
    self.state = state
    self.client = client
    self.downloader = downloader
    current = Mutex(priority)
    progress = state.stream
  }

  /// The response, with the whole body in memory; waits for it. Cancelling the waiting task cancels the download.
  public var value: Response {
    get async throws(DownloadError) {
      // The awaiting caller may hold nothing else that keeps the downloader alive.
      defer { withExtendedLifetime(self) {} }
      let result = await withTaskCancellationHandler {
        await state.result
      } onCancel: {
        cancel()
      }
      return try result.get()
    }
  }

  /// Cancels the download unless it has ended; other downloads that share the transfer continue.
  public func cancel() { client.cancel([id]) }

  /// The class, which can change while the download waits.
  public var priority: Priority {
    get { current.withLock { $0 } }
    set {
      current.withLock { $0 = newValue }
      client.setPriority(newValue, of: id)
    }
  }
}

/// Why ``DownloadTask/value`` has no image.
public enum DownloadError: Error, Sendable, Hashable {
  /// It was cancelled, or the downloader was shut down.
  case cancelled
  /// It failed after all retries.
  case failed(Failure)

  /// The failure, if it wasn't cancelled.
  public var failure: Failure? {
    if case .failed(let failure) = self { failure } else { nil }
  }
}

/// Single downloads for callers that await them.
extension ImageDownloader {
  /// Starts a download in addition to those of all clients, within the same limits. Traps after ``shutDown()``.
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
    priority: Priority = .normal,
    options: DownloadOptions = DownloadOptions(),
    validators: Validators? = nil,
    progressInterval: Duration = .zero
  ) -> DownloadTask {
    let (client, receiver) = taskClient()
    let (id, state) = receiver.add()
    let task = DownloadTask(id: id, priority: priority, state: state, client: client, downloader: self)
    do throws(InvalidURL) {
      let download = Download(
        id: id,
        requestURL: try normalized(url),
        priority: priority,
        options: prepared(options),
        validators: validators,
        wantsProgress: true,
        progressInterval: progressInterval,
        wantsDetails: true
      )
      client.submit([download])
    } catch {
      receiver.receive([.failed(id: id, Failure(.invalidURL, message: error.message), TransferSummary())])
    }
    return task
  }

  /// Downloads one image whole; cancelling the calling task cancels the download. The parameters are those of
  /// ``download(_:priority:options:validators:progressInterval:)``.
  public func data(
    from url: String,
    priority: Priority = .normal,
    options: DownloadOptions = DownloadOptions(),
    validators: Validators? = nil
  ) async throws(DownloadError) -> Response {
    try await download(url, priority: priority, options: options, validators: validators).value
  }

  private func normalized(_ url: String) throws(InvalidURL) -> [UInt8] {
    let written = Array(url.utf8)
    if loaders.contains(where: { $0.canLoad(url) }) { return written }
    var bytes: [UInt8] = []
    _ = try written.withRawBytes { written throws(InvalidURL) in
      try URLNormalizer().normalize(written, relativeTo: nil, into: &bytes)
    }
    return bytes
  }
}

/// The state of a ``DownloadTask``: written by the transfer thread, awaited by tasks.
final class TaskState: Sendable {
  typealias Outcome = Result<Response, DownloadError>

  private struct State {
    var outcome: Outcome?
    var waiters: [CheckedContinuation<Outcome, Never>] = []
    /// The chunks of a streamed body.
    var body: [UInt8] = []
  }

  let stream: AsyncStream<DownloadEvent>
  private let events: AsyncStream<DownloadEvent>.Continuation
  private let state = Mutex(State())

  init() { (stream, events) = AsyncStream.makeStream() }

  var result: Outcome {
    get async {
      await withCheckedContinuation { continuation in
        let outcome = state.withLock { state in
          if state.outcome == nil { state.waiters.append(continuation) }
          return state.outcome
        }
        if let outcome { continuation.resume(returning: outcome) }
      }
    }
  }

  /// Handles an event; returns true if it was the last.
  func take(_ event: DownloadEvent) -> Bool {
    switch event {
    case .chunk(_, _, let bytes):
      state.withLock { $0.body += bytes }
      return false
    case .restarted:
      state.withLock { $0.body = [] }
      return false
    case .started, .response, .progress:
      events.yield(event)
      return false
    case .finished(let id, var image):
      if image.wasStreamed {
        image.body = state.withLock { state in
          defer { state.body = [] }
          return state.body
        }
        image.wasStreamed = false
      }
      end(.success(image), .finished(id: id, image))
    case .notModified(_, let image): end(.success(image), event)
    case .failed(_, let failure, _): end(.failure(.failed(failure)), event)
    case .cancelled: end(.failure(.cancelled), event)
    }
    return true
  }

  private func end(_ outcome: Outcome, _ event: DownloadEvent) {
    events.yield(event)
    events.finish()
    let waiters = state.withLock { state in
      state.outcome = outcome
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume(returning: outcome) }
  }
}

/// The receiver of all tasks of one downloader.
final class TaskReceiver: DownloadReceiver {
  private struct Tasks {
    var lastID: UInt64 = 0
    var states: [UInt64: TaskState] = [:]
  }

  private let tasks = Mutex(Tasks())

  var mayStart: Bool { true }

  /// Creates a task's number and state.
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
      if state.take(event) { tasks.withLock { $0.states[event.id] = nil } }
    }
  }
}
