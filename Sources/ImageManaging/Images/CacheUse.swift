import ImagePrimitives
import ImageURLs

/// How a load uses the cache, and whether it may use the network.
public enum CacheMode: Sendable, Hashable, CaseIterable {
  /// Look in the cache, ask the network for what is not there, and keep it.
  case use
  /// Always ask the network; neither the cache nor the blacklist is read or written.
  case bypass
  /// Never ask the network: a miss ends as ``/ImagePrimitives/Outcome/skipped`` (`fromCacheOnly` in SDWebImage).
  case only
  /// Never ask the network, and tell by ``/ImagePrimitives/Outcome/skipped`` what ``use`` would ask for; nothing is written, and
  /// no body is read.
  case dryRun
  /// As ``dryRun``, telling what ``refresh`` would ask for.
  case refreshDryRun
  /// Ask the network for what is cached too, conditionally where the server gave something to ask with (`refreshCached`).
  case refresh
  /// Ask the network whatever is cached, and keep what comes (`fromLoaderOnly`).
  case loaderOnly
  /// As ``use``, but write nothing to disk (`cacheMemoryOnly`).
  case memoryOnly

  /// Whether it only tells what would be asked for.
  var isDryRun: Bool { self == .dryRun || self == .refreshDryRun }
  /// Whether what is cached is asked for too, or would be.
  var refreshes: Bool { self == .refresh || self == .refreshDryRun }
  /// Whether a miss is asked for.
  var asksNetwork: Bool { self != .only && !isDryRun }
  /// Whether the cache is looked at.
  var reads: Bool { self != .bypass && self != .loaderOnly }
  /// Whether images and failures are written to disk.
  var writesDisk: Bool { self == .use || self == .refresh || self == .loaderOnly }
  /// Whether images are put into the memory layer.
  var writesMemory: Bool { self != .bypass && !isDryRun }
}

/// The layers of a cache.
public struct CacheLayers: OptionSet, Sendable, Hashable {
  /// A bit for each.
  public let rawValue: UInt8

  /// The layers of those bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Decoded images.
  public static let memory = CacheLayers(rawValue: 1)
  /// Files as they came; read-only caches count as disk.
  public static let disk = CacheLayers(rawValue: 2)
  /// Both.
  public static let all: CacheLayers = [.memory, .disk]
}

/// Which layers a load looks in and fills: for what it asks for, and, where it transforms, for the original image apart.
public struct CacheLayerUse: Sendable, Hashable {
  /// Where the image is looked for; both by default.
  public var reads: CacheLayers
  /// Where the image is kept; both by default. A transformed image has no bytes of its own: it gets to the disk where
  /// ``LoadOptions/encoding`` or a ``LoadHooks/cacheSerializer`` encodes it.
  public var writes: CacheLayers
  /// Where the original of a transformed image is looked for; both by default.
  public var readsOriginal: CacheLayers
  /// Where the original of a transformed image is kept; on disk by default.
  public var writesOriginal: CacheLayers

  /// The given layers, each with its default.
  public init(
    reads: CacheLayers = .all,
    writes: CacheLayers = .all,
    readsOriginal: CacheLayers = .all,
    writesOriginal: CacheLayers = .disk
  ) {
    self.reads = reads
    self.writes = writes
    self.readsOriginal = readsOriginal
    self.writesOriginal = writesOriginal
  }
}

/// What of a URL tells images apart.
public enum KeyRule: Sendable, Hashable {
  /// All of it.
  case url
  /// All but the query: for hosts whose parameters do not change the image.
  case urlWithoutQuery
  /// All but the parameters of those names, in whatever place: trackers such as `utm_source`.
  case droppingQuery(Set<String>)

  /// The URL with only what counts; nil where that is all of it.
  func apply(to url: UnsafeRawBufferPointer, parts: URLParts) -> [UInt8]? {
    guard !parts.query.isEmpty else { return nil }
    switch self {
    case .url: return nil
    case .urlWithoutQuery: return Array(url[..<parts.path.upperBound])
    case .droppingQuery(let names):
      let parameters = url[parts.query].split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
      let kept = parameters.filter { parameter in
        let name = parameter.prefix { $0 != UInt8(ascii: "=") }
        return !names.contains(String(decoding: name, as: UTF8.self))
      }
      if kept.count == parameters.count { return nil }
      let query = kept.joined(separator: CollectionOfOne(UInt8(ascii: "&")))
      return url[..<parts.path.upperBound] + (kept.isEmpty ? [] : [UInt8(ascii: "?")] + query)
    }
  }
}
