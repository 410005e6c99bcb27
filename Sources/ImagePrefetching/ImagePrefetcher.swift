public import ImageCaching
public import ImageManaging
public import ImagePrimitives
import Threads

/// The requests of one batch, with the bytes of their URLs.
public struct PrefetchBatch {
  /// The URLs, one after another.
  public var bytes: [UInt8] = []
  /// The requests, in the order in which they are to start; their `id` is set by the prefetcher.
  public var requests: [LoadRequest] = []

  /// An empty batch.
  public init() {}

  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    requests.removeAll(keepingCapacity: true)
  }
}

/// Where a prefetcher's requests come from, and where their results go; called on the prefetcher's thread alone.
public protocol PrefetchDelegate: AnyObject {
  /// Appends at most `maximum` requests.
  ///
  /// What it throws ends the reading, not the run: what was read before is finished first.
  func read(_ batch: inout PrefetchBatch, maximum: Int) throws -> PrefetchSourceState
  /// A descriptor that can be read when a blocked source has something again.
  var sourceDescriptor: Int32? { get }
  /// The request at `index` of the batch just read has this result already.
  func decided(_ index: Int, _ result: EntryResult)
  /// The request at `index` of the batch just read is pending, and known as `slot` until it completes.
  func began(_ index: Int, slot: Int)
  /// A pending request has completed.
  func completed(slot: Int, _ completion: LoadCompletion)
  /// Some time has passed, or something has happened: a good moment to show progress.
  func progressed()
}

/// Loads many images for their being kept, over one manager, bounded and in order.
///
/// ``run(_:)`` reads, looks up and waits on the calling thread, so that a cached URL costs no hop to another thread. How many
/// transfers run at once is set on the manager's downloader; what is pending here is bounded by the look-ahead window.
public final class ImagePrefetcher: Sendable {
  /// How a run ended.
  public struct Summary: Sendable {
    /// Whether the source was read to its end.
    public var sourceEnded = false
    /// Whether the deadline cut the run short.
    public var deadlinePassed = false
    /// What the source threw, where it did.
    public var sourceError: (any Error)?
    /// Why the cache could not be read, where that cut the run short.
    public var cacheError: CacheError?
  }

  private enum Message: Sendable {
    case completed([LoadCompletion])
    case stop(gracefully: Bool)
    case setPaused(Bool)
  }

  /// Brings the manager's completions to the prefetcher's thread.
  private final class Receiver: LoadReceiver {
    let mailbox = Mailbox<Message>()
    func complete(_ completions: [LoadCompletion]) { mailbox.post(.completed(completions)) }
  }

  private let manager: ImageManager
  private let context: LoadContext
  private let deadline: Duration?
  private let progressInterval: Duration
  private let time: TimeSource
  private let receiver = Receiver()

  /// A prefetcher over a manager.
  ///
  /// - Parameters:
  ///   - context: the cache, and the rules for requests and images.
  ///   - deadline: how long the run may take from ``run(_:)``; nil is no limit.
  ///   - progressInterval: how often ``PrefetchDelegate/progressed(pending:)`` is called at least.
  public init(
    manager: ImageManager,
    context: LoadContext,
    deadline: Duration? = nil,
    progressInterval: Duration = .milliseconds(100),
    time: TimeSource = .system
  ) {
    self.manager = manager
    self.context = context
    self.deadline = deadline
    self.progressInterval = progressInterval
    self.time = time
  }

  /// Ends a run early, from any thread: nothing more starts, and what is in flight gets 5 s with `gracefully`, nothing without.
  public func stop(gracefully: Bool) { receiver.mailbox.post(.stop(gracefully: gracefully)) }

  /// Stops reading until resumed, from any thread; what is pending goes on.
  public func setPaused(_ paused: Bool) { receiver.mailbox.post(.setPaused(paused)) }

  /// Loads everything that `delegate` gives; returns when each request has its result.
  public func run(_ delegate: some PrefetchDelegate) -> Summary {
    var state = PrefetchState(deadline: deadline.map { time.monotonic().advanced(by: $0) })
    var slots = SlotAllocator()
    var batch = PrefetchBatch()
    var messages: [Message] = []
    var summary = Summary()
    while true {
      if receiver.mailbox.takeAll(into: &messages) {
        for message in messages { take(message, &state, &slots, delegate) }
      }
      let now = time.monotonic()
      delegate.progressed()
      switch state.next(now: now) {
      case .read(let maximum):
        batch.removeAll()
        var source = PrefetchSourceState.ended
        do {
          source = try delegate.read(&batch, maximum: maximum)
        } catch {
          summary.sourceError = error
        }
        let (pending, error) = load(&batch, delegate, &slots)
        state.read(pending: pending, source: source)
        if let error {
          summary.cacheError = error
          state.stop(gracefully: false, now: now)
        }
      case .wait(let until, let forSource):
        let tick = now.advanced(by: progressInterval)
        let waking = receiver.mailbox.wait(
          until: until.map { min($0, tick) } ?? tick,
          orReadable: forSource ? delegate.sourceDescriptor : nil
        )
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

  private func take(
    _ message: Message,
    _ state: inout PrefetchState,
    _ slots: inout SlotAllocator,
    _ delegate: some PrefetchDelegate
  ) {
    switch message {
    case .completed(let completions):
      for completion in completions {
        delegate.completed(slot: Int(completion.id), completion)
        slots.release(Int(completion.id))
      }
      state.completed(completions.count)
    case .stop(let gracefully): state.stop(gracefully: gracefully, now: time.monotonic())
    case .setPaused(let paused): state.setPaused(paused)
    }
  }

  /// Loads a batch and returns how many of its requests are pending, and why the cache could not be read.
  private func load(
    _ batch: inout PrefetchBatch,
    _ delegate: some PrefetchDelegate,
    _ slots: inout SlotAllocator
  ) -> (pending: Int, error: CacheError?) {
    let count = batch.requests.count
    guard count > 0 else { return (0, nil) }
    for index in 0..<count { batch.requests[index].id = UInt64(slots.take()) }
    var isDecided = [Bool](repeating: false, count: count)
    let requests = batch.requests
    var failure: CacheError?
    batch.bytes.withUnsafeBytes { bytes in
      do throws(CacheError) {
        try manager.load(requests, in: bytes, context: context, receiver: receiver) { index, result in
          isDecided[index] = true
          delegate.decided(index, result)
        }
      } catch {
        failure = error
      }
    }
    var pending = 0
    for index in 0..<count {
      let slot = Int(requests[index].id)
      if isDecided[index] {
        slots.release(slot)
      } else {
        delegate.began(index, slot: slot)
        pending += 1
      }
    }
    return (pending, failure)
  }
}

/// Gives out the lowest numbers that are free, so that whoever keeps something a number needs a short array.
struct SlotAllocator {
  private var free: [Int] = []
  private var count = 0

  mutating func take() -> Int {
    if let slot = free.popLast() { return slot }
    count += 1
    return count - 1
  }

  mutating func release(_ slot: Int) { free.append(slot) }
}
