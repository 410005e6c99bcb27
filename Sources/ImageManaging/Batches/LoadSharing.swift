import ImageCaching
import ImageDownloading
import Synchronization

/// Finds the contexts whose loads may share a request: those over one cache that write and read it, and ask in the same way.
///
/// Whoever shares another context's request looks into the cache when that has ended, so there must be one, written by the first and
/// read by the second.
enum LoadSharing {
  /// What contexts that share have in common; it lives as long as one of them.
  final class Token: Sendable {}

  private struct Key: Hashable {
    let cache: FolderIdentity
    let downloads: [PreparedOptions]
    /// The names of ``LoadOptions/variants`` and of their edges.
    let variants: [[String?]]
    let keyRule: KeyRule
  }

  private struct Weak: Sendable {
    weak let token: Token?
  }

  private static let tokens = Mutex<[Key: Weak]>([:])

  /// The object that contexts of these options share; nil where they share with nobody.
  static func object(for cache: ImageCache?, _ downloads: [PreparedOptions], _ options: LoadOptions) -> Token? {
    guard let cache, options.mode.writesDisk, options.mode.reads, options.hooks.cacheKeyFilter == nil else { return nil }
    guard options.downloader == nil else { return nil }
    let names = options.variants.map { [$0.name, $0.edge] }
    let key = Key(cache: cache.folderIdentity, downloads: downloads, variants: names, keyRule: options.keyRule)
    return tokens.withLock { tokens in
      if let token = tokens[key]?.token { return token }
      // Contexts are few, and made seldom: those that are gone are found whenever one is added.
      tokens = tokens.filter { $0.value.token != nil }
      let token = Token()
      tokens[key] = Weak(token: token)
      return token
    }
  }
}
