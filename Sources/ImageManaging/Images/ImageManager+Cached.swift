public import ImageCaching
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
