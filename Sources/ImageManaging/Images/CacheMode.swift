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
