public import ImageCaching
import ImageCoding
import ImagePrimitives
import ImageURLs

// What is cached of a request's image: asked, stored and removed without a load. A URL stands for a request with the manager's own ways.
extension ImageManager {
  /// Whether the image of a request is cached, fresh, in memory or on disk; nothing is loaded, and read-only caches are not looked into.
  ///
  /// Throws where the disk cache cannot be read.
  public func isCached(_ request: ImageRequest) throws(CacheError) -> Bool {
    if isInMemory(request) { return true }
    return try isOnDisk(request)
  }

  /// Whether the image at `url` is cached; see ``isCached(_:)-(ImageRequest)``.
  public func isCached(_ url: String) throws(CacheError) -> Bool { try isCached(ImageRequest(url: url)) }

  /// Whether memory has the image as the request asks for it: transformed, where it transforms.
  public func isInMemory(_ request: ImageRequest) -> Bool {
    guard let place = CachedPlace(request, self), let found = place.memory?.image(for: place.memoryKey) else { return false }
    if let cache = place.cache, cache.isExpired(found.head, at: place.context.now) { return false }
    return found.identity == place.identity
  }

  /// Whether memory has the image at `url`.
  public func isInMemory(_ url: String) -> Bool { isInMemory(ImageRequest(url: url)) }

  /// Whether the disk cache has the image that the request would load, fresh; its body is not read.
  public func isOnDisk(_ request: ImageRequest) throws(CacheError) -> Bool {
    guard let place = CachedPlace(request, self), let cache = place.cache else { return false }
    if let transformed = place.transformedIdentity, try cache.contains(identity: transformed) { return true }
    return try cache.contains(identity: place.identity)
  }

  /// Whether the disk cache has the image at `url`, fresh.
  public func isOnDisk(_ url: String) throws(CacheError) -> Bool { try isOnDisk(ImageRequest(url: url)) }

  /// Puts an image into the cache as if it had been loaded from `url`, proven like one that comes from a server.
  ///
  /// - Parameters:
  ///   - data: the bytes of the file.
  ///   - url: as a request for the image would have it.
  ///   - layers: where it is kept; both by default.
  /// - Throws: `failed` where the URL is none, the bytes are no good image by the manager's rules, or the disk cannot keep them.
  public func store(_ data: [UInt8], for url: String, in layers: CacheLayers = .all) throws(ImageLoadError) {
    guard let place = CachedPlace(ImageRequest(url: url), self) else {
      throw .failed(Failure(.invalidURL, message: "\(maskingCredentials(url)) is no URL of an image"))
    }
    do throws(Failure) {
      try store(data, at: place, in: layers)
    } catch {
      throw .failed(error)
    }
  }

  private func store(_ data: [UInt8], at place: CachedPlace, in layers: CacheLayers) throws(Failure) {
    let verifier = BodyVerifier(
      coders: configuration.coders,
      rules: configuration.verification,
      decodes: layers.contains(.memory) && place.memory != nil
    )
    let body = try data.withRawBytes { bytes throws(Failure) in try verifier.prove(bytes, contentTypeMatch: .exact) }
    // What was made of other bytes is out of date.
    place.memory?.removeAll(of: place.key, namespace: place.memoryKey.namespace)
    if layers.contains(.disk), let cache = place.cache { try keep(data, body.verified, place, in: cache) }
    guard layers.contains(.memory), let memory = place.memory, var image = body.decoded else { return }
    if let transformer = place.context.parts.transformer { image = try transformer.applied(to: image) }
    let sum = data.withRawBytes { checksum(of: $0) }
    let head = EntryHead(body.verified, Freshness(), byteCount: data.count, checksum: sum, storedAt: place.context.now)
    memory.insert(RememberedImage(identity: place.identity, image: image, head: head, vary: []), for: place.memoryKey)
  }

  private func keep(_ data: [UInt8], _ verified: VerifiedImage, _ place: CachedPlace, in cache: ImageCache) throws(Failure) {
    do throws(CacheError) {
      try data.withRawBytes { bytes throws(CacheError) in
        try place.withIdentity { identity throws(CacheError) in
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
              if let old = place.transformedIdentity {
                _ = try old.withRawBytes { old throws(CacheError) in try writer.remove(CacheKey(identity: old), identity: old) }
              }
              _ = try writer.unblacklist(place.key, identity: identity)
            }
          }
        }
      }
    } catch {
      throw Failure(.cacheWrite, message: "\(error)")
    }
  }

  /// Removes the image of a request from memory, disk or both: the original, and what the request's transformer made of it; in memory all
  /// that was made of it.
  public func remove(_ request: ImageRequest, from layers: CacheLayers = .all) throws(CacheError) {
    guard let place = CachedPlace(request, self) else { return }
    if layers.contains(.memory) { place.memory?.removeAll(of: place.key, namespace: place.memoryKey.namespace) }
    guard layers.contains(.disk), let cache = place.cache else { return }
    _ = try cache.remove(identity: place.identity)
    if let transformed = place.transformedIdentity { _ = try cache.remove(identity: transformed) }
  }

  /// Removes the image at `url` from memory, disk or both.
  public func remove(_ url: String, from layers: CacheLayers = .all) throws(CacheError) {
    try remove(ImageRequest(url: url), from: layers)
  }

  /// Takes a URL off the blacklist (`removeFailedURL`); says whether it was there. ``/ImageCaching/ImageCache/clearBlacklist()`` takes all off.
  @discardableResult
  public func removeFailedURL(_ url: String) throws(CacheError) -> Bool {
    guard let place = CachedPlace(ImageRequest(url: url), self), let cache = place.cache else { return false }
    return try place.withIdentity { identity throws(CacheError) in try cache.removeFromBlacklist(identity: identity) }
  }
}
