import ImageCaching
public import ImageCoding
import ImageDownloading
import ImagePrimitives
package import ImageURLs
import Synchronization

extension ImageManager {
  /// Loads one image and gives its pixels.
  ///
  /// Cancelling the calling task cancels the load. Throws why there is no image; `declined` where the hook
  /// ``LoadHooks/shouldDownload`` does not want one that is not cached.
  public func image(for url: String) async throws(ImageLoadError) -> DecodedImage {
    guard let image = try await response(for: ImageRequest(url: url)).image else { throw .declined }
    return image
  }

  /// Loads one image, and gives all that is known of it.
  ///
  /// Cancelling the calling task cancels the load; a task that is cancelled already asks for nothing. Throws why there is no image.
  public func response(for request: ImageRequest) async throws(ImageLoadError) -> ImageResponse {
    if Task.isCancelled { throw .cancelled }
    let task = load(request)
    let outcome = await withTaskCancellationHandler {
      await task.outcome()
    } onCancel: {
      task.cancel()
    }
    return try outcome.get()
  }

  /// Begins to load one image.
  ///
  /// What memory has is there when this returns. The task goes on when it is let go; nothing of it is on the caller's thread but the
  /// look-up.
  public func load(_ request: ImageRequest) -> ImageTask { load(request, observer: nil) }

  /// Begins to load one image, and calls `observer` with its events too, on the manager's threads.
  func load(_ request: ImageRequest, observer: (@Sendable (ImageTask.Event) -> Void)?) -> ImageTask {
    requireOpen()
    let task = ImageTask(request, manager: self, observer: observer)
    task.start()
    return task
  }

  /// Begins to load the image at `url`.
  public func load(_ url: String) -> ImageTask { load(ImageRequest(url: url)) }

  /// The context of a request: equal ones get the same.
  package func context(for request: ImageRequest) -> LoadContext {
    contexts.context(for: request, mode: request.cachePolicy.mode, servesExpired: request.cachePolicy.servesExpired)
  }

  /// Adds a request to a batch; false if its URL isn't one.
  package func append(
    _ request: ImageRequest,
    sequence: Int64 = 0,
    owner: (any AnyObject & Sendable)? = nil,
    to batch: inout EntryBatch
  ) -> Bool {
    do throws(InvalidURL) {
      let url = try RequestedURL(request.url, loaders: loaders(for: request))
      batch.append(url.entry(priority: request.priority, sequence: sequence, at: batch.bytes.count), owner: owner)
      batch.bytes += url.bytes
      return true
    } catch {
      return false
    }
  }

  /// Takes one request away from its flight; what others share goes on. It is not completed here.
  func cancel(_ flight: UInt64, for receiver: any LoadReceiver) {
    if case .last = dispatcher.flights.leave(flight, receiver) {
      dispatcher.cancelDownloads([flight], includingRunning: true)
    }
  }

  func loaders(for request: ImageRequest) -> [any ImageLoader] {
    (request.network.downloader ?? downloader).loaders
  }

  /// The time by which the freshness of a request's image is judged.
  func now(for request: ImageRequest) -> Timestamp { context(for: request).now }
}

extension ImageManager {
  /// A manager for the whole process: over ``/ImageCaching/ImageCache/shared``, with a memory layer of 256 MiB; made when it is
  /// first used.
  ///
  /// Where it cannot be made, as the home folder may not be written, this traps with the reason: a program that wants to go on then makes
  /// a manager of its own.
  public static let shared: ImageManager = {
    do throws(ImageManagerError) {
      return try ImageManager(Configuration(cache: .shared, memory: ImageMemory(maxCost: 256 << 20)))
    } catch {
      fatalError("no shared image manager: \(error)")
    }
  }()
}
