public import ImageCaching
public import ImageCoding
import ImageDownloading
import ImagePrimitives
import ImageURLs
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
    precondition(!isClosed, "a manager that is shut down loads nothing")
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

  /// Adds a request to a batch; false where its URL is none.
  package func append(
    _ request: ImageRequest,
    id: UInt64,
    sequence: Int64,
    to requests: inout [LoadRequest],
    bytes: inout [UInt8]
  ) -> Bool {
    do throws(InvalidURL) {
      let url = try RequestedURL(request.url, loaders: loaders(for: request))
      requests.append(url.request(id: id, priority: request.priority, sequence: sequence, at: bytes.count))
      bytes += url.bytes
      return true
    } catch {
      return false
    }
  }

  /// Takes one request away from its flight; what others share goes on. It is not completed here.
  func cancel(_ id: UInt64, flight: UInt64, for receiver: any LoadReceiver) {
    if case .last = dispatcher.flights.leave(flight, id: id, receiver: receiver) {
      dispatcher.cancelDownloads([flight], includingRunning: true)
    }
  }

  func loaders(for request: ImageRequest) -> [any ImageLoader] {
    (request.network.downloader ?? downloader).loaders
  }

  /// The time by which the freshness of a request's image is judged.
  func now(for request: ImageRequest) -> Timestamp { context(for: request).now }

  // MARK: What is cached

  /// Whether the image at `url` is cached, fresh, in memory or on disk; nothing is loaded.
  ///
  /// Throws where the disk cache cannot be read.
  public func isCached(_ url: String) throws(CacheError) -> Bool {
    if try isInMemory(url) { return true }
    return try isOnDisk(url)
  }

  /// Whether memory has the image at `url`, as this manager's own requests ask for it.
  public func isInMemory(_ url: String) throws(CacheError) -> Bool {
    guard let memory = configuration.memory, let place = place(of: url) else { return false }
    return memory.image(for: place.context.memoryKey(place.key))?.identity == place.identity
  }

  /// Whether the disk cache has the image at `url`, fresh; its body is not read.
  public func isOnDisk(_ url: String) throws(CacheError) -> Bool {
    guard let cache = configuration.cache, let place = place(of: url) else { return false }
    return try place.identity.withRawBytes { identity throws(CacheError) in
      try cache.read { reader throws(CacheError) in
        if case .fresh = try reader.lookUp(place.key, identity: identity) { true } else { false }
      }
    }
  }

  /// Puts an image into the cache as if it had been loaded from `url`, proven like one that comes from a server.
  ///
  /// - Parameters:
  ///   - data: the bytes of the file.
  ///   - url: as a request for the image would have it.
  ///   - layers: where it is kept; both by default.
  /// - Throws: `failed` where the URL is none, the bytes are no good image by the manager's rules, or the disk cannot keep them.
  public func store(_ data: [UInt8], for url: String, in layers: CacheLayers = .all) throws(ImageLoadError) {
    guard let place = place(of: url) else {
      throw .failed(Failure(.invalidURL, message: "\(maskingCredentials(url)) is no URL of an image"))
    }
    let coders = configuration.coders
    do throws(Failure) {
      let verifier = BodyVerifier(coders: coders, rules: configuration.verification, decodes: layers.contains(.memory))
      var verified = try data.withRawBytes { bytes throws(Failure) in try verifier.prove(bytes, contentTypeMatch: .exact) }
      let decoded = verified.decoded
      verified.decoded = nil
      if layers.contains(.disk), let cache = configuration.cache { try keep(data, verified, place, in: cache) }
      guard let memory = configuration.memory, layers.contains(.memory), let decoded else { return }
      let image =
        try configuration.transformer.map { transformer throws(Failure) in
          do { return try transformer.apply(to: decoded) } catch {
            throw Failure(.internal, message: "the transformer \(transformer.key) failed: \(error)")
          }
        } ?? decoded
      var result = EntryResult(.hitMemory)
      result.add(verified)
      result.bytes = UInt64(clamping: data.count)
      memory.insert(RememberedImage(place.identity, image, result, .exact), for: place.context.memoryKey(place.key))
    } catch {
      throw .failed(error)
    }
  }

  private func keep(_ data: [UInt8], _ verified: VerifiedImage, _ place: Place, in cache: ImageCache) throws(Failure) {
    do throws(CacheError) {
      try data.withRawBytes { bytes throws(CacheError) in
        try place.identity.withRawBytes { identity throws(CacheError) in
          try place.shownURL.withRawBytes { url throws(CacheError) in
            let entry = NewEntry(
              key: place.key,
              identity: identity,
              url: url,
              format: verified.format,
              width: UInt32(clamping: verified.size.width),
              height: UInt32(clamping: verified.size.height),
              frames: UInt32(clamping: verified.frames),
              proof: verified.proof,
              contentTypeMatch: .exact,
              checksum: checksum(of: bytes)
            )
            try cache.write { writer throws(CacheError) in
              try writer.store(entry, body: .bytes(bytes))
              _ = try writer.unblacklist(place.key, identity: identity)
            }
          }
        }
      }
    } catch {
      throw Failure(.cacheWrite, message: "\(error)")
    }
  }

  /// Removes the image at `url` from memory, disk or both.
  public func remove(_ url: String, from layers: CacheLayers = .all) throws(CacheError) {
    guard let place = place(of: url) else { return }
    if layers.contains(.memory) { configuration.memory?.remove(place.context.memoryKey(place.key)) }
    if layers.contains(.disk), let cache = configuration.cache {
      _ = try place.identity.withRawBytes { identity throws(CacheError) in try cache.remove(identity: identity) }
    }
  }

  /// Where the image of a URL is, for this manager's own requests.
  private struct Place {
    let context: LoadContext
    let key: CacheKey
    let identity: [UInt8]
    let shownURL: [UInt8]
  }

  private func place(of url: String) -> Place? {
    let request = ImageRequest(url: url)
    let context = contexts.context(for: request, mode: .use, servesExpired: false)
    do throws(InvalidURL) {
      let requested = try RequestedURL(url, loaders: loaders(for: request))
      return requested.bytes.withRawBytes { bytes in
        let identities = RequestIdentities([requested.request(id: 0, priority: .normal)], in: bytes, context: context)
        return Place(
          context: context,
          key: identities.keys[0],
          identity: identities.withIdentity(0) { Array($0) },
          shownURL: identities.withWritten(0) { maskingCredentials($0) }
        )
      }
    } catch {
      return nil
    }
  }
}
