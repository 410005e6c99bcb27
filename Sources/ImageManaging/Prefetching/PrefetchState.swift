package import ImagePrimitives

/// Decides what a prefetcher does next: a pure state machine, told what happened and when.
///
/// It reads while the look-ahead window has room, waits while it has none, and ends when the source has ended and nothing is
/// pending. Which of the pending requests starts next is the download queue's business.
package struct PrefetchState {
  /// Requests read and looked up in one step, in one read transaction.
  static let batchLimit = 4_096
  /// How long transfers in flight may go on after the first request to stop.
  static let grace = Duration.seconds(5)

  package enum Action: Equatable {
    /// Read at most so many requests and load them.
    case read(maximum: Int)
    /// Wait for completions, and for the source where it is blocked; not beyond the moment.
    case wait(until: MonotonicInstant?, forSource: Bool)
    /// Cancel what waits, and what runs too where included.
    case cancel(includingRunning: Bool)
    case end
  }

  private enum Stopping: Equatable {
    case no
    /// Nothing more starts; what runs may go on until the moment.
    case graceful(until: MonotonicInstant)
    case now
  }

  /// Requests that may be pending at once.
  private let window: Int
  private let deadline: MonotonicInstant?
  private(set) var pending = 0
  private(set) var sourceEnded = false
  private(set) var deadlinePassed = false
  private var sourceIsBlocked = false
  private var isPaused = false
  private var stopping = Stopping.no
  private var cancelled = Stopping.no

  package init(window: Int, deadline: MonotonicInstant?) {
    self.window = window
    self.deadline = deadline
  }

  /// Whether the run was cut short: by its deadline, or by a request to stop.
  var isStopping: Bool { stopping != .no }

  /// What to do next, at this moment.
  package mutating func next(now: MonotonicInstant) -> Action {
    if let deadline, now >= deadline, stopping == .no {
      deadlinePassed = !(sourceEnded && pending == 0)
      stopping = .now
    }
    if case .graceful(let end) = stopping, now >= end { stopping = .now }
    if stopping != cancelled {
      cancelled = stopping
      return .cancel(includingRunning: stopping == .now)
    }
    switch stopping {
    case .no:
      if sourceEnded && pending == 0 { return .end }
      let room = min(Self.batchLimit, window - pending)
      let mayRead = !sourceEnded && !isPaused && room > 0
      if mayRead && !sourceIsBlocked { return .read(maximum: room) }
      return .wait(until: deadline, forSource: mayRead)
    case .graceful(let end):
      return pending == 0 ? .end : .wait(until: end, forSource: false)
    case .now:
      return pending == 0 ? .end : .wait(until: nil, forSource: false)
    }
  }

  /// A batch was read, of which `pending` requests were not decided at once.
  package mutating func read(pending count: Int, source: PrefetchSourceState) {
    pending += count
    sourceEnded = source == .ended
    sourceIsBlocked = source == .blocked
  }

  /// The source, which had nothing to give, may have something now.
  mutating func sourceIsReady() { sourceIsBlocked = false }

  /// So many pending requests have completed.
  package mutating func completed(_ count: Int) {
    pending -= count
    precondition(pending >= 0, "a request completes once")
  }

  /// Asks for the end; what runs gets its grace only with `graceful`, and only once.
  mutating func stop(gracefully graceful: Bool, now: MonotonicInstant) {
    if graceful, stopping == .no {
      stopping = .graceful(until: now.advanced(by: Self.grace))
    } else if stopping != .now {
      stopping = .now
    }
  }

  /// Stops reading, or goes on.
  mutating func setPaused(_ paused: Bool) { isPaused = paused }
}
