public import Base
import Synchronization

/// Threads for asynchronous calls of caches, so that a slow disk never blocks Swift's own threads.
///
/// Calls start in order, as many at once as there are threads. A call that is cancelled before it starts ends at once and does
/// nothing.
package final class CacheQueries: Sendable {
  private let queue = WorkQueue<CacheJob>()
  private let threads: [WorkerThread]

  /// Four threads for all caches of the process without their own; they never end.
  package static let shared = CacheQueries(threads: 4)

  /// Starts `count` threads; traps if that is less than one. If the system provides fewer, those do all the work; if none, the
  /// caller's thread does it.
  package init(threads count: Int) {
    trap(unless: count > 0, "CacheQueries requires at least one thread, not \(count)")
    let queue = queue
    var threads: [WorkerThread] = []
    for number in 0..<count {
      do throws(ThreadError) {
        threads.append(
          try WorkerThread(name: "cache-query-\(number)") {
            while let job = queue.take() { job.run() }
          }
        )
      } catch {
        break
      }
    }
    self.threads = threads
  }

  /// Ends the threads after all calls; it doesn't wait, since the last reference may be released on one of them.
  deinit { queue.close() }

  /// Performs `work` on one of the threads and returns its result.
  ///
  /// Throws the errors of `work`, and `CancellationError` if the task was cancelled before `work` started; then it isn't called.
  package func perform<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    let job = CacheJob()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isWaiting = job.wait { isCancelled in
          if isCancelled {
            continuation.resume(throwing: CancellationError())
          } else {
            continuation.resume(with: Swift.Result { try work() })
          }
        }
        if isWaiting { threads.isEmpty ? job.run() : queue.add(job) }
      }
    } onCancel: {
      job.cancel()
    }
  }
}

/// A pending call, which is either performed or cancelled, exactly once.
private final class CacheJob: Sendable {
  private enum State {
    case new
    case waiting(@Sendable (_ isCancelled: Bool) -> Void)
    case ended
  }

  private let state = Mutex(State.new)

  /// Keeps the closure that ends the call until its turn; false if the call was cancelled already, and so has ended.
  func wait(_ end: @escaping @Sendable (_ isCancelled: Bool) -> Void) -> Bool {
    let isCancelled = state.withLock { state in
      if case .ended = state { return true }
      state = .waiting(end)
      return false
    }
    if isCancelled { end(true) }
    return !isCancelled
  }

  func run() { takeEnd()?(false) }

  func cancel() { takeEnd()?(true) }

  private func takeEnd() -> (@Sendable (_ isCancelled: Bool) -> Void)? {
    state.withLock { state in
      defer { state = .ended }
      if case .waiting(let end) = state { return end }
      return nil
    }
  }
}

/// A cached image and its bytes.
public struct CachedData: Sendable, Hashable {
  /// Its bytes as stored, which match the record's checksum.
  public let bytes: [UInt8]
  /// The head of its record.
  package let head: EntryHead
  /// Its format; nil if it wasn't recognised.
  public var format: ImageFormat? { head.image.format }
  /// Its XXH3 checksum of 128 bits.
  public var checksum: Checksum { head.checksum }
  /// Whether it has expired by the cache's rules, so that it should be revalidated.
  public let isExpired: Bool
}

/// Images by identity, for callers without a batch. Each method has an asynchronous form in ``AsyncImageCache``.
extension ImageCache {
  /// The image of an identity, fresh or expired; nil if there is none.
  ///
  /// The body is verified. A damaged one counts as a miss, and its record is removed if the cache is writable, so that it is
  /// fetched again. Whether the image depends on request headers (`Vary`) isn't checked. If the cache expires by access, the use is
  /// recorded, at most hourly per entry. Throws if the disk fails.
  public func data(forIdentity identity: [UInt8]) throws(CacheError) -> CachedData? {
    try identity.withRawBytes { (identity) throws(CacheError) in
      let key = CacheKey(identity: identity)
      let (found, needsTouch) = try read { (reader) throws(CacheError) in
        let found = try reader.lookUp(key, identity: identity)
        return (found, found.head.map(reader.needsTouch) ?? false)
      }
      guard let head = found.head, let body = try body(of: key, identity: identity, as: head) else { return nil }
      let isWritable = configuration.access == .readWrite
      guard case .bytes(let bytes) = body else {
        if isWritable { _ = try removeDamaged(key, head) }
        return nil
      }
      if needsTouch && isWritable { try write { (writer) throws(CacheError) in try writer.touch(key, identity: identity) } }
      return CachedData(bytes: bytes, head: head, isExpired: found == .expired(head))
    }
  }

  /// Whether an unexpired image of that identity is cached; its body isn't read.
  public func contains(identity: [UInt8]) throws(CacheError) -> Bool {
    try identity.withRawBytes { (identity) throws(CacheError) in
      try read { (reader) throws(CacheError) in
        if case .fresh = try reader.lookUp(CacheKey(identity: identity), identity: identity) { true } else { false }
      }
    }
  }

  /// Removes the entry of an identity; returns whether there was one.
  @discardableResult
  public func remove(identity: [UInt8]) throws(CacheError) -> Bool {
    try identity.withRawBytes { (identity) throws(CacheError) in try remove(identity: identity) }
  }

  /// Stores an image's bytes, replacing the entry of that identity; returns once it is synced to disk.
  ///
  /// `url` is the URL as first written, which exports use. Neither it nor the identity may contain credentials. The bytes count as
  /// unverified; the first ones determine the format. `lifetime` overrides the cache's rule. Throws `diskFull` if there is no space,
  /// and `storingStopped` after any other failed write or sync, also for all later writes.
  public func storeData(
    _ bytes: [UInt8],
    identity: [UInt8],
    url: [UInt8],
    contentType: String? = nil,
    validators: Validators = Validators(),
    freshness: Freshness = Freshness(),
    lifetime: Duration? = nil
  ) throws(CacheError) {
    try storeData(
      bytes,
      identity: identity,
      url: url,
      proof: nil,
      contentType: contentType,
      validators: validators,
      freshness: freshness,
      lifetime: lifetime
    )
  }

  /// The same; `proof` describes the bytes.
  package func storeData(
    _ bytes: [UInt8],
    identity: [UInt8],
    url: [UInt8],
    proof: NewProof?,
    contentType: String? = nil,
    validators: Validators = Validators(),
    freshness: Freshness = Freshness(),
    lifetime: Duration? = nil
  ) throws(CacheError) {
    let image =
      proof?.image ?? ImageProperties(format: bytes.withUnsafeBytes(ImageFormat.init(prefix:)), frames: 0)
    try identity.withRawBytes { (identity) throws(CacheError) in
      try url.withRawBytes { (url) throws(CacheError) in
        try bytes.withRawBytes { (bytes) throws(CacheError) in
          let entry = NewEntry(
            key: CacheKey(identity: identity),
            identity: identity,
            shownURL: url,
            image: image,
            proof: proof?.depth ?? .none,
            contentTypeMatch: image.format.map { ContentTypeMatch(declared: contentType, format: $0) }
              ?? (contentType == nil ? .absent : .mismatch),
            checksum: checksum(of: bytes),
            etag: Array((validators.etag ?? "").utf8),
            lastModified: Array((validators.lastModified ?? "").utf8),
            contentType: Array((contentType ?? "").utf8),
            lifetime: lifetime,
            freshness: freshness
          )
          try store(entry, bytes)
        }
      }
    }
  }

  private func store(_ entry: NewEntry, _ bytes: UnsafeRawBufferPointer) throws(CacheError) {
    // A large body is written before the transaction, which blocks all other writers.
    let body = bytes.count > Self.maximumInlineBytes ? NewBody.staged(try stage(bytes)) : .bytes(bytes)
    try write { (writer) throws(CacheError) in try writer.store(entry, body: body) }
  }

  private func stage(_ bytes: UnsafeRawBufferPointer) throws(CacheError) -> StagedBlob {
    let writer = try makeBlobWriter()
    try writer.append(bytes)
    return try writer.finish()
  }
}

extension LookUp {
  /// The head of a cached entry, fresh or expired.
  fileprivate var head: EntryHead? {
    switch self {
    case .fresh(let head), .expired(let head): head
    case .missing: nil
    }
  }
}
