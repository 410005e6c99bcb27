import ImageCaching
public import ImageCoding
import ImageDownloading
package import Base
import Synchronization

extension ImageManager {
  /// Loads one image and returns its pixels. Cancelling the calling task cancels the load. Throws the reason if there is no
  /// image; `declined` if the hook ``LoadHooks/shouldDownload`` rejects an image that isn't cached.
  public func image(for image: some ImageRequestConvertible) async throws(ImageLoadError) -> DecodedImage {
    var request = image.imageRequest
    request.decoding.policy = .eager
    guard let image = try await response(for: request).image else { throw .declined }
    return image
  }

  /// Loads one image and returns its pixels with all details. Cancelling the calling task cancels the load; a task that is
  /// already cancelled requests nothing.
  public func response(for image: some ImageRequestConvertible) async throws(ImageLoadError) -> ImageResponse {
    if Task.isCancelled { throw .cancelled }
    return try await load(image).value
  }

  /// Loads the file of one image, for example to send it on: transformed and encoded if the request or the manager transforms.
  ///
  /// A transformed image is encoded by the manager's ``ImageManager/Configuration/encoding``, or else in the format that suits
  /// it, and kept on disk. Without a transformer nothing is decoded beyond what verification requires. Cancelling the calling
  /// task cancels the load.
  public func data(for image: some ImageRequestConvertible) async throws(ImageLoadError) -> ImageData {
    if Task.isCancelled { throw .cancelled }
    let load = ImageTask(image.imageRequest, manager: self, deliversFile: true)
    load.start()
    guard let file = try await load.value.file else { throw .declined }
    return file
  }

  /// Loads the file of one image without reading it into memory if it is large, to send it in parts: ``ImageFile/chunks(in:ofCount:)``.
  ///
  /// As `data(for:)`, but the bytes of an untransformed image above 256 KiB stay in the cache's file. They were verified when they were
  /// stored; ``ImageRequest/CachePolicy/verifiesHits`` compares their checksum each time. Without a disk cache, or if the image can't or
  /// mustn't be stored, its bytes are in memory, and in the latter cases it is requested twice.
  public func file(for image: some ImageRequestConvertible) async throws(ImageLoadError) -> ImageFile {
    let request = image.imageRequest
    guard !transforms(request), let cache = request.cachePolicy.cache ?? configuration.cache else {
      return ImageFile(try await data(for: request))
    }
    var stored = request
    (stored.decoding.policy, stored.decoding.includesData) = (.never, false)
    let found: ImageResponse
    do throws(ImageLoadError) {
      found = try await response(for: stored)
    } catch {
      // Without room on disk the bytes are in memory.
      guard case .failed(let failure) = error, failure.kind == .cacheWrite, !request.cachePolicy.requiresStoring else {
        throw error
      }
      return ImageFile(try await data(for: request))
    }
    guard let source = found.source else { throw .declined }
    let record: EntryRecord?
    do throws(CacheError) {
      record = try await self.record(for: request)
    } catch {
      throw error == .cancelled ? .cancelled : .failed(ImageFailure(.internal, message: "cannot read the cache: \(error)"))
    }
    var file: ImageFile
    if let stored = record.flatMap({ ImageFile($0, in: cache, source: source) }) {
      file = stored
    } else {
      file = ImageFile(try await data(for: request), source: source)
    }
    file.facts.isStale = file.facts.isStale || found.isStale
    return file
  }

  /// Starts to load one image; one in memory is available when this returns. The task continues when it is released; only the
  /// look-up runs on the caller's thread.
  public func load(_ image: some ImageRequestConvertible) -> ImageTask { load(image.imageRequest, observer: nil) }

  /// Starts to load one image, and calls `observer` with its events too, on the manager's threads.
  func load(_ request: ImageRequest, observer: (@Sendable (ImageTask.Event) -> Void)?) -> ImageTask {
    let task = ImageTask(request, manager: self, observer: observer)
    task.start()
    return task
  }

  /// The context of a request; equal requests have the same one.
  package func context(for request: ImageRequest) -> LoadContext {
    contexts.context(for: request, mode: request.cachePolicy.mode, servesExpired: request.cachePolicy.servesExpired)
  }

  /// What is wrong with a request's options, together with the manager's; nil if they can be used.
  func invalidReason(of request: ImageRequest) -> String? {
    if !request.options.isEmpty, let reason = request.options.applied(to: configuration.options).invalidReason { return reason }
    return request.decoding.verification?.invalidReason
  }

  /// Adds a request to a batch; returns false if its URL is invalid.
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

  /// Whether the file of a request is made from the original.
  func transforms(_ request: ImageRequest) -> Bool {
    request.decoding.transformer != nil || request.decoding.encoding != nil || configuration.transformer != nil
  }

  /// Removes one request from its flight, which continues for others. This doesn't complete the request.
  func cancel(_ flight: UInt64, for receiver: any LoadReceiver) {
    if dispatcher.flights.leave(flight, receiver) { dispatcher.cancelDownloads([flight], includingRunning: true) }
  }

  /// Whether loads of `request` end as shut down.
  func isShutDown(for request: ImageRequest) -> Bool { isShutDown || (request.downloader ?? downloader).isShutDown }

  func loaders(for request: ImageRequest) -> [any ImageLoader] { (request.downloader ?? downloader).loaders }

  /// The time by which the freshness of a request's image is judged.
  func now(for request: ImageRequest) -> Timestamp { context(for: request).now }
}

extension ImageManager {
  /// A manager for the whole process, created on first use: as by ``init()``, with ``/ImageCaching/ImageCache/shared``. Traps
  /// with the reason if it can't be created, such as if the home folder isn't writable.
  public static let shared: ImageManager = {
    do throws(ImageManagerError) {
      return try ImageManager(.standard(.shared))
    } catch {
      fatalError("cannot create the shared image manager: \(error)")
    }
  }()
}

extension ImageManager.Configuration {
  /// The usual parts around `cache`.
  static func standard(_ cache: ImageCache) -> Self { Self(cache: cache, memory: ImageMemory()) }
}
