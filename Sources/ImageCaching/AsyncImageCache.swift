public import Base

extension ImageCache {
  /// The same cache for asynchronous callers; its calls run on threads of their own.
  public var asynchronous: AsyncImageCache { AsyncImageCache(self) }
}

/// A cache whose calls run on threads of their own and never block Swift's.
///
/// ```
/// let data = try await cache.asynchronous.query(identity)
/// ```
///
/// Each call does the same as the method of ``ImageCache`` with its name and throws its ``CacheError``; or it throws
/// `CancellationError` if its task was cancelled before it started, and then reads and writes nothing.
public struct AsyncImageCache: Sendable {
  public let cache: ImageCache
  private let queries: CacheQueries

  /// Creates an asynchronous form of `cache` that uses those threads.
  package init(_ cache: ImageCache, on queries: CacheQueries = .shared) {
    self.cache = cache
    self.queries = queries
  }

  /// Performs any other work with the cache, such as a batch of look-ups in one transaction.
  public func perform<Result: Sendable>(
    _ work: @escaping @Sendable (ImageCache) throws -> Result
  ) async throws -> Result {
    let cache = cache
    return try await queries.perform { try work(cache) }
  }

  /// The image of an identity; see ``ImageCache/data(forIdentity:)``.
  public func query(_ identity: [UInt8]) async throws -> CachedData? {
    try await perform { try $0.data(forIdentity: identity) }
  }

  /// See ``ImageCache/contains(identity:)``.
  public func contains(identity: [UInt8]) async throws -> Bool { try await perform { try $0.contains(identity: identity) } }

  /// See ``ImageCache/storeData(_:identity:url:contentType:validators:freshness:lifetime:)``.
  public func storeData(
    _ bytes: [UInt8],
    identity: [UInt8],
    url: [UInt8],
    contentType: String? = nil,
    validators: Validators = Validators(),
    freshness: Freshness = Freshness(),
    lifetime: Duration? = nil
  ) async throws {
    try await perform { cache in
      try cache.storeData(
        bytes,
        identity: identity,
        url: url,
        contentType: contentType,
        validators: validators,
        freshness: freshness,
        lifetime: lifetime
      )
    }
  }

  /// See ``ImageCache/remove(identity:)-([UInt8])``.
  @discardableResult
  public func remove(identity: [UInt8]) async throws -> Bool { try await perform { try $0.remove(identity: identity) } }

  /// See ``ImageCache/clear()``.
  @discardableResult
  public func clear() async throws -> CacheTotals { try await perform { try $0.clear() } }

  /// See ``ImageCache/totals()``.
  public func totals() async throws -> CacheTotals { try await perform { try $0.totals() } }

  /// See ``ImageCache/diskBytes()``.
  public func diskBytes() async throws -> Int { try await perform { try $0.diskBytes() } }

  /// See ``ImageCache/trim(protecting:)``.
  @discardableResult
  public func trim(protecting runStart: Timestamp? = nil) async throws -> TrimResult {
    try await perform { try $0.trim(protecting: runStart) }
  }

  /// See ``ImageCache/verify(repair:)``.
  @discardableResult
  public func verify(repair: Bool = true) async throws -> VerifyResult { try await perform { try $0.verify(repair: repair) } }

  /// See ``ImageCache/export(to:layout:)``.
  @discardableResult
  public func export(
    to directory: String,
    layout: ExportLayout
  ) async throws -> ExportResult {
    try await perform { try $0.export(to: directory, layout: layout) }
  }

  /// See ``ImageCache/importEntries(from:)``.
  @discardableResult
  public func importEntries(from other: ImageCache) async throws -> ImportResult {
    try await perform { try $0.importEntries(from: other) }
  }

  /// See ``ImageCache/compact()``.
  public func compact() async throws { try await perform { try $0.compact() } }

  /// Removes an identity from the blacklist; returns whether it was there.
  @discardableResult
  public func removeFromBlacklist(identity: [UInt8]) async throws -> Bool {
    try await perform { cache in
      try identity.withRawBytes { (identity) throws(CacheError) in try cache.removeFromBlacklist(identity: identity) }
    }
  }

  /// See ``ImageCache/clearBlacklist()``.
  @discardableResult
  public func clearBlacklist() async throws -> Int { try await perform { try $0.clearBlacklist() } }
}
