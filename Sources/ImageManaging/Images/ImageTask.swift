public import ImagePrimitives

/// One load of one image, under way or ended.
///
/// It ends exactly once: by its image, by an error, or as cancelled. Letting go of a task does not cancel it.
public final class ImageTask: Sendable {
  /// What is told before the end.
  public enum Event: Sendable {
    /// So many bytes of the body have come, of so many where the server said; first with none.
    case progress(receivedBytes: Int, expectedBytes: Int?)
    /// An image before the final one: with ``CacheMode/refresh``, the cached one while the network is asked; with
    /// ``ImageRequest/Decoding/isProgressive``, what has come of it, each better than the last.
    case preview(ImageResponse)
  }

  /// What is loaded.
  public let request: ImageRequest
  /// What is told before the end, for one consumer; it ends when the task does. Who does not keep up misses progress.
  public let events: AsyncStream<Event>
  private let load: SingleLoad

  init(_ request: ImageRequest, manager: ImageManager, observer: (@Sendable (Event) -> Void)?) {
    self.request = request
    let (events, continuation) = AsyncStream<Event>.makeStream(bufferingPolicy: .bufferingNewest(64))
    self.events = events
    load = SingleLoad(request, manager: manager) { event in
      continuation.yield(event)
      observer?(event)
    }
    load.whenFinished { _ in continuation.finish() }
  }

  func start() { load.start() }

  /// The image, once it is there.
  ///
  /// Any number of callers may wait. That a waiting caller is cancelled does not cancel the load. Throws why there is no image.
  public var value: ImageResponse {
    get async throws(ImageLoadError) { try await load.result().get() }
  }

  /// Whether it has ended.
  public var isFinished: Bool { load.isFinished }

  /// Ends the load as cancelled, at once, unless it has ended; others who load the same image are left alone.
  public func cancel() { load.cancel() }

  /// Raises the class of what has not started yet; a lower class than before changes nothing, as others may share the load.
  public func raisePriority(to priority: Priority) { load.raise(to: priority) }

  func outcome() async -> Result<ImageResponse, ImageLoadError> { await load.result() }

  /// Calls `body` once the task has ended, on the thread that ends it, or now where it has; under no lock.
  func whenFinished(_ body: @escaping @Sendable (Result<ImageResponse, ImageLoadError>) -> Void) { load.whenFinished(body) }
}
