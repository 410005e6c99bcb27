public import ImagePrimitives

extension ImageCache {
  /// The same cache for asynchronous callers; its calls run on ``CacheQueries/shared``.
  public var asynchronous: AsyncImageCache { AsyncImageCache(self) }
}

/// A cache whose every call waits its turn on a thread of ``CacheQueries``, never on one of Swift's own.
///
/// ```
/// let data = try await cache.asynchronous.query(identity)
/// ```
///
/// Each call does what the one of ``ImageCache`` does that has its name, and throws its ``CacheError``; or `CancellationError`
/// where its task was cancelled before its turn came, and then nothing was read or written.
public struct AsyncImageCache: Sendable {
  /// The cache.
  public let cache: ImageCache
  private let queries: CacheQueries

  /// The cache, to be asked on those threads.
  public init(_ cache: ImageCache, on queries: CacheQueries = .shared) {
    self.cache = cache
    self.queries = queries
  }

  /// Does anything else with the cache, such as an export, or a batch of look-ups in one transaction.
  public func perform<Result: Sendable>(
    _ work: @escaping @Sendable (ImageCache) throws -> Result
  ) async throws -> Result {
    let cache = cache
    return try await queries.perform { try work(cache) }
  }

  /// The image of an identity, as ``ImageCache/data(forIdentity:)``.
  public func query(_ identity: [UInt8]) async throws -> CachedData? {
    try await perform { try $0.data(forIdentity: identity) }
  }

  /// As ``ImageCache/contains(identity:)``.
  public func contains(identity: [UInt8]) async throws -> Bool { try await perform { try $0.contains(identity: identity) } }

  /// As ``ImageCache/storeData(_:identity:url:proof:contentType:validators:freshness:lifetime:)``.
  public func storeData(
    _ bytes: [UInt8],
    identity: [UInt8],
    url: [UInt8],
    proof: NewProof? = nil,
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
        proof: proof,
        contentType: contentType,
        validators: validators,
        freshness: freshness,
        lifetime: lifetime
      )
    }
  }

  /// As ``ImageCache/remove(identity:)-([UInt8])``.
  @discardableResult
  public func remove(identity: [UInt8]) async throws -> Bool { try await perform { try $0.remove(identity: identity) } }

  /// As ``ImageCache/clear()``.
  @discardableResult
  public func clear() async throws -> CacheTotals { try await perform { try $0.clear() } }

  /// As ``ImageCache/totals()``.
  public func totals() async throws -> CacheTotals { try await perform { try $0.totals() } }

  /// As ``ImageCache/diskBytes()``.
  public func diskBytes() async throws -> Int { try await perform { try $0.diskBytes() } }

  /// As ``ImageCache/trim(protecting:)``.
  @discardableResult
  public func trim(protecting runStart: Timestamp? = nil) async throws -> TrimResult {
    try await perform { try $0.trim(protecting: runStart) }
  }

  /// As ``ImageCache/verify(repair:onDamage:)``.
  @discardableResult
  public func verify(repair: Bool = true) async throws -> VerifyResult { try await perform { try $0.verify(repair: repair) } }

  /// As ``ImageCache/export(to:layout:images:onEntry:removesOthers:)``.
  @discardableResult
  public func export(
    to directory: String,
    layout: ExportLayout,
    images: ExportedImages = .original
  ) async throws -> ExportResult {
    try await perform { try $0.export(to: directory, layout: layout, images: images) }
  }

  /// As ``ImageCache/importEntries(from:onEntry:)``.
  @discardableResult
  public func importEntries(from other: ImageCache) async throws -> ImportResult {
    try await perform { try $0.importEntries(from: other) }
  }

  /// As ``ImageCache/compact()``.
  public func compact() async throws { try await perform { try $0.compact() } }

  /// As ``ImageCache/removeFromBlacklist(identity:)``.
  @discardableResult
  public func removeFromBlacklist(identity: [UInt8]) async throws -> Bool {
    try await perform { cache in
      try identity.withRawBytes { (identity) throws(CacheError) in try cache.removeFromBlacklist(identity: identity) }
    }
  }

  /// As ``ImageCache/clearBlacklist()``.
  @discardableResult
  public func clearBlacklist() async throws -> Int { try await perform { try $0.clearBlacklist() } }
}
