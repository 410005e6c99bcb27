import ImageCaching
import ImagePrimitives
import ImageURLs

/// Where the image of a request is kept: in which cache and memory layer, and by what name.
struct CachedPlace {
  let context: LoadContext
  let cache: ImageCache?
  let key: CacheKey
  let identity: [UInt8]
  /// The URL as it may be written down.
  let shownURL: [UInt8]

  /// The place of `request`; nil where its URL is none.
  init?(_ request: ImageRequest, _ manager: ImageManager) {
    var request = request
    request.cachePolicy.mode = .use
    let context = manager.context(for: request)
    do throws(InvalidURL) {
      let url = try RequestedURL(request.url, loaders: manager.loaders(for: request))
      let entry = url.entry(priority: .normal)
      (key, identity, shownURL) = url.bytes.withRawBytes { bytes in
        let identities = RequestIdentities([entry], in: bytes, context: context)
        return (
          identities.keys[0], identities.withIdentity(0) { Array($0) }, identities.withWritten(0) { maskingCredentials($0) }
        )
      }
    } catch {
      return nil
    }
    self.context = context
    cache = request.cachePolicy.cache ?? manager.configuration.cache
  }

  var memory: ImageMemory? { context.options.memory }

  /// The name in the memory layer, of the image as the request wants it.
  var memoryKey: MemoryKey { context.memoryKey(key) }

  /// What the transformed image is known by on disk; nil where the request transforms nothing.
  var transformedIdentity: [UInt8]? {
    context.transform?.identity(of: identity)
  }

  func withIdentity<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try identity.withRawBytes(body)
  }
}
