import ImageCaching
import Synchronization

/// A manager's claim on the cache that it trims and expires: while one exists, other managers must use the same rules.
final class CacheClaim: Sendable {
  private struct Rules: Equatable {
    let maxAge: Duration?
    let maxSize: Int?
    let trimTo: Double
    let expireBy: ExpiryBasis
    let freshness: FreshnessRule
    let minFresh: Duration
    let blacklistTTL: Duration?

    init(_ configuration: ImageCache.Configuration) {
      maxAge = configuration.maxAge
      maxSize = configuration.maxSize
      trimTo = configuration.trimTo
      expireBy = configuration.expireBy
      freshness = configuration.freshness
      minFresh = configuration.minFresh
      blacklistTTL = configuration.blacklistTTL
    }

    /// The names of the rules that differ from `other`.
    func differences(from other: Rules) -> [String] {
      [
        maxAge == other.maxAge ? nil : "maxAge", maxSize == other.maxSize ? nil : "maxSize",
        trimTo == other.trimTo ? nil : "trimTo", expireBy == other.expireBy ? nil : "expireBy",
        freshness == other.freshness ? nil : "freshness", minFresh == other.minFresh ? nil : "minFresh",
        blacklistTTL == other.blacklistTTL ? nil : "blacklistTTL",
      ].compactMap(\.self)
    }
  }

  private static let held = Mutex<[FolderIdentity: (rules: Rules, count: Int)]>([:])

  private let folder: FolderIdentity?

  /// Claims `cache`; no claim is needed for a read-only one.
  init(_ cache: ImageCache) throws(ImageManagerError) {
    guard cache.configuration.access == .readWrite else {
      folder = nil
      return
    }
    let folder = cache.folderIdentity
    self.folder = folder
    let rules = Rules(cache.configuration)
    let differences = Self.held.withLock { held in
      let differences = held[folder].map { rules.differences(from: $0.rules) } ?? []
      if differences.isEmpty { held[folder, default: (rules, 0)].count += 1 }
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
