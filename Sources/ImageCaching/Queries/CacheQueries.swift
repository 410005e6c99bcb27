public import ImagePrimitives
import Synchronization
import Threads

/// The threads on which caches do what is asked of them asynchronously, so that no disk ever holds up Swift's own threads.
///
/// What is asked is done in order, as many at once as there are threads. A call that is cancelled before its turn ends at once,
/// and nothing of it is done.
public final class CacheQueries: Sendable {
  private let queue = WorkQueue<CacheJob>()
  private let threads: [WorkerThread]

  /// Four threads for all caches of the process that have none of their own; they are never ended.
  public static let shared = CacheQueries(threads: 4)

  /// Starts so many threads; traps where that is less than one. Where the system gives fewer, those do all; where it gives none, whoever
  /// asks does it.
  public init(threads count: Int) {
    trap(unless: count > 0, "a cache needs a thread to be asked on; \(count) were given")
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

  /// Lets the threads end when they have done what was asked; nobody waits, as the last reference may go on one of them.
  deinit { queue.close() }

  /// Does `work` on one of the threads and returns what it returns.
  ///
  /// Throws what `work` throws, and `CancellationError` where the task was cancelled before its turn came: then `work` is not
  /// called.
  public func perform<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
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

/// One call on its way: it is done or cancelled, exactly one of both.
private final class CacheJob: Sendable {
  private enum State {
    case new
    case waiting(@Sendable (_ isCancelled: Bool) -> Void)
    case ended
  }

  private let state = Mutex(State.new)

  /// Keeps what ends the call until its turn comes; false where it was cancelled already, and so has ended.
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

/// A cached image with its bytes.
public struct CachedData: Sendable, Hashable {
  /// Its bytes as they came, which have the record's checksum.
  public let bytes: [UInt8]
  /// What the record says of it.
  public let head: EntryHead
  /// Whether it is too old by the rules of the cache: there, but to be asked for again.
  public let isExpired: Bool
}

/// Whole images by their identity, for callers that have no batch. Each has an asynchronous form in ``AsyncImageCache``.
extension ImageCache {
  /// The image of an identity, fresh or expired; nil where there is none.
  ///
  /// The body is checked. One that is damaged is a miss, and where the cache may be written its record is removed, so that it is
  /// fetched again. Where the image depends on headers of the request (``EntryHead/hasVary``), it is for the caller to compare
  /// them, by ``CacheReader/vary(of:identity:)``. Where the cache expires by access, the access is noted, at most hourly an
  /// entry. Throws where the disk fails.
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

  /// Whether an image of that identity is cached and not too old; its body is not read.
  public func contains(identity: [UInt8]) throws(CacheError) -> Bool {
    try identity.withRawBytes { (identity) throws(CacheError) in
      try read { (reader) throws(CacheError) in
        if case .fresh = try reader.lookUp(CacheKey(identity: identity), identity: identity) { true } else { false }
      }
    }
  }

  /// Removes what is cached under an identity; says whether something was.
  @discardableResult
  public func remove(identity: [UInt8]) throws(CacheError) -> Bool {
    try identity.withRawBytes { (identity) throws(CacheError) in try remove(identity: identity) }
  }

  /// Stores an image from its bytes, as they are, in place of what was cached under the identity; returns once that is on the
  /// disk.
  ///
  /// `url` is the URL as it was first written, which exports go by. Of both, credentials must be gone. `proof` says what is known
  /// of the bytes; without it they count as unproven, and the format is that of the first bytes. `lifetime` takes the place of
  /// the cache's rule. Throws as ``write(_:)``.
  public func storeData(
    _ bytes: [UInt8],
    identity: [UInt8],
    url: [UInt8],
    proof: NewProof? = nil,
    contentType: String? = nil,
    validators: Validators = Validators(),
    freshness: Freshness = Freshness(),
    lifetime: Duration? = nil
  ) throws(CacheError) {
    let format = proof.map(\.format) ?? bytes.withUnsafeBytes(ImageFormat.init(prefix:))
    try identity.withRawBytes { (identity) throws(CacheError) in
      try url.withRawBytes { (url) throws(CacheError) in
        try bytes.withRawBytes { (bytes) throws(CacheError) in
          let entry = NewEntry(
            key: CacheKey(identity: identity),
            identity: identity,
            shownURL: url,
            format: format,
            width: proof?.width ?? 0,
            height: proof?.height ?? 0,
            frames: proof?.frames ?? 0,
            proof: proof?.depth ?? .none,
            contentTypeMatch: format.map { ContentTypeMatch(declared: contentType, format: $0) }
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
    // A large body is written before the transaction, which keeps every other writer waiting.
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
  /// What is cached, fresh or not.
  fileprivate var head: EntryHead? {
    switch self {
    case .fresh(let head), .expired(let head): head
    case .missing: nil
    }
  }
}
