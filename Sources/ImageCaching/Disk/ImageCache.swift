import Glibc
public import ImagePrimitives

/// The disk cache: one namespace, which is a folder with an LMDB index and large bodies beside it.
///
/// Images and the blacklist are found by identity. Reads and writes are transactions: many at once of the first, one at a time of
/// the second, over all threads and processes. Several caches over one folder share what they have open and keep rules of their own.
///
/// ```
/// read  ─▶ CacheReader ─▶ Transaction ─▶ LMDB      look-ups: heads only
/// body  ─▶ CacheReader, BlobFolder                 the bytes, checked
/// write ─▶ CacheWriter ─▶ WriteTransaction ─▶ LMDB one synced commit for all that one call does
/// trim  ─▶ Trimmer ─▶ WriteTransaction             many short ones
/// export, import, verify ─▶ forEachEntry           page by page, beside whoever writes
/// ```
///
/// Calls must not be nested, and what runs in them must wait for nothing: a read keeps old pages from being used again, and a
/// write keeps every other writer waiting.
public final class ImageCache: Sendable {
  /// Bodies up to this size are in the index, larger ones are files of their own.
  public static let maximumInlineBytes = 256 << 10
  /// How often the time of the last access is renewed.
  public static let touchInterval = Duration.seconds(3600)

  /// What may be done with a cache.
  public enum Access: Sendable, Hashable {
    /// Only look-ups and lists. Nothing is made where there is nothing.
    case readOnly
    /// Everything. The folder is made where it is not there.
    case readWrite
  }

  /// Where a cache is, and its rules.
  public struct Configuration: Sendable {
    /// The folder of all namespaces.
    public var directory: String
    /// The folder in it; namespaces know nothing of each other.
    public var namespace: String
    /// What may be done; everything by default.
    public var access: Access
    /// How old an image may become, 7 days by default; nil: never too old; zero: at once.
    public var maxAge: Duration?
    /// Bytes of bodies above which ``ImageCache/trim(protecting:)`` removes images; nil, the default: no limit.
    public var maxSize: Int?
    /// The part of ``maxSize`` that a trim leaves, one half by default.
    public var trimTo: Double
    /// From when on the age counts, and what is oldest; from when it was stored by default.
    public var expireBy: ExpiryBasis
    /// Whose word on freshness counts: the cache's ``maxAge``, the default, or the server's.
    public var freshness: FreshnessRule
    /// What would expire within this time counts as expired already; zero by default.
    public var minFresh: Duration
    /// How long a failure stays on the blacklist, 6 hours by default; nil: for ever.
    public var blacklistTTL: Duration?
    /// The clock.
    public var time: TimeSource

    /// A cache in `directory`, with the defaults for all that is not given.
    public init(
      directory: String,
      namespace: String = "default",
      access: Access = .readWrite,
      maxAge: Duration? = .seconds(7 * 86_400),
      maxSize: Int? = nil,
      trimTo: Double = 0.5,
      expireBy: ExpiryBasis = .modification,
      freshness: FreshnessRule = .age,
      minFresh: Duration = .zero,
      blacklistTTL: Duration? = .seconds(6 * 3600),
      time: TimeSource = .system
    ) {
      self.directory = directory
      self.namespace = namespace
      self.access = access
      self.maxAge = maxAge
      self.maxSize = maxSize
      self.trimTo = trimTo
      self.expireBy = expireBy
      self.freshness = freshness
      self.minFresh = minFresh
      self.blacklistTTL = blacklistTTL
      self.time = time
    }
  }

  /// Where it is, and its rules.
  public let configuration: Configuration
  /// Hashes credentials under the folder's key; under one of its own where the folder has none that may be read.
  public let credentialHasher: CredentialHasher
  let environment: Environment
  let expiry: ExpiryRule
  let touched = WaitingTouches()

  /// Opens the cache.
  ///
  /// Throws where the folder cannot be made, opened or, with `.readWrite`, written; with `.readOnly` `missing` where nothing is
  /// there; and where the cache is of another version, damaged, in use alone by another process, or on a network file system.
  public init(_ configuration: Configuration) throws(CacheError) {
    let folder = try CacheFolder(
      directory: configuration.directory,
      namespace: configuration.namespace,
      access: configuration.access
    )
    let environment = try EnvironmentRegistry.open(folder, access: configuration.access)
    do throws(CacheError) {
      let key = try FolderMarks.key(of: folder, access: configuration.access)
      credentialHasher = key.map(CredentialHasher.init) ?? .random()
      if configuration.access == .readWrite && configuration.expireBy == .access { try Self.keepAccessOrder(environment) }
    } catch {
      EnvironmentRegistry.close(environment)
      throw error
    }
    self.configuration = configuration
    self.environment = environment
    expiry = ExpiryRule(
      maxAge: configuration.maxAge,
      basis: configuration.expireBy,
      freshness: configuration.freshness,
      minFresh: configuration.minFresh
    )
  }

  deinit { EnvironmentRegistry.close(environment) }

  /// The folder of the namespace.
  public var path: String { environment.folder.path }

  /// Which folder that is, whichever of its paths the cache was opened by.
  public var folderIdentity: FolderIdentity { environment.folder.id }

  private static func keepAccessOrder(_ environment: Environment) throws(CacheError) {
    let isKept = try environment.read { (transaction, tables, _) throws(CacheError) in
      try WriteTransaction.totals(in: transaction, tables).keepsAccessOrder
    }
    if !isKept { try environment.write { (transaction) throws(CacheError) in try transaction.keepAccessOrder() } }
  }

  // MARK: Freshness

  /// When an entry of that head expires by the rules of this cache, `minFresh` not counted; nil: never.
  ///
  /// What the server wants to be asked about before each use (`no-cache`, RFC 9111, section 5.2.2.4) expired when it was stored.
  public func expiry(of head: EntryHead) -> Timestamp? { expiry.expiry(of: head) }

  /// Whether an entry that has expired may still be used at `now` while it is asked for again: the server said so
  /// (`stale-while-revalidate`, RFC 5861, section 3), its time has not passed, and the freshness rule is ``FreshnessRule/http``.
  public func isUsableWhileRevalidating(_ head: EntryHead, at now: Timestamp) -> Bool {
    expiry.isUsableWhileRevalidating(head, at: now)
  }

  // MARK: Transactions

  /// Calls `body` with a reader over one state of the cache; meant for up to 1,024 look-ups.
  ///
  /// A folder that was deleted meanwhile reads as empty.
  public func read<R>(_ body: (CacheReader) throws(CacheError) -> R) throws(CacheError) -> R { try read(runStart: nil, body) }

  /// The same for a run, which counts ages to its own start.
  package func read<R>(
    runStart: Timestamp?,
    _ body: (CacheReader) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    let now = configuration.time.wall()
    return try environment.read { (transaction, tables, isDeleted) throws(CacheError) -> R in
      try body(CacheReader(transaction, tables, expiry: expiry, now: now, runStart: runStart, isDeleted: isDeleted))
    }
  }

  /// Calls `body` with a writer and commits what it did, synced: all of it, or nothing where this throws.
  ///
  /// Throws `diskFull` where there is no room, after which the cache is as before and may be written again; `storingStopped` once
  /// a write or sync has failed otherwise, and from then on always; `deleted` where the folder is gone; and what `body` throws.
  public func write<R>(_ body: (CacheWriter) throws(CacheError) -> R) throws(CacheError) -> R {
    try checkWritable()
    return try environment.write { (transaction) throws(CacheError) -> R in
      try body(CacheWriter(transaction, blacklistTTL: configuration.blacklistTTL, expiry: expiry, now: configuration.time.wall()))
    }
  }

  /// Begins a body that will be a file of its own, while it arrives.
  public func makeBlobWriter() throws(CacheError) -> BlobWriter {
    try checkWritable()
    return try BlobWriter(environment.folder)
  }

  func checkWritable() throws(CacheError) {
    if configuration.access == .readOnly { throw .readOnly(path: path) }
  }
}

extension ImageCache {
  /// Reads the body of a record that a look-up found, and checks it against the record.
  ///
  /// nil: the record is gone, or another one by now. Throws where the disk fails.
  public func body(
    of key: CacheKey,
    identity: UnsafeRawBufferPointer,
    as head: EntryHead
  ) throws(CacheError) -> CachedBody? {
    guard head.isBlob else {
      let found = try read { (reader) throws(CacheError) -> (isSame: Bool, bytes: [UInt8]?) in
        guard try reader.has(head, key, identity) else { return (false, nil) }
        return (true, try reader.inlineBody(head))
      }
      return found.isSame ? Self.check(found.bytes, head) : nil
    }
    let name = BlobFolder.fileName(key, revision: head.revision, folder: head.blobFolder)
    let size = Int(clamping: head.bodySize)
    let body = Self.check(try BlobFolder(environment.folder).read(name, size: min(size, .max - 1)), head)
    if case .bytes = body { return body }
    // A file that is gone is no damage if its record is gone too.
    let isSame = try read { (reader) throws(CacheError) in try reader.has(head, key, identity) }
    return isSame ? body : nil
  }

  private static func check(_ bytes: [UInt8]?, _ head: EntryHead) -> CachedBody {
    guard let bytes else { return .damaged(.missing) }
    guard UInt64(bytes.count) == head.bodySize else { return .damaged(.wrongSize) }
    guard bytes.withUnsafeBytes(checksum(of:)) == head.checksum else { return .damaged(.wrongChecksum) }
    return .bytes(bytes)
  }
}

extension CacheReader {
  /// Whether the record of a key is still the one that was read.
  fileprivate func has(_ head: EntryHead, _ key: CacheKey, _ identity: UnsafeRawBufferPointer) throws(CacheError) -> Bool {
    guard let entry = try entry(key), entry.identity.hasSameBytes(as: identity) else { return false }
    return entry.head.revision == head.revision
  }
}

extension EntryHead {
  /// What the record of an image would say that is kept in memory only: stored then, with every pixel decoded.
  public init(
    storedAt: Timestamp,
    freshness: Freshness,
    format: ImageFormat?,
    width: UInt32,
    height: UInt32,
    frames: UInt32,
    bodySize: UInt64,
    checksum: Checksum,
    hasWarnings: Bool = false,
    contentTypeMatch: ContentTypeMatch
  ) {
    self.init(
      storedAt: storedAt,
      accessedAt: storedAt,
      format: format,
      width: width,
      height: height,
      frames: frames,
      bodySize: bodySize,
      checksum: checksum,
      proof: .full,
      hasWarnings: hasWarnings,
      contentTypeMatch: contentTypeMatch,
      status: 200,
      isBlob: false,
      hasVary: false,
      storedFreshness: StoredFreshness(freshness),
      lifetimeMilliseconds: nil,
      revision: 0,
      blobFolder: 0
    )
  }
}

extension ImageCache {
  /// Whether an entry of that head is too old at `now` by the rules of this cache, `minFresh` counted.
  public func isExpired(_ head: EntryHead, at now: Timestamp) -> Bool { expiry.isExpired(head, at: now) }

  /// The same for a run, which counts ages to its own start.
  package func isExpired(_ head: EntryHead, at now: Timestamp, runStart: Timestamp?) -> Bool {
    expiry.isExpired(head, at: now, runStart: runStart)
  }
}

extension ImageCache {
  /// The folder of a cache for which none is named: `$PREWARM_CACHE_DIR`, else `$XDG_CACHE_HOME/prewarm`, else `~/.cache/prewarm`, as an
  /// absolute path.
  ///
  /// An empty variable counts as unset, as does an `XDG_CACHE_HOME` that is not absolute (XDG Base Directory
  /// Specification). A relative `PREWARM_CACHE_DIR` starts at the current folder. nil where this user has no home folder.
  public static func defaultDirectory(environment: [String: String]) -> String? {
    if let own = environment["PREWARM_CACHE_DIR"], !own.isEmpty { return own.hasPrefix("/") ? own : "\(currentFolder())/\(own)" }
    if let shared = environment["XDG_CACHE_HOME"], shared.hasPrefix("/") { return "\(shared)/prewarm" }
    if let home = environment["HOME"], home.hasPrefix("/") { return "\(home)/.cache/prewarm" }
    return homeOfUser().map { "\($0)/.cache/prewarm" }
  }

  /// The cache in the default directory, for the whole process; made when it is first used.
  ///
  /// Where it cannot be opened, this traps with the reason: a program that wants to go on then opens one of its own.
  public static let shared: ImageCache = {
    var environment: [String: String] = [:]
    for name in ["PREWARM_CACHE_DIR", "XDG_CACHE_HOME", "HOME"] {
      if let value = getenv(name) { environment[name] = String(cString: value) }
    }
    guard let directory = defaultDirectory(environment: environment) else {
      fatalError("no shared image cache: this user has no home folder; set PREWARM_CACHE_DIR")
    }
    do throws(CacheError) {
      return try ImageCache(Configuration(directory: directory))
    } catch {
      fatalError("no shared image cache: \(error)")
    }
  }()
}

/// The home folder that the system's user database gives this user.
private func homeOfUser() -> String? {
  var record = passwd()
  var found: UnsafeMutablePointer<passwd>?
  return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16_384) { buffer in
    guard let start = buffer.baseAddress, getpwuid_r(getuid(), &record, start, buffer.count, &found) == 0, found != nil else {
      return nil
    }
    let home = String(cString: record.pw_dir)
    return home.hasPrefix("/") ? home : nil
  }
}

/// The absolute path of the current folder; `/` where it has been deleted.
private func currentFolder() -> String {
  guard let path = getcwd(nil, 0) else { return "/" }
  defer { free(path) }
  return String(cString: path)
}
