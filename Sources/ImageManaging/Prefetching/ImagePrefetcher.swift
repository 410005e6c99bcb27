public import ImagePrimitives
import Synchronization

/// Loads many images so that they are cached when they are asked for.
///
/// ```swift
/// let prefetcher = ImagePrefetcher(manager: manager)
/// let batch = prefetcher.prefetch(urls: urls)
/// let result = await batch.value
/// ```
/// Each batch reads its requests one by one and keeps only few of them in flight, in the lowest classes, so that loads of the same manager
/// come first.
public final class ImagePrefetcher: Sendable {
  /// Where images are prefetched to.
  public enum Destination: Sendable, Hashable {
    /// The disk: nothing is decoded beyond what verification asks for.
    case disk
    /// The memory layer too: every image is decoded.
    case memory
  }

  /// What holds for all batches.
  public struct Configuration: Sendable {
    /// Requests of one batch in flight at once; 32 by default, of which the manager's downloader transfers as many as it may, 6 unless it is told
    /// otherwise. Below 1 traps.
    public var maxConcurrent: Int
    /// Where images are prefetched to; the disk by default.
    public var destination: Destination
    /// The highest class that a request may have; low by default.
    public var priority: Priority

    /// A configuration of those parts, each with its default.
    public init(maxConcurrent: Int = 32, destination: Destination = .disk, priority: Priority = .low) {
      self.maxConcurrent = maxConcurrent
      self.destination = destination
      self.priority = priority
    }
  }

  /// What holds for all batches.
  public let configuration: Configuration
  private let manager: ImageManager
  private let batches = Mutex<[ObjectIdentifier: PrefetchTask]>([:])

  /// A prefetcher over `manager`; a concurrency below 1 is a programmer's error and traps.
  public init(manager: ImageManager, configuration: Configuration = Configuration()) {
    trap(
      unless: configuration.maxConcurrent > 0,
      "a prefetcher with a concurrency of \(configuration.maxConcurrent) would never begin; give 1 or more"
    )
    self.manager = manager
    self.configuration = configuration
  }

  /// Begins to load the images of `requests`, in their order within a class.
  ///
  /// - Parameters:
  ///   - requests: read on a thread of the batch's own as there is room. When pixels are made is the prefetcher's to say, and the class of
  ///     each is at most the prefetcher's. What is cached is not loaded again.
  ///   - whenEnded: called with each request and its result when it has ended, on the batch's thread; it is to be quick.
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

  /// Begins to load the images at `urls`; see ``prefetch(_:whenEnded:)``.
  public func prefetch(
    urls: sending some Sequence<String>,
    whenEnded: (@Sendable (ImageRequest, EntryResult) -> Void)? = nil
  ) -> PrefetchTask {
    prefetch(urls.lazy.map { ImageRequest(url: $0) }, whenEnded: whenEnded)
  }

  /// Cancels all batches that are under way.
  public func cancelAll() { batches.withLock { Array($0.values) }.forEach { $0.cancel() } }
}
