public import Base
import Synchronization

/// Loads many images, so that they are cached when they are needed.
///
/// ```swift
/// let prefetcher = try ImagePrefetcher(manager: manager)
/// let batch = prefetcher.prefetch(urls: urls)
/// let result = await batch.value
/// ```
/// Each batch reads its requests one by one and keeps only a few of them in flight, in the lowest classes, so that loads of the same
/// manager come first. All batches of a prefetcher share one thread.
public final class ImagePrefetcher: Sendable {
  /// The layers to prefetch to.
  public enum Destination: Sendable, Hashable {
    /// The disk: images are decoded only as far as verification requires.
    case disk
    /// The memory layer too: every image is decoded.
    case memory
  }

  /// The settings of all batches.
  public struct Configuration: Sendable {
    /// The requests of one batch in flight; 32 by default, at least 1. The manager's downloader limits concurrent transfers, to 6 by default.
    public var concurrency: Int
    /// The layers to prefetch to; the disk by default.
    public var destination: Destination
    /// The highest class of requests; low by default.
    public var priority: LoadPriority

    /// Creates a configuration from its parts, each with its default.
    public init(concurrency: Int = 32, destination: Destination = .disk, priority: LoadPriority = .low) {
      self.concurrency = concurrency
      self.destination = destination
      self.priority = priority
    }
  }

  /// The settings of all batches.
  public let configuration: Configuration
  private let manager: ImageManager
  private let thread: PrefetchThread
  private let batches = Mutex<[Int: PrefetchTask]>([:])

  /// Creates a prefetcher for `manager`, and starts its thread; throws if the system provides none, or the concurrency is below 1.
  public init(manager: ImageManager, configuration: Configuration = Configuration()) throws(ImageManagerError) {
    if configuration.concurrency < 1 {
      throw .invalidConfiguration("concurrency must be at least 1, not \(configuration.concurrency)")
    }
    self.manager = manager
    self.configuration = configuration
    do throws(ThreadError) { thread = try PrefetchThread() } catch { throw .noThread("\(error)") }
  }

  /// Starts to load the images of `requests`, in their order within a class; cached ones aren't loaded again. They are read on
  /// demand on the prefetcher's thread, which also calls `whenEnded` with each ended request and its result; it must be quick.
  /// The prefetcher decides when images are decoded, and limits the class of each request.
  public func prefetch(
    _ requests: sending some Sequence<ImageRequest>,
    whenEnded: (@Sendable (ImageRequest, EntryResult) -> Void)? = nil
  ) -> PrefetchTask {
    let task = PrefetchTask(manager: manager, configuration: configuration, thread: thread)
    batches.withLock { $0[task.number] = task }
    task.start(requests, whenEnded: whenEnded) { [weak self, number = task.number] in
      _ = self?.batches.withLock { $0.removeValue(forKey: number) }
    }
    return task
  }

  /// Starts to load the images at `urls`; see ``prefetch(_:whenEnded:)``.
  public func prefetch(
    urls: sending some Sequence<String>,
    whenEnded: (@Sendable (ImageRequest, EntryResult) -> Void)? = nil
  ) -> PrefetchTask {
    prefetch(urls.lazy.map { ImageRequest(url: $0) }, whenEnded: whenEnded)
  }

  private var running: [PrefetchTask] { batches.withLock { Array($0.values) } }

  /// Cancels all running batches.
  public func cancelAll() { running.forEach { $0.cancel() } }

  /// Cancels the requests for these URLs in all running batches; see ``PrefetchTask/cancel(urls:)``.
  public func cancel(urls: some Sequence<String>) {
    let urls = Set(urls)
    running.forEach { $0.cancel(urls: urls) }
  }
}

/// The thread of a prefetcher, which all its batches share.
final class PrefetchThread: Sendable {
  typealias Running = PrefetchRun.Running<RequestSource>

  private enum Message: Sendable {
    case start(HandedOver, number: Int, ended: @Sendable (PrefetchProgress) -> Void)
    case message(PrefetchRun.Message, number: Int)
    /// End after the batches.
    case close
  }

  /// A batch that crosses to the thread.
  private struct HandedOver: @unchecked Sendable {
    // Sendable because the caller has given its requests up (`sending`), so that only the thread uses the batch from here on.
    let running: Running
  }

  private let mailbox = Mailbox<Message>()
  private let lastNumber = Atomic(0)

  /// Starts the thread; throws if the system provides none.
  init() throws(ThreadError) {
    _ = try WorkerThread(name: "prefetch") { [mailbox] in Self.run(mailbox) }
  }

  deinit { mailbox.post(.close) }

  func nextNumber() -> Int { lastNumber.add(1, ordering: .relaxed).newValue }

  /// Runs a batch, and calls `ended` with its counts at its end, on the thread.
  func start(_ running: sending Running, number: Int, ended: @escaping @Sendable (PrefetchProgress) -> Void) {
    mailbox.post(.start(HandedOver(running: running), number: number, ended: ended))
  }

  /// Passes a message to a batch; no effect once it has ended.
  func post(_ message: PrefetchRun.Message, to number: Int) { mailbox.post(.message(message, number: number)) }

  private static func run(_ mailbox: Mailbox<Message>) {
    var batches: [Int: (running: Running, ended: @Sendable (PrefetchProgress) -> Void)] = [:]
    var messages: [Message] = []
    var isClosed = false
    while true {
      _ = mailbox.takeAll(into: &messages)
      for message in messages {
        switch message {
        case .start(let batch, let number, let ended): batches[number] = (batch.running, ended)
        case .message(let message, let number): batches[number]?.running.take(message)
        case .close: isClosed = true
        }
      }
      if isClosed, batches.isEmpty { return }
      var wake: MonotonicInstant?
      var hasMore = false
      for number in Array(batches.keys) {
        switch batches[number]!.running.step() {
        case .again: hasMore = true
        case .wait(let until, _): wake = min(wake ?? until, until)
        case .end:
          let (running, ended) = batches.removeValue(forKey: number)!
          ended(running.delegate.counts)
          // That may have released the prefetcher, whose message comes next.
          hasMore = true
        }
      }
      if !hasMore { _ = mailbox.wait(until: wake) }
    }
  }
}
