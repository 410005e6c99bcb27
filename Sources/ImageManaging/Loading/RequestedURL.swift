import ImageCaching
import ImageDownloading
import Base

/// The URL of a request as written, with its normal form.
struct RequestedURL {
  /// The written URL, followed by the normal form if that differs.
  let bytes: [UInt8]
  private let written: Range<Int>
  private let normalized: Range<Int>
  private let parts: URLParts

  /// Throws if it isn't an http or https URL, unless one of `loaders` can load it: then it is its own normal form.
  init(_ url: String, loaders: [any ImageLoader]) throws(InvalidURL) {
    let text = Array(url.utf8)
    written = 0..<text.count
    do throws(InvalidURL) {
      var normal: [UInt8] = []
      parts = try text.withRawBytes { text throws(InvalidURL) in
        try URLNormalizer().normalize(text, relativeTo: nil, into: &normal)
      }
      bytes = normal == text ? text : text + normal
      normalized = normal == text ? written : text.count..<bytes.count
    } catch {
      guard !url.isEmpty, loaders.contains(where: { $0.canLoad(url) }) else { throw error }
      bytes = text
      normalized = written
      parts = .empty
    }
  }

  /// Creates an entry whose bytes are at `offset` of a batch's.
  func entry(priority: LoadPriority, sequence: Int64 = 0, at offset: Int = 0) -> BatchEntry {
    BatchEntry(
      priority: priority,
      sequence: sequence,
      parts: parts,
      requestRange: offset + normalized.lowerBound..<offset + normalized.upperBound,
      writtenRange: offset + written.lowerBound..<offset + written.upperBound
    )
  }
}

/// The location of a request's image: cache, memory layer, and keys.
struct CacheLocation {
  let context: LoadContext
  /// The context of loads of the file, which may encode what others keep as pixels only; nil if nothing is transformed.
  private let fileContext: LoadContext?
  let cache: ImageCache?
  let key: CacheKey
  let identity: [UInt8]
  let shownURL: [UInt8]

  /// The location of `request`; nil if its URL is invalid.
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
          identities.keys[0], identities.withIdentity(0) { Array($0) }, identities.withWrittenURL(0) { maskingCredentials($0) }
        )
      }
    } catch {
      return nil
    }
    self.context = context
    let transforms = request.decoding.transformer != nil || manager.configuration.transformer != nil
    fileContext =
      transforms ? manager.contexts.context(for: request, mode: .use, servesExpired: false, deliversFile: true) : nil
    cache = request.cachePolicy.cache ?? manager.configuration.cache
  }

  var memory: ImageMemory? { context.options.memory }

  /// The memory layer's key of the image as requested.
  var memoryKey: MemoryKey { context.memoryKey(key) }

  /// The identities of the transformed image on disk: as a file, and as stored by loads of pixels; empty if nothing is transformed.
  var transformedIdentities: [[UInt8]] {
    let file = fileContext?.transform?.identity(of: identity)
    let other = context.transform?.identity(of: identity)
    return (file == other ? [file] : [file, other]).compactMap(\.self)
  }

  func withIdentity<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try identity.withRawBytes(body)
  }
}
