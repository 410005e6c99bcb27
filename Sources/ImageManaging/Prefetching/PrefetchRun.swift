package import ImageCaching
import ImageDownloading
package import ImagePrimitives
package import ImageURLs
import Threads

/// Loads many images for their being kept, over one manager, bounded and in order.
///
/// ``run(_:)`` reads, looks up and waits on the calling thread, so that a cached URL costs no hop to another thread. How many
/// transfers run at once is set on the manager's downloader; what is pending here is bounded by the look-ahead window.
package final class PrefetchRun: Sendable {
  /// How a run ended.
  package struct Summary: Sendable {
    /// Whether the source was read to its end.
    package var sourceEnded = false
    /// Whether the deadline cut the run short.
    package var deadlinePassed = false
    /// What the source threw, where it did.
    package var sourceError: (any Error)?
    /// Why the cache could not be read, where that cut the run short.
    package var cacheError: CacheError?
  }

  /// The requests that may be pending at once unless told otherwise.
  package static let largestWindow = 16_384

  private enum Message: Sendable {
    case completed([(Entry, LoadCompletion)])
    case stop(gracefully: Bool)
    case setPaused(Bool)
  }

  /// Brings the manager's completions to the run's thread.
  private final class Receiver: LoadReceiver {
    let mailbox = Mailbox<Message>()
    func complete(_ completions: [(Entry, LoadCompletion)]) { mailbox.post(.completed(completions)) }
  }

  private let manager: ImageManager
  private let context: LoadContext
  private let window: Int
  private let deadline: Duration?
  private let progressInterval: Duration
  private let time: TimeSource
  private let receiver = Receiver()

  /// A run over a manager.
  ///
  /// - Parameters:
  ///   - manager: who loads.
  ///   - context: the cache, and the rules for requests and images.
  ///   - window: requests that may be pending at once: within so many, priority, order and fairness hold. Below 1 traps.
  ///   - deadline: how long the run may take from ``run(_:)``; nil is no limit.
  ///   - progressInterval: how often ``PrefetchDelegate/progressed()`` is called at least.
  ///   - time: the clock.
  package init(
    manager: ImageManager,
    context: LoadContext,
    window: Int = PrefetchRun.largestWindow,
    deadline: Duration? = nil,
    progressInterval: Duration = .milliseconds(100),
    time: TimeSource = .system
  ) {
    self.manager = manager
    trap(unless: window > 0, "a run with room for \(window) requests would never begin; give 1 or more")
    self.context = context
    self.window = window
    self.deadline = deadline
    self.progressInterval = progressInterval
    self.time = time
  }

  /// Ends a run early, from any thread: nothing more starts, and what is in flight gets 5 s with `gracefully`, nothing without.
  ///
  /// From when this returns no transfer begins that was waiting then.
  package func stop(gracefully: Bool) {
    receiver.mailbox.post(.stop(gracefully: gracefully))
    // Not only when the run's thread gets to it.
    manager.cancelAll(for: receiver, includingRunning: !gracefully)
  }

  /// Stops reading until resumed, from any thread; what is pending goes on.
  package func setPaused(_ paused: Bool) { receiver.mailbox.post(.setPaused(paused)) }

  /// Loads everything that `delegate` gives; returns when each entry has its result.
  ///
  /// A manager that is shut down ends the run as if it had been stopped.
  package func run(_ delegate: some PrefetchDelegate) -> Summary {
    var state = PrefetchState(window: window, deadline: deadline.map { time.monotonic().advanced(by: $0) })
    var batch = EntryBatch()
    var nextSequence: Int64 = 0
    var messages: [Message] = []
    var summary = Summary()
    let meter = manager.downloader.pipeline
    defer { meter.supply(.none) }
    meter.supply(.working)
    while true {
      takeMessages(&messages, &state, delegate)
      let now = time.monotonic()
      delegate.progressed()
      switch state.next(now: now) {
      case .read(let maximum):
        batch.removeAll()
        var source = PrefetchSourceState.ended
        meter.supply(.reading)
        do {
          source = try delegate.read(&batch, maximum: maximum)
        } catch {
          summary.sourceError = error
        }
        meter.supply(.working)
        // Reading may have taken long, and nothing is asked for after a request to stop.
        takeMessages(&messages, &state, delegate)
        if state.isStopping {
          for index in batch.entries.indices { delegate.finished(batch.entry(index), LoadCompletion(EntryResult(.cancelled))) }
          batch.removeAll()
        }
        for index in batch.entries.indices {
          batch.entries[index].sequence = nextSequence
          nextSequence += 1
        }
        let (pending, isShutDown, error) = load(batch, delegate)
        state.read(pending: pending, source: source)
        summary.cacheError = error
        if isShutDown || error != nil { state.stop(gracefully: false, now: now) }
      case .wait(let until, let forSource):
        let tick = now.advanced(by: progressInterval)
        meter.supply(forSource ? .waiting : .none)
        let waking = receiver.mailbox.wait(
          until: until.map { min($0, tick) } ?? tick,
          orReadable: forSource ? delegate.sourceDescriptor : nil
        )
        meter.supply(.working)
        if waking == .descriptorReady { state.sourceIsReady() }
      case .cancel(let includingRunning):
        manager.cancelAll(for: receiver, includingRunning: includingRunning)
      case .end:
        summary.sourceEnded = state.sourceEnded && summary.sourceError == nil
        summary.deadlinePassed = state.deadlinePassed
        return summary
      }
    }
  }

  private func takeMessages(
    _ messages: inout [Message],
    _ state: inout PrefetchState,
    _ delegate: some PrefetchDelegate
  ) {
    guard receiver.mailbox.takeAll(into: &messages) else { return }
    for message in messages { take(message, &state, delegate) }
  }

  private func take(_ message: Message, _ state: inout PrefetchState, _ delegate: some PrefetchDelegate) {
    switch message {
    case .completed(let completions):
      for (entry, completion) in completions { delegate.finished(entry, completion) }
      state.completed(completions.count)
    case .stop(let gracefully): state.stop(gracefully: gracefully, now: time.monotonic())
    case .setPaused(let paused): state.setPaused(paused)
    }
  }

  /// Loads a batch and returns how many of its entries are pending, whether the manager was shut down, and why the cache could not be
  /// read.
  private func load(
    _ batch: EntryBatch,
    _ delegate: some PrefetchDelegate
  ) -> (pending: Int, isShutDown: Bool, error: CacheError?) {
    guard !batch.entries.isEmpty else { return (0, false, nil) }
    var pending = batch.entries.count
    do throws(CacheError) {
      let context = delegate.batchContext ?? context
      let isTaken = try manager.loadUnlessShutDown(batch, context: context, receiver: receiver) { index, completion in
        pending -= 1
        delegate.finished(batch.entry(index), completion)
      }
      return (pending, !isTaken, nil)
    } catch {
      return (pending, false, error)
    }
  }
}

/// Where a run's entries come from, and where they go with their results; called on the run's thread alone.
package protocol PrefetchDelegate: AnyObject {
  /// Appends at most `maximum` entries, or few more if those of one row belong together; the run numbers them in their order.
  ///
  /// If it throws, that ends the reading, not the run: what was read before is finished first.
  func read(_ batch: inout EntryBatch, maximum: Int) throws -> PrefetchSourceState
  /// The context of the batch just read; nil, the default: the run's.
  var batchContext: LoadContext? { get }
  /// A descriptor that can be read when a blocked source has something again.
  var sourceDescriptor: Int32? { get }
  /// An entry that was read has ended; each does once. One that was decided at once borrows the text of its batch.
  func finished(_ entry: Entry, _ completion: LoadCompletion)
  /// Some time has passed, or something has happened: a good moment to show progress.
  func progressed()
}

extension PrefetchDelegate {
  package var batchContext: LoadContext? { nil }
}

/// What a source of entries can say after it was read.
package enum PrefetchSourceState: Sendable {
  /// There may be more.
  case open
  /// There may be more, but not now: a pipe whose writer is slow.
  case blocked
  /// That was all.
  case ended
}

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
