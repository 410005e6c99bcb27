public import Base
import Synchronization

extension ImageCache {
  /// The calls for asynchronous code; they run on threads of their own.
  public var asynchronous: AsyncImageCache { AsyncImageCache(self) }

  /// The calls that block the calling thread while the disk is read or written; not for asynchronous code.
  public var blocking: Blocking { Blocking(cache: self) }

  /// What ``AsyncImageCache`` does, on the calling thread.
  public struct Blocking: Sendable {
    public let cache: ImageCache

    /// The image of an identity, fresh or expired; nil if there is none. Whether it depends on request headers (`Vary`) isn't
    /// checked. If the cache expires by access, the use is recorded, at most hourly per entry.
    ///
    /// The body is verified. A damaged one counts as a miss, and its record is removed if the cache is writable, so that it is
    /// fetched again.
    public func data(forIdentity identity: [UInt8]) throws(CacheError) -> CachedData? { try cache.data(forIdentity: identity) }

    /// Whether an unexpired image of that identity is cached; its body isn't read.
    public func contains(identity: [UInt8]) throws(CacheError) -> Bool { try cache.contains(identity: identity) }

    /// Stores an image's bytes, replacing the entry of that identity; returns once it is synced to disk. The bytes count as
    /// unverified; the first ones determine the format.
    ///
    /// `url` is the URL as first written, which exports use. Neither it nor the identity may contain credentials. `lifetime`
    /// overrides the cache's rule. Throws `diskFull` if there is no space, and `storingStopped` after any other failed write, also
    /// for all later ones.
    public func storeData(
      _ bytes: [UInt8],
      identity: [UInt8],
      url: String,
      contentType: String? = nil,
      validators: Validators = Validators(),
      freshness: Freshness = Freshness(),
      lifetime: Duration? = nil
    ) throws(CacheError) {
      try cache.storeData(
        bytes,
        identity: identity,
        url: Array(url.utf8),
        contentType: contentType,
        validators: validators,
        freshness: freshness,
        lifetime: lifetime
      )
    }

    /// Removes the entry of an identity; returns whether there was one.
    @discardableResult
    public func remove(identity: [UInt8]) throws(CacheError) -> Bool { try cache.remove(identity: identity) }

    /// The next entries, at most `limit`: those after `record`, or the first ones.
    public func entries(after record: EntryRecord? = nil, limit: Int) throws(CacheError) -> [EntryRecord] {
      try cache.entries(after: record, limit: limit)
    }

    public func totals() throws(CacheError) -> CacheTotals { try cache.totals() }

    /// The bytes that the folder takes on the disk, index included.
    public func diskBytes() throws(CacheError) -> Int { try cache.diskBytes() }

    /// When the first image expires; nil: none does.
    public func freshUntil() throws(CacheError) -> Timestamp? { try cache.freshUntil() }

    /// Removes expired images, then the oldest beyond the size limit, in many short transactions. With `runStart`, images stored from then
    /// on go last.
    @discardableResult
    public func trim(protecting runStart: Timestamp? = nil) throws(CacheError) -> TrimResult {
      try cache.trim(protecting: runStart)
    }

    /// Removes all images; the blacklist is kept. Throws `inUse` if another process has the cache open.
    @discardableResult
    public func clear() throws(CacheError) -> CacheTotals { try cache.clear() }

    /// Compacts the index to the pages in use. Throws `inUse` if another process has the cache open.
    public func compact() throws(CacheError) { try cache.compact() }

    /// Reads every body, concurrently with other users of the cache, and compares it with its record. With `repair`, the default,
    /// it removes damaged images, so that they are fetched again, and large bodies without a record.
    @discardableResult
    public func verify(repair: Bool = true) throws(CacheError) -> VerifyResult { try cache.verify(repair: repair) }

    /// Writes all images as files into a folder, for a server or an app.
    @discardableResult
    public func export(to directory: String, layout: ExportLayout) throws(CacheError) -> ExportResult {
      try cache.export(to: directory, layout: layout)
    }

    /// Imports the images of another cache that are newer, with their times and validators.
    @discardableResult
    public func importEntries(from other: ImageCache) throws(CacheError) -> ImportResult { try cache.importEntries(from: other) }

    /// The next blacklist entries, including expired ones, at most `limit`: those after `record`, or the first ones.
    public func blacklist(after record: BlacklistRecord? = nil, limit: Int) throws(CacheError) -> [BlacklistRecord] {
      try cache.blacklist(after: record, limit: limit)
    }

    /// Removes an identity from the blacklist; returns whether it was there.
    @discardableResult
    public func removeFromBlacklist(identity: [UInt8]) throws(CacheError) -> Bool {
      try cache.removeFromBlacklist(identity: identity)
    }

    /// Removes everything from the blacklist; returns the number of entries.
    @discardableResult
    public func clearBlacklist() throws(CacheError) -> Int { try cache.clearBlacklist() }
  }
}

/// A cache whose calls run on threads of their own and never block Swift's.
///
/// ```
/// let data = try await cache.asynchronous.data(forIdentity: identity)
/// ```
///
/// Each call does the same as the one of ``ImageCache/Blocking`` with its name, and throws the same errors; or it throws
/// ``CacheError/cancelled`` if its task was cancelled before it started, and then reads and writes nothing.
public struct AsyncImageCache: Sendable {
  public let cache: ImageCache
  private let queries: CacheQueries

  /// Creates an asynchronous form of `cache` that uses those threads.
  package init(_ cache: ImageCache, on queries: CacheQueries = .shared) {
    self.cache = cache
    self.queries = queries
  }

  /// Performs any other work with the cache, such as several calls in a row.
  public func perform<Result: Sendable>(
    _ work: @escaping @Sendable (ImageCache.Blocking) throws(CacheError) -> Result
  ) async throws(CacheError) -> Result {
    try await queries.perform(cancelled: CacheError.cancelled) { [cache] () throws(CacheError) in try work(cache.blocking) }
  }

  public func data(forIdentity identity: [UInt8]) async throws(CacheError) -> CachedData? {
    try await perform { cache throws(CacheError) in try cache.data(forIdentity: identity) }
  }

  public func contains(identity: [UInt8]) async throws(CacheError) -> Bool {
    try await perform { cache throws(CacheError) in try cache.contains(identity: identity) }
  }

  @discardableResult
  public func remove(identity: [UInt8]) async throws(CacheError) -> Bool {
    try await perform { cache throws(CacheError) in try cache.remove(identity: identity) }
  }

  public func entries(after record: EntryRecord? = nil, limit: Int) async throws(CacheError) -> [EntryRecord] {
    try await perform { cache throws(CacheError) in try cache.entries(after: record, limit: limit) }
  }

  public func totals() async throws(CacheError) -> CacheTotals {
    try await perform { cache throws(CacheError) in try cache.totals() }
  }

  public func diskBytes() async throws(CacheError) -> Int {
    try await perform { cache throws(CacheError) in try cache.diskBytes() }
  }

  public func freshUntil() async throws(CacheError) -> Timestamp? {
    try await perform { cache throws(CacheError) in try cache.freshUntil() }
  }

  @discardableResult
  public func trim(protecting runStart: Timestamp? = nil) async throws(CacheError) -> TrimResult {
    try await perform { cache throws(CacheError) in try cache.trim(protecting: runStart) }
  }

  @discardableResult
  public func clear() async throws(CacheError) -> CacheTotals {
    try await perform { cache throws(CacheError) in try cache.clear() }
  }

  public func compact() async throws(CacheError) {
    try await perform { cache throws(CacheError) in try cache.compact() }
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

  public func blacklist(after record: BlacklistRecord? = nil, limit: Int) async throws(CacheError) -> [BlacklistRecord] {
    try await perform { cache throws(CacheError) in try cache.blacklist(after: record, limit: limit) }
  }

  @discardableResult
  public func removeFromBlacklist(identity: [UInt8]) async throws(CacheError) -> Bool {
    try await perform { cache throws(CacheError) in try cache.removeFromBlacklist(identity: identity) }
  }

  @discardableResult
  public func clearBlacklist() async throws(CacheError) -> Int {
    try await perform { cache throws(CacheError) in try cache.clearBlacklist() }
  }

  public func storeData(
    _ bytes: [UInt8],
    identity: [UInt8],
    url: String,
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
