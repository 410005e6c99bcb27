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
  /// Ask the network for what is cached too, conditionally where the server gave something to ask with (`refreshCached`).
  case refresh
  /// Ask the network whatever is cached, and keep what comes (`fromLoaderOnly`).
  case loaderOnly
  /// As ``use``, but write nothing to disk (`cacheMemoryOnly`).
  case memoryOnly

  /// Whether a miss is asked for.
  var asksNetwork: Bool { self != .only && self != .dryRun }
  /// Whether the cache is looked at.
  var reads: Bool { self != .bypass && self != .loaderOnly }
  /// Whether images and failures are written to disk.
  var writesDisk: Bool { self == .use || self == .refresh || self == .loaderOnly }
  /// Whether images are put into the memory layer.
  var writesMemory: Bool { self != .bypass && self != .dryRun }
}
