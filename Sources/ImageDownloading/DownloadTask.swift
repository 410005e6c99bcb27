public import ImagePrimitives
import Synchronization

/// One download of its own, for who wants an image and not a batch: see
/// ``ImageDownloader/download(_:priority:options:validators:progressInterval:)``.
///
/// It keeps its downloader running. Letting go of it does not cancel it.
public final class DownloadTask: Sendable {
  /// What happens on the way, for one reader: started, response, progress, and the end as the last. Chunks of a large body are
  /// not told, since ``value`` has it whole.
  public let progress: AsyncStream<DownloadEvent>

  private let state: TaskState
  private let client: DownloadClient
  private let id: UInt64
  private let current: Mutex<Priority>
  /// Kept, since a downloader that is let go of ends its downloads.
  private let downloader: ImageDownloader

  init(id: UInt64, priority: Priority, state: TaskState, client: DownloadClient, downloader: ImageDownloader) {
    self.id = id
    self.state = state
    self.client = client
    self.downloader = downloader
    current = Mutex(priority)
    progress = state.stream
  }

  /// The image, its body whole in memory; waits for it. Where the waiting task is cancelled, so is the download.
  public var value: DownloadedImage {
    get async throws(DownloadError) {
      // Who awaits it may hold nothing else that keeps the downloader.
      defer { withExtendedLifetime(self) {} }
      let result = await withTaskCancellationHandler {
        await state.result
      } onCancel: {
        cancel()
      }
      return try result.get()
    }
  }

  /// Ends it as cancelled, unless it has ended; a transfer that others share goes on for them.
  public func cancel() { client.cancel([id]) }

  /// Its class, which can change while it waits.
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
  /// It failed for good, after its retries.
  case failed(Failure)

  /// The failure, where it failed.
  public var failure: Failure? {
    if case .failed(let failure) = self { failure } else { nil }
  }
}
