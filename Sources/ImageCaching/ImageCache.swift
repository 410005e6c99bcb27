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
  public func read<R>(_ body: (CacheReader) throws(CacheError) -> R) throws(CacheError) -> R {
    let now = configuration.time.wall()
    return try environment.read { (transaction, tables, isDeleted) throws(CacheError) -> R in
      try body(CacheReader(transaction, tables, expiry: expiry, now: now, isDeleted: isDeleted))
    }
  }

  /// Calls `body` with a writer and commits what it did, synced: all of it, or nothing where this throws.
  ///
  /// Throws `diskFull` where there is no room, after which the cache is as before and may be written again; `storingStopped` once
  /// a write or sync has failed otherwise, and from then on always; `deleted` where the folder is gone; and what `body` throws.
  public func write<R>(_ body: (CacheWriter) throws(CacheError) -> R) throws(CacheError) -> R {
    try checkWritable()
    return try environment.write { (transaction) throws(CacheError) -> R in
      try body(CacheWriter(transaction, blacklistTTL: configuration.blacklistTTL, now: configuration.time.wall()))
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
