import ImageCaching
import Synchronization

/// A manager's claim on the cache that it trims and expires: while one exists, other managers must use the same rules.
final class CacheClaim: Sendable {
  /// The rules by which entries expire and are trimmed, with their names.
  private static func rules(of configuration: ImageCache.Configuration) -> [(name: String, value: AnyHashable?)] {
    [
      ("maxAge", configuration.maxAge), ("maxSize", configuration.maxSize), ("trimTo", configuration.trimTo),
      ("expireBy", configuration.expireBy), ("freshness", configuration.freshness), ("minFresh", configuration.minFresh),
      ("blacklistTTL", configuration.blacklistTTL),
    ]
  }

  private static let held = Mutex<[FolderIdentity: (configuration: ImageCache.Configuration, count: Int)]>([:])

  private let folder: FolderIdentity?

  /// Claims `cache`; no claim is needed for a read-only one.
  init(_ cache: ImageCache) throws(ImageManagerError) {
    guard cache.configuration.access == .readWrite else {
      folder = nil
      return
    }
    let folder = cache.folderIdentity
    self.folder = folder
    let differences = Self.held.withLock { held in
      let own = held[folder, default: (cache.configuration, 0)]
      let pairs = zip(Self.rules(of: cache.configuration), Self.rules(of: own.configuration))
      let differences = pairs.filter { $0.value != $1.value }.map(\.0.name)
      if differences.isEmpty { held[folder] = (own.configuration, own.count + 1) }
      return differences
    }
    if !differences.isEmpty { throw .conflictingCache(path: cache.path, rules: differences) }
  }

  deinit {
    guard let folder else { return }
    Self.held.withLock { held in
      held[folder]?.count -= 1
      if held[folder]?.count == 0 { held[folder] = nil }
    }
  }
}
