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
    /// The requests of one batch in flight; 32 by default. The manager's downloader limits concurrent transfers, to 6 by default. Below 1
    /// traps.
    public var maxConcurrent: Int
    /// The layers to prefetch to; the disk by default.
    public var destination: Destination
    /// The highest class of requests; low by default.
    public var priority: LoadPriority

    /// Creates a configuration from its parts, each with its default.
    public init(maxConcurrent: Int = 32, destination: Destination = .disk, priority: LoadPriority = .low) {
      self.maxConcurrent = maxConcurrent
      self.destination = destination
      self.priority = priority
    }
  }

  /// The settings of all batches.
  public let configuration: Configuration
  private let manager: ImageManager
  private let thread: PrefetchThread
  private let batches = Mutex<[Int: PrefetchTask]>([:])

  /// Creates a prefetcher for `manager`, and starts its thread; throws if the system provides none. A `maxConcurrent` below 1 traps.
  public init(manager: ImageManager, configuration: Configuration = Configuration()) throws(ImageManagerError) {
    trap(
      unless: configuration.maxConcurrent > 0,
      "a prefetcher needs a maxConcurrent of at least 1, not \(configuration.maxConcurrent)"
    )
    self.manager = manager
    self.configuration = configuration
    do throws(ThreadError) { thread = try PrefetchThread() } catch { throw .noThread("\(error)") }
  }

  /// Starts to load the images of `requests`, in their order within a class.
  ///
  /// - Parameters:
  ///   - requests: read on demand on the prefetcher's thread. The prefetcher decides when images are decoded, and limits the class of each
  ///     request. Cached images aren't loaded again.
  ///   - whenEnded: called with each ended request and its result, on the prefetcher's thread; must be quick.
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
