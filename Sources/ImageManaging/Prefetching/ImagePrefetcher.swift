public import ImagePrimitives
import Synchronization

/// Loads many images, so that they are cached when they are needed.
///
/// ```swift
/// let prefetcher = ImagePrefetcher(manager: manager)
/// let batch = prefetcher.prefetch(urls: urls)
/// let result = await batch.value
/// ```
/// Each batch reads its requests one by one and keeps only a few of them in flight, in the lowest classes, so that loads of the same
/// manager come first.
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
    public var priority: Priority

    /// Creates a configuration from its parts, each with its default.
    public init(maxConcurrent: Int = 32, destination: Destination = .disk, priority: Priority = .low) {
      self.maxConcurrent = maxConcurrent
      self.destination = destination
      self.priority = priority
    }
  }

  /// The settings of all batches.
  public let configuration: Configuration
  private let manager: ImageManager
  private let batches = Mutex<[ObjectIdentifier: PrefetchTask]>([:])

  /// Creates a prefetcher for `manager`; a `maxConcurrent` below 1 traps.
  public init(manager: ImageManager, configuration: Configuration = Configuration()) {
    trap(
      unless: configuration.maxConcurrent > 0,
      "a prefetcher needs a maxConcurrent of at least 1, not \(configuration.maxConcurrent)"
    )
    self.manager = manager
    self.configuration = configuration
  }

  /// Starts to load the images of `requests`, in their order within a class.
  ///
  /// - Parameters:
  ///   - requests: read on demand on the batch's own thread. The prefetcher decides when images are decoded, and limits the class of each
  ///     request. Cached images aren't loaded again.
  ///   - whenEnded: called with each ended request and its result, on the batch's thread; must be quick.
  public func prefetch(
    _ requests: sending some Sequence<ImageRequest>,
    whenEnded: (@Sendable (ImageRequest, EntryResult) -> Void)? = nil
  ) -> PrefetchTask {
    let task = PrefetchTask(manager: manager, configuration: configuration)
    batches.withLock { $0[ObjectIdentifier(task)] = task }
    task.start(requests, whenEnded: whenEnded) { [weak self, weak task] in
      guard let self, let task else { return }
      batches.withLock { $0[ObjectIdentifier(task)] = nil }
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

  /// Cancels all running batches.
  public func cancelAll() { batches.withLock { Array($0.values) }.forEach { $0.cancel() } }
}
