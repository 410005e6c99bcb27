public import Base
import Synchronization

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
/// Each call does the same as the method of ``ImageCache`` with its name, and throws the same errors; or it throws
/// ``CacheError/cancelled`` if its task was cancelled before it started, and then reads and writes nothing.
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
    _ work: @escaping @Sendable (ImageCache) throws(CacheError) -> Result
  ) async throws(CacheError) -> Result {
    let cache = cache
    return try await queries.perform(cancelled: CacheError.cancelled) { () throws(CacheError) in try work(cache) }
  }

  /// The image of an identity; see ``ImageCache/data(forIdentity:)``.
  public func query(_ identity: [UInt8]) async throws(CacheError) -> CachedData? {
    try await perform { cache throws(CacheError) in try cache.data(forIdentity: identity) }
  }

  public func contains(identity: [UInt8]) async throws(CacheError) -> Bool {
    try await perform { cache throws(CacheError) in try cache.contains(identity: identity) }
  }

  public func storeData(
    _ bytes: [UInt8],
    identity: [UInt8],
    url: [UInt8],
    contentType: String? = nil,
    validators: Validators = Validators(),
    freshness: Freshness = Freshness(),
    lifetime: Duration? = nil
  ) async throws(CacheError) {
    try await perform { cache throws(CacheError) in
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

  public func totals() async throws(CacheError) -> CacheTotals {
    try await perform { cache throws(CacheError) in try cache.totals() }
  }
  public func diskBytes() async throws(CacheError) -> Int {
    try await perform { cache throws(CacheError) in try cache.diskBytes() }
  }
  public func compact() async throws(CacheError) { try await perform { cache throws(CacheError) in try cache.compact() } }

  @discardableResult
  public func remove(identity: [UInt8]) async throws(CacheError) -> Bool {
    try await perform { cache throws(CacheError) in try cache.remove(identity: identity) }
  }

  @discardableResult
  public func clear() async throws(CacheError) -> CacheTotals {
    try await perform { cache throws(CacheError) in try cache.clear() }
  }

  @discardableResult
  public func trim(protecting runStart: Timestamp? = nil) async throws(CacheError) -> TrimResult {
    try await perform { cache throws(CacheError) in try cache.trim(protecting: runStart) }
  }

  @discardableResult
  public func verify(repair: Bool = true) async throws(CacheError) -> VerifyResult {
    try await perform { cache throws(CacheError) in try cache.verify(repair: repair) }
  }

  @discardableResult
  public func export(to directory: String, layout: ExportLayout) async throws(CacheError) -> ExportResult {
    try await perform { cache throws(CacheError) in try cache.export(to: directory, layout: layout) }
  }

  @discardableResult
  public func importEntries(from other: ImageCache) async throws(CacheError) -> ImportResult {
    try await perform { cache throws(CacheError) in try cache.importEntries(from: other) }
  }

  /// Removes an identity from the blacklist; returns whether it was there.
  @discardableResult
  public func removeFromBlacklist(identity: [UInt8]) async throws(CacheError) -> Bool {
    try await perform { cache throws(CacheError) in try cache.removeFromBlacklist(identity: identity) }
  }

  @discardableResult
  public func clearBlacklist() async throws(CacheError) -> Int {
    try await perform { cache throws(CacheError) in try cache.clearBlacklist() }
  }
}

/// Threads for asynchronous calls of caches, so that a slow disk never blocks Swift's own threads. Calls start in order, as many
/// at once as there are threads. A call that is cancelled before it starts ends at once and does nothing.
package final class CacheQueries: Sendable {
  private let queue = WorkQueue<@Sendable () -> Void>()
  private let threads: [WorkerThread]

  /// Four threads for all caches of the process without their own; they never end.
  package static let shared = CacheQueries(threads: 4)

  /// Starts `count` threads; traps if that is less than one. If the system provides fewer, those do all the work; if none, the
  /// caller's thread does it.
  package init(threads count: Int) {
    trap(unless: count > 0, "CacheQueries requires at least one thread, not \(count)")
    threads = (0..<count).compactMap { [queue] number in
      try? WorkerThread(name: "cache-query-\(number)") { while let call = queue.take() { call() } }
    }
  }

  /// Ends the threads after all calls; it doesn't wait, since the last reference may be released on one of them.
  deinit { queue.close() }

  /// Performs `work` on one of the threads and returns its result. Throws the errors of `work`, and `cancelled` if the task was cancelled
  /// before `work` started; then it isn't called.
  package func perform<Result: Sendable, Failure: Error>(
    cancelled: Failure,
    _ work: @escaping @Sendable () throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    if Task.isCancelled { throw cancelled }
    let outcome = OneShot<Swift.Result<Result, Failure>>()
    // Set by the thread that performs the call, or by its cancellation, whichever is first.
    let isTaken = Atomic(false)
    let call = { @Sendable in
      if !isTaken.exchange(true, ordering: .relaxed) { outcome.set(Swift.Result { () throws(Failure) in try work() }) }
    }
    threads.isEmpty ? call() : queue.add(call)
    return try await outcome.value {
      if !isTaken.exchange(true, ordering: .relaxed) { outcome.set(.failure(cancelled)) }
    }.get()
  }
}
