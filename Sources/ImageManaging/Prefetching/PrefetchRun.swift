package import ImageCaching
import ImageDownloading
package import Base
import Synchronization

/// Loads many images into the caches of one manager, with limits and in order. ``run(_:)`` reads, looks up and waits on the
/// calling thread, so that a cached URL needs no other thread. The manager's downloader limits concurrent transfers; the
/// look-ahead window limits pending requests.
package final class PrefetchRun: Sendable {
  package struct Summary: Sendable {
    package var sourceEnded = false
    /// Whether the deadline cut the run short.
    package var deadlinePassed = false
    package var sourceError: (any Error)?
    /// The error that ended the run because the cache couldn't be read.
    package var cacheError: CacheError?
  }

  package static let largestWindow = 16_384

  enum Message: Sendable {
    case completed([(Entry, LoadCompletion)])
    case stop(gracefully: Bool)
    case setPaused(Bool)
  }

  /// Passes the manager's completions to the run's thread.
  private final class Receiver: LoadReceiver {
    let post: @Sendable (Message) -> Void
    init(_ post: @escaping @Sendable (Message) -> Void) { self.post = post }
    func complete(_ completions: [(Entry, LoadCompletion)]) { post(.completed(completions)) }
  }

  /// How often progress is reported while nothing else happens.
  private static let progressInterval = Duration.milliseconds(100)

  private let manager: ImageManager
  private let context: LoadContext
  private let window: Int
  private let delay: Duration
  private let deadline: Duration?
  private let time: TimeSource
  private let receiver: Receiver
  private let mailbox: Mailbox<Message>?
  /// Whether ``stop(gracefully:)`` was called, although its message may still be on the way.
  private let isStopped = Atomic(false)

  /// Creates a run for ``run(_:)``, with the rules of `context` for requests and images; it reads nothing before `delay` has passed, and
  /// ends at the latest after `deadline`, if there is one.
  package init(
    manager: ImageManager,
    context: LoadContext,
    delay: Duration = .zero,
    deadline: Duration? = nil,
    time: TimeSource = .system
  ) {
    (self.manager, self.context, self.delay, self.deadline, self.time) = (manager, context, delay, deadline, time)
    window = Self.largestWindow
    let mailbox = Mailbox<Message>()
    self.mailbox = mailbox
    receiver = Receiver { mailbox.post($0) }
  }

  /// Creates a run with at most `window` pending requests, whose messages go to `post`, for a thread that has several.
  init(manager: ImageManager, context: LoadContext, window: Int, post: @escaping @Sendable (Message) -> Void) {
    (self.manager, self.context, self.window, delay, deadline, time, mailbox) = (
      manager, context, window, .zero, nil, .system, nil
    )
    receiver = Receiver(post)
  }

  /// Ends a run early, from any thread: nothing more starts, and running transfers get 5 s with `gracefully`, otherwise none.
  /// Once this returns, no transfer that was waiting starts.
  package func stop(gracefully: Bool) {
    isStopped.store(true, ordering: .sequentiallyConsistent)
    receiver.post(.stop(gracefully: gracefully))
    // At once, not when the run's thread handles the message.
    manager.cancelAll(for: receiver, includingRunning: !gracefully)
  }

  /// Cancels the pending entries that `isMeant` selects, from any thread.
  func cancel(where isMeant: (Entry) -> Bool) { manager.cancelAll(for: receiver, includingRunning: true, where: isMeant) }

  /// Stops reading until resumed, from any thread; pending requests continue.
  package func setPaused(_ paused: Bool) { receiver.post(.setPaused(paused)) }

  /// Loads all entries of `delegate`; returns when each entry has its result. If the manager is shut down, the run ends as if it
  /// had been stopped.
  package func run(_ delegate: some PrefetchDelegate) -> Summary {
    guard let mailbox else { preconditionFailure("a run on a shared thread has no mailbox of its own") }
    var running = Running(self, delegate)
    var messages: [Message] = []
    let meter = manager.downloader.pipeline
    defer { meter.supply(.none) }
    meter.supply(.working)
    while true {
      if mailbox.takeAll(into: &messages) { for message in messages { running.take(message) } }
      switch running.step() {
      case .again: break
      case .wait(let until, let forSource):
        meter.supply(forSource ? .waiting : .none)
        let waking = mailbox.wait(until: until, orReadable: forSource ? delegate.sourceDescriptor : nil)
        meter.supply(.working)
        if waking == .descriptorReady { running.sourceIsReady() }
      case .end: return running.summary
      }
    }
  }

  /// A run in progress, on its thread.
  struct Running<Delegate: PrefetchDelegate> {
    enum Step {
      /// There is more to do.
      case again
      /// Nothing is to be done until that time, a message, or data from the source.
      case wait(until: MonotonicInstant, forSource: Bool)
      case end
    }

    let delegate: Delegate
    private(set) var summary = Summary()
    private let run: PrefetchRun
    private var state: PrefetchState
    private var batch = EntryBatch()
    private var nextSequence: Int64 = 0

    init(_ run: PrefetchRun, _ delegate: Delegate) {
      self.run = run
      self.delegate = delegate
      let now = run.time.monotonic()
      let deadline = run.deadline.map { now.advanced(by: $0) }
      state = PrefetchState(window: run.window, start: now.advanced(by: run.delay), deadline: deadline)
    }

    mutating func take(_ message: Message) {
      switch message {
      case .completed(let completions):
        for (entry, completion) in completions { delegate.finished(entry, completion) }
        state.completed(completions.count)
      case .stop(let gracefully): state.stop(gracefully: gracefully, now: run.time.monotonic())
      case .setPaused(let paused): state.setPaused(paused)
      }
    }

    mutating func sourceIsReady() { state.sourceIsReady() }

    mutating func step() -> Step {
      let now = run.time.monotonic()
      delegate.progressed()
      switch state.next(now: now) {
      case .read(let maximum):
        read(maximum, now: now)
        return .again
      case .wait(let until, let forSource):
        let tick = now.advanced(by: PrefetchRun.progressInterval)
        return .wait(until: until.map { min($0, tick) } ?? tick, forSource: forSource)
      case .cancel(let includingRunning):
        run.manager.cancelAll(for: run.receiver, includingRunning: includingRunning)
        return .again
      case .end:
        summary.sourceEnded = state.sourceEnded && summary.sourceError == nil
        summary.deadlinePassed = state.deadlinePassed
        return .end
      }
    }

    private mutating func read(_ maximum: Int, now: MonotonicInstant) {
      let meter = run.manager.downloader.pipeline
      batch.removeAll()
      var source = PrefetchSourceState.ended
      meter.supply(.reading)
      do {
        source = try delegate.read(&batch, maximum: maximum)
      } catch {
        summary.sourceError = error
      }
      meter.supply(.working)
      // Reading may have taken long, and nothing is requested after a stop.
      if state.isStopping || run.isStopped.load(ordering: .sequentiallyConsistent) {
        for index in batch.entries.indices { delegate.finished(batch.entry(index), LoadCompletion(EntryResult(.cancelled))) }
        batch.removeAll()
      }
      for index in batch.entries.indices {
        batch.entries[index].sequence = nextSequence
        nextSequence += 1
      }
      let (pending, isShutDown) = load()
      state.read(pending: pending, source: source)
      if isShutDown || summary.cacheError != nil { state.stop(gracefully: false, now: now) }
    }

    /// Loads the batch and returns how many of its entries are pending, and whether the manager was shut down.
    private mutating func load() -> (pending: Int, isShutDown: Bool) {
      guard !batch.entries.isEmpty else { return (0, false) }
      var pending = batch.entries.count
      do throws(CacheError) {
        let context = delegate.batchContext ?? run.context
        let isTaken = try run.manager.load(batch, context: context, receiver: run.receiver) { index, completion in
          pending -= 1
          delegate.finished(batch.entry(index), completion)
        }
        return (pending, !isTaken)
      } catch {
        summary.cacheError = error
        return (pending, false)
      }
    }
  }
}

/// The source of a run's entries, and the receiver of their results; called on the run's thread only.
package protocol PrefetchDelegate: AnyObject {
  /// Appends at most `maximum` entries, or a few more if those of one row belong together; the run numbers them in their order.
  /// An error ends the reading, but not the run: entries read before are finished first.
  func read(_ batch: inout EntryBatch, maximum: Int) throws -> PrefetchSourceState
  /// The context of the batch just read; nil (the default): the run's.
  var batchContext: LoadContext? { get }
  /// A descriptor that becomes readable when a blocked source has more.
  var sourceDescriptor: Int32? { get }
  /// Receives an ended entry, each exactly once. An entry that was decided at once borrows the text of its batch.
  func finished(_ entry: Entry, _ completion: LoadCompletion)
  /// Called after some time or an event: a good moment to show progress.
  func progressed()
}

extension PrefetchDelegate {
  package var batchContext: LoadContext? { nil }
}

/// The state of a source after it was read.
package enum PrefetchSourceState: Sendable {
  /// There may be more.
  case open
  /// There may be more later: a pipe with a slow writer.
  case blocked
  /// There are no more entries.
  case ended
}

/// Decides a prefetcher's next step: a pure state machine over events and times. It reads while the look-ahead window has room,
/// waits otherwise, and ends when the source has ended and nothing is pending. The download queue decides which pending request
/// starts next.
package struct PrefetchState {
  /// Requests read and looked up in one step, in one read transaction.
  static let batchLimit = 4_096
  /// How long running transfers may continue after the first stop.
  static let grace = Duration.seconds(5)

  package enum Action: Equatable {
    /// Read at most `maximum` requests and load them.
    case read(maximum: Int)
    /// Wait for completions, and for the source if it is blocked; at most until that time.
    case wait(until: MonotonicInstant?, forSource: Bool)
    /// Cancel waiting requests, and running ones if included.
    case cancel(includingRunning: Bool)
    case end
  }

  private enum Stopping: Equatable {
    case no
    /// Nothing more starts; running transfers may continue until then.
    case graceful(until: MonotonicInstant)
    case now
  }

  /// The maximum number of pending requests.
  private let window: Int
  /// Nothing is read before; nil if it may be at once.
  private let start: MonotonicInstant?
  private let deadline: MonotonicInstant?
  private(set) var pending = 0
  private(set) var sourceEnded = false
  private(set) var deadlinePassed = false
  private var sourceIsBlocked = false
  private var isPaused = false
  private var stopping = Stopping.no
  private var cancelled = Stopping.no

  package init(window: Int, start: MonotonicInstant? = nil, deadline: MonotonicInstant?) {
    (self.window, self.start, self.deadline) = (window, start, deadline)
  }

  /// Whether the run ends early: by its deadline or a stop.
  var isStopping: Bool { stopping != .no }

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
      if let start, now < start { return .wait(until: min(start, deadline ?? start), forSource: false) }
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

  /// Records a batch that was read, with `pending` requests that weren't decided at once.
  package mutating func read(pending count: Int, source: PrefetchSourceState) {
    pending += count
    sourceEnded = source == .ended
    sourceIsBlocked = source == .blocked
  }

  /// Records that a blocked source may have more.
  mutating func sourceIsReady() { sourceIsBlocked = false }

  package mutating func completed(_ count: Int) {
    pending -= count
    precondition(pending >= 0, "a request completes once")
  }

  /// Stops; with `graceful`, running transfers get a grace period, but only once.
  mutating func stop(gracefully graceful: Bool, now: MonotonicInstant) {
    if graceful, stopping == .no {
      stopping = .graceful(until: now.advanced(by: Self.grace))
    } else if stopping != .now {
      stopping = .now
    }
  }

  mutating func setPaused(_ paused: Bool) { isPaused = paused }
}
