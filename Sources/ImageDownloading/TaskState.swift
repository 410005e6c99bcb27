import Synchronization

/// What becomes of a ``DownloadTask``: written by the transfer thread, awaited by tasks.
final class TaskState: Sendable {
  typealias Outcome = Result<DownloadedImage, DownloadError>

  private struct State {
    var outcome: Outcome?
    var waiters: [CheckedContinuation<Outcome, Never>] = []
    /// The chunks of a body that comes in such.
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

  /// Takes an event; true where it was the last.
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

  /// A new task's number and state.
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
