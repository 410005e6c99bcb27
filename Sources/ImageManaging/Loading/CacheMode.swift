import Base

/// How a load uses the cache, and whether it may use the network.
public struct CacheMode: Sendable, Hashable {
  private enum Mode {
    case use, bypass, only, dryRun, refreshDryRun, refresh, loaderOnly, memoryOnly
  }

  private let mode: Mode

  private init(_ mode: Mode) { self.mode = mode }

  /// Look in the cache, request missing images, and store them.
  public static let use = CacheMode(.use)
  /// Always use the network; neither the cache nor the blacklist is read or written.
  public static let bypass = CacheMode(.bypass)
  /// Never use the network: a miss throws ``ImageLoadError/notCached`` (`fromCacheOnly` in SDWebImage).
  public static let only = CacheMode(.only)
  /// Request cached images too, conditionally if the server sent validators (`refreshCached`).
  public static let refresh = CacheMode(.refresh)
  /// Request every image, whether cached or not, and store it (`fromLoaderOnly`).
  public static let loaderOnly = CacheMode(.loaderOnly)
  /// As ``use``, but write nothing to disk (`cacheMemoryOnly`).
  public static let memoryOnly = CacheMode(.memoryOnly)
  /// Never use the network, and report as ``/Base/LoadOutcome/skipped`` what ``use`` would request; nothing is written, and no
  /// body is read.
  package static let dryRun = CacheMode(.dryRun)
  /// As ``dryRun``, but for ``refresh``.
  package static let refreshDryRun = CacheMode(.refreshDryRun)

  var isDryRun: Bool { mode == .dryRun || mode == .refreshDryRun }
  /// Whether cached images are requested too, or would be.
  var refreshes: Bool { mode == .refresh || mode == .refreshDryRun }
  var usesNetwork: Bool { mode != .only && !isDryRun }
  var reads: Bool { mode != .bypass && mode != .loaderOnly }
  var writesDisk: Bool { mode == .use || mode == .refresh || mode == .loaderOnly }
  /// Whether images are put into the memory layer.
  var writesMemory: Bool { mode != .bypass && !isDryRun }
}

/// The layers of a cache.
public struct CacheLayers: OptionSet, Sendable, Hashable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Decoded images.
  public static let memory = CacheLayers(rawValue: 1)
  /// Files as received; read-only caches count as disk.
  public static let disk = CacheLayers(rawValue: 2)
  public static let all: CacheLayers = [.memory, .disk]
}

/// The layers that a load reads and fills: for the requested image and, if it transforms, for the original.
public struct CacheLayerUse: Sendable, Hashable {
  /// Where the image is looked up; both by default.
  public var reads: CacheLayers
  /// Where the image is stored; both by default. A transformed image has no bytes of its own: it is stored on disk only if
  /// ``ImageManager/Configuration/encoding`` or a ``LoadHooks/cacheSerializer`` encodes it.
  public var writes: CacheLayers
  /// Where the original of a transformed image is looked up; both by default.
  public var readsOriginal: CacheLayers
  /// Where the original of a transformed image is stored; on disk by default.
  public var writesOriginal: CacheLayers

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

/// The part of a URL that identifies its image.
public enum KeyRule: Sendable, Hashable {
  /// All of it.
  case url
  /// All but the query: for hosts whose parameters don't change the image.
  case urlWithoutQuery
  /// All but the parameters with those names, wherever they are: trackers such as `utm_source`.
  case droppingQuery(Set<String>)

  /// The identifying part of the URL; nil if that is all of it.
  func apply(to url: UnsafeRawBufferPointer, parts: URLParts) -> [UInt8]? {
    guard !parts.query.isEmpty else { return nil }
    switch self {
    case .url: return nil
    case .urlWithoutQuery: return Array(url[..<parts.path.upperBound])
    case .droppingQuery(let names):
      var kept = Array(url[..<parts.path.upperBound])
      var (separator, isWhole) = (UInt8(ascii: "?"), true)
      for parameter in url[parts.query].split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
        let name = parameter.prefix { $0 != UInt8(ascii: "=") }
        if names.contains(String(decoding: name, as: UTF8.self)) {
          isWhole = false
        } else {
          kept.append(separator)
          kept += parameter
          separator = UInt8(ascii: "&")
        }
      }
      return isWhole ? nil : kept
    }
  }
}
