import Platform
public import Base
import Synchronization

/// The disk cache: one namespace, which is a folder with an LMDB index and files for large bodies.
///
/// Images and the blacklist are found by identity. Reads and writes are transactions, over all threads and processes: many reads at
/// once, one write at a time. Several caches on one folder share its open files but have their own rules.
///
/// ```
/// read  ─▶ CacheReader ─▶ Transaction ─▶ LMDB      look-ups: heads only
/// body  ─▶ CacheReader, BlobFolder                 the bytes, verified
/// write ─▶ CacheWriter ─▶ WriteTransaction ─▶ LMDB one synced commit per call
/// trim  ─▶ Trimmer ─▶ WriteTransaction             many short ones
/// export, import, verify ─▶ forEachEntry           page by page, concurrent with writers
/// ```
///
/// Calls must not be nested, and their closures must not wait for anything: a read prevents the reuse of old pages, and a write
/// blocks all other writers.
public final class ImageCache: Sendable {
  /// Bodies up to this size are in the index; larger ones are separate files.
  public static let maximumInlineBytes = 256 << 10
  /// How often the time of last use is updated.
  public static let touchInterval = Duration.seconds(3600)

  public enum Access: Sendable, Hashable {
    /// Look-ups and lists only. Nothing is created.
    case readOnly
    /// Everything. The folder is created if it doesn't exist.
    case readWrite
  }

  public struct Configuration: Sendable {
    /// The folder that contains all namespaces.
    public var directory: String
    /// The subfolder; namespaces are independent of each other.
    public var namespace: String
    /// The allowed operations; everything by default.
    public var access: Access
    /// The maximum age of images, 7 days by default; nil: unlimited; zero: images expire immediately.
    public var maxAge: Duration?
    /// The size of bodies in bytes above which ``ImageCache/Blocking/trim(protecting:)`` removes images; nil, the default: no limit. The disk needs
    /// more, by the index and partly used blocks: from 1 % for images of 1 MB to twice as much for 2 to 4 KiB, measured.
    /// ``ImageCache/Blocking/diskBytes()`` counts that.
    public var maxBodyBytes: Int?
    /// The fraction of ``maxBodyBytes`` that a trim keeps, one half by default.
    public var trimTo: Double
    /// Whether age counts from storing, the default, or from last use; a trim removes the oldest first.
    public var expireBy: ExpiryBasis
    /// Whether the cache's ``maxAge``, the default, or the server's headers decide on freshness.
    public var freshness: FreshnessRule
    /// Images that expire within this time count as expired already; zero by default.
    public var minFresh: Duration
    /// How long after it expired an image is served if its server is down: it doesn't respond, or with 500, 502, 503 or 504. Nil, the
    /// default: only as long as the server itself allows with ``freshness`` ``FreshnessRule/http`` (`stale-if-error`, RFC 5861,
    /// section 4). The longer time counts. Images with `no-cache` or `must-revalidate` are never served once they have expired.
    public var staleIfError: Duration?
    /// How long a failure stays on the blacklist, 6 hours by default; nil: permanently.
    public var blacklistTTL: Duration?
    public var time: TimeSource

    public init(
      directory: String,
      namespace: String = "default",
      access: Access = .readWrite,
      maxAge: Duration? = .seconds(7 * 86_400),
      maxBodyBytes: Int? = nil,
      trimTo: Double = 0.5,
      expireBy: ExpiryBasis = .modification,
      freshness: FreshnessRule = .age,
      minFresh: Duration = .zero,
      staleIfError: Duration? = nil,
      blacklistTTL: Duration? = .seconds(6 * 3600),
      time: TimeSource = .system
    ) {
      self.directory = directory
      self.namespace = namespace
      self.access = access
      self.maxAge = maxAge
      self.maxBodyBytes = maxBodyBytes
      self.trimTo = trimTo
      self.expireBy = expireBy
      self.freshness = freshness
      self.minFresh = minFresh
      self.staleIfError = staleIfError
      self.blacklistTTL = blacklistTTL
      self.time = time
    }
  }

  public let configuration: Configuration
  /// Hashes credentials with the folder's key, or with a random key if the folder has none that this user may read.
  package let credentialHasher: CredentialHasher
  /// When entries expire by this cache's rules.
  package let expiry: ExpiryRule
  /// Replaced when a deleted folder or index is recreated.
  private let current: Mutex<IndexEnvironment>
  var environment: IndexEnvironment { current.withLock { $0 } }
  private let recreates: Bool
  private let recreated = Mutex(false)
  /// Access times that wait to be written in bulk. Keys are hashes, so a few records are each on a different page, and changing one
  /// means copying and writing its page. Among very many, sorted by key, several share a page.
  let touched = Mutex<[EntryTouch]>([])

  /// Opens the cache.
  ///
  /// Throws if the folder can't be opened or, with `.readWrite`, created and written; `missing` if it doesn't exist with
  /// `.readOnly`; or if the cache has another version, is damaged, is used exclusively by another process, or is on a network
  /// file system.
  public convenience init(_ configuration: Configuration) throws(CacheError) { try self.init(configuration, recreates: true) }

  /// Opens the cache; unless it `recreates` a folder that is deleted while it is in use, writes throw `deleted` then.
  package init(_ configuration: Configuration, recreates: Bool) throws(CacheError) {
    self.recreates = recreates
    let folder = try CacheFolder(
      directory: configuration.directory,
      namespace: configuration.namespace,
      access: configuration.access
    )
    let environment = try EnvironmentRegistry.open(folder, access: configuration.access)
    do throws(CacheError) {
      let key = try FolderMarks.key(of: folder, access: configuration.access)
      credentialHasher = key.map(CredentialHasher.init) ?? .random()
      if configuration.access == .readWrite, configuration.expireBy == .access, try !environment.totals().keepsAccessOrder {
        try environment.write { (transaction) throws(CacheError) in try transaction.keepAccessOrder() }
      }
    } catch {
      EnvironmentRegistry.close(environment)
      throw error
    }
    self.configuration = configuration
    current = Mutex(environment)
    firstFolder = environment.folder
    expiry = ExpiryRule(
      maxAge: configuration.maxAge,
      basis: configuration.expireBy,
      freshness: configuration.freshness,
      minFresh: configuration.minFresh,
      staleIfError: configuration.staleIfError
    )
  }

  deinit { EnvironmentRegistry.close(environment) }

  public var path: String { environment.folder.path }

  /// The folder as it was opened first: as long as it is open, no other folder gets its identity.
  private let firstFolder: CacheFolder

  /// Identifies the folder regardless of the path, even if it was deleted and recreated.
  package var folderIdentity: FolderIdentity { firstFolder.id }

  // MARK: Transactions

  /// Calls `body` with a reader of one state of the cache, for up to about 1,024 look-ups. A deleted folder reads as empty. A run
  /// counts ages up to its own start, `runStart`.
  package func read<R>(runStart: Timestamp? = nil, _ body: (CacheReader) throws(CacheError) -> R) throws(CacheError) -> R {
    let now = configuration.time.wall()
    return try environment.read { (transaction) throws(CacheError) -> R in
      try body(CacheReader(transaction: transaction, expiry: expiry, now: now, runStart: runStart))
    }
  }

  /// Calls `body` with a writer, then commits and syncs; if this throws, nothing changes. With `delaysReuse`, other writes follow
  /// soon: until ``reusePages()``, the index may grow by the pages that they free.
  ///
  /// Throws `diskFull` if there is no space; the cache stays writable. Throws `storingStopped` after any other failed write, also
  /// for all later ones. If the folder or its index was deleted, it is recreated, and `body` called once more.
  package func write<R>(delaysReuse: Bool = false, _ body: (CacheWriter) throws(CacheError) -> R) throws(CacheError) -> R {
    try recreating { (environment) throws(CacheError) -> R in
      try environment.write(delaysReuse: delaysReuse) { (transaction) throws(CacheError) -> R in
        let (timeToLive, now) = (configuration.blacklistTTL, configuration.time.wall())
        return try body(CacheWriter(transaction: transaction, blacklistTTL: timeToLive, expiry: expiry, now: now))
      }
    }
  }

  /// Lets later writes reuse the pages that earlier ones freed.
  package func reusePages() { environment.reusePages() }

  /// Releases the mapped pages of the index, which then no longer count as this process's memory; they stay in the system's cache.
  package func releasePages() { environment.releasePages() }

  /// Creates a file for a body that is written as it arrives.
  package func makeBlobWriter() throws(CacheError) -> BlobWriter {
    try recreating { (environment) throws(CacheError) in try BlobWriter(environment.folder) }
  }

  // MARK: A deleted folder

  /// How often a folder is recreated for one write: somebody may still be deleting it, or another process recreates it, too.
  private static let recreationLimit = 8

  /// Calls `write`. If the folder, its index or its folder of bodies was deleted meanwhile, as by an administrator, recreates it and calls
  /// `write` again.
  func recreating<R>(_ write: (IndexEnvironment) throws(CacheError) -> R) throws(CacheError) -> R {
    try checkWritable()
    var recreations = 0
    while true {
      let environment = environment
      do throws(CacheError) {
        return try write(environment)
      } catch {
        guard recreates, case .deleted = error, recreations < Self.recreationLimit else { throw error }
        recreations += 1
        try recreate(environment)
      }
    }
  }

  /// Recreates and opens the folder, unless another thread has done so. It keeps the key that hashes credentials.
  private func recreate(_ old: IndexEnvironment) throws(CacheError) {
    if old.isDeleted {
      let folder = try CacheFolder(directory: configuration.directory, namespace: configuration.namespace, access: .readWrite)
      try folder.whileOpening { () throws(CacheError) in
        // A deletion that raced with another process's new files has left an index alone.
        if !folder.contains(FolderMarks.versionName) { try folder.remove(CacheFolder.indexName) }
      }
      let new: IndexEnvironment
      do throws(CacheError) {
        new = try EnvironmentRegistry.open(folder, access: .readWrite, key: credentialHasher.key)
      } catch {
        // It has done so again: the lock of those who open was deleted, too.
        if folder.contains(CacheFolder.indexName), !folder.contains(FolderMarks.versionName) { return }
        throw error
      }
      let isFirst = current.withLock { current in
        let isFirst = current === old
        if isFirst { current = new }
        return isFirst
      }
      EnvironmentRegistry.close(isFirst ? old : new)
      if isFirst, configuration.expireBy == .access {
        try new.write { (transaction) throws(CacheError) in try transaction.keepAccessOrder() }
      }
    } else {
      try BlobFolder(old.folder).prepare()
    }
    recreated.withLock { $0 = true }
  }

  /// Whether the cache was deleted and recreated since the last call.
  package func takeRecreation() -> Bool {
    recreated.withLock { recreated in
      defer { recreated = false }
      return recreated
    }
  }

  func checkWritable() throws(CacheError) {
    if configuration.access == .readOnly { throw .readOnly(path: path) }
  }
}

// Bodies.
extension ImageCache {
  /// Reads the body of a record that a look-up found, and verifies it. Returns nil if the record was removed or replaced. Throws
  /// if the disk fails.
  package func body(of key: CacheKey, identity: [UInt8], as head: EntryHead) throws(CacheError) -> CachedBody? {
    var bytes: [UInt8]?
    if head.isBlob {
      bytes = try BlobFolder(environment.folder).read(BlobFolder.fileName(key, head), size: Int(clamping: head.bodySize))
      if case .bytes(let bytes) = Self.check(bytes, head) { return .bytes(bytes) }
    }
    // A missing file isn't damage if its record was removed too.
    let isSame = try environment.read { (transaction) throws(CacheError) in
      guard try transaction.entry(key, identity)?.revision == head.revision else { return false }
      if !head.isBlob { bytes = try transaction.value(of: head.bodyKey, in: transaction.tables.bodies).map(Array.init) }
      return true
    }
    return isSame ? Self.check(bytes, head) : nil
  }

  private static func check(_ bytes: [UInt8]?, _ head: EntryHead) -> CachedBody {
    guard let bytes else { return .damaged(.missing) }
    guard UInt64(bytes.count) == head.bodySize else { return .damaged(.wrongSize) }
    guard bytes.withUnsafeBytes(checksum(of:)) == head.checksum else { return .damaged(.wrongChecksum) }
    return .bytes(bytes)
  }

  /// The path of the file with a record's body; nil if the body is in the index.
  public func bodyPath(of record: EntryRecord) -> String? {
    record.head.isBlob ? environment.folder.path(of: BlobFolder.fileName(record.key, record.head)) : nil
  }
}

// Records.
extension ImageCache {
  /// The next entries, at most `limit`: those after `record`, or the first ones.
  package func entries(after record: EntryRecord? = nil, limit: Int) throws(CacheError) -> [EntryRecord] {
    let now = configuration.time.wall()
    return try list(\.entries, after: record?.key, limit: limit) { key, bytes in
      StoredEntry(bytes).map { EntryRecord(EntryFields($0, key: key), expiry: expiry, now: now) }
    }
  }

  /// The number of entries read in one transaction: some hundred bytes each.
  private static let pageEntryCount = 256

  /// Calls `body` with every entry in key order, outside any transaction. It continues after the last record each time, so it blocks
  /// no other users and sees some of the entries that are stored meanwhile.
  func forEachEntry(_ body: (EntryRecord) throws(CacheError) -> Void) throws(CacheError) {
    var last: EntryRecord?
    repeat {
      let page = try entries(after: last, limit: Self.pageEntryCount)
      for record in page { try body(record) }
      last = page.count == Self.pageEntryCount ? page.last : nil
    } while last != nil
  }

  /// The entry of an identity, expired or not; nil if there is none.
  package func entry(identity: [UInt8]) throws(CacheError) -> EntryRecord? {
    let (key, now) = (CacheKey(identity: identity), configuration.time.wall())
    return try environment.read { (transaction) throws(CacheError) in
      try transaction.entry(key, identity).map { EntryRecord(EntryFields($0, key: key), expiry: expiry, now: now) }
    }
  }

  /// The body of an entry, with its current record if it was replaced since; nil if it was removed.
  func currentBody(of record: EntryRecord) throws(CacheError) -> (record: EntryRecord, body: CachedBody)? {
    var record = record
    while true {
      if let body = try body(of: record.key, identity: record.identity, as: record.head) { return (record, body) }
      guard let newer = try entry(identity: record.identity) else { return nil }
      record = newer
    }
  }

  /// Transformed images by the identity of their original; identities without any are omitted.
  ///
  /// Records are found by their whole identity, so this scans all of them.
  package func transformedEntries(of identities: Set<[UInt8]>) throws(CacheError) -> [[UInt8]: [EntryRecord]] {
    var found: [[UInt8]: [EntryRecord]] = [:]
    try forEachEntry { record throws(CacheError) in
      guard let original = record.originalIdentity.map(Array.init), identities.contains(original) else { return }
      found[original, default: []].append(record)
    }
    return found
  }

  /// The next blacklist entries, including expired ones, at most `limit`: those after `record`, or the first ones.
  package func blacklist(after record: BlacklistRecord? = nil, limit: Int) throws(CacheError) -> [BlacklistRecord] {
    try list(\.blacklist, after: record?.key, limit: limit) { key, bytes in
      StoredBlacklistEntry(bytes).map { BlacklistRecord($0, key: key) }
    }
  }

  /// The blacklist entry of an identity, expired or not; nil if there is none.
  package func blacklistEntry(identity: [UInt8]) throws(CacheError) -> BlacklistRecord? {
    let key = CacheKey(identity: identity)
    return try environment.read { (transaction) throws(CacheError) in
      guard let entry = try transaction.blacklistEntry(key), entry.identity.hasSameBytes(as: identity) else { return nil }
      return BlacklistRecord(entry, key: key)
    }
  }

  package func removeFromBlacklist(identity: [UInt8]) throws(CacheError) -> Bool {
    try write { (writer) throws(CacheError) in try writer.unblacklist(CacheKey(identity: identity), identity: identity) }
  }

  /// Removes everything from the blacklist; returns the number of entries.
  @discardableResult
  package func clearBlacklist() throws(CacheError) -> Int {
    try write { (writer) throws(CacheError) in try writer.transaction.clearBlacklist() }
  }

  /// The next records of a table, without unreadable ones.
  private func list<Record>(
    _ table: KeyPath<Tables, UInt32>,
    after start: CacheKey?,
    limit: Int,
    _ decode: (CacheKey, UnsafeRawBufferPointer) -> Record?
  ) throws(CacheError) -> [Record] {
    var records: [Record] = []
    if limit <= 0 { return records }
    try environment.read { (transaction) throws(CacheError) in
      try transaction.forEach(in: transaction.tables[keyPath: table], after: start) { (bytes, value) throws(CacheError) in
        if let key = CacheKey(stored: bytes), let record = decode(key, value) { records.append(record) }
        return records.count < limit
      }
    }
    return records
  }
}

extension ImageCache {
  /// The default folder for caches, as an absolute path: `$PREWARM_CACHE_DIR`, else `$XDG_CACHE_HOME/prewarm`, else
  /// `~/.cache/prewarm`; nil if the user has no home folder. An empty variable counts as unset, as does a relative
  /// `XDG_CACHE_HOME` (XDG Base Directory Specification).
  public static func defaultDirectory(environment: [String: String]) -> String? {
    if let own = environment["PREWARM_CACHE_DIR"], !own.isEmpty { return own.hasPrefix("/") ? own : "\(currentFolder())/\(own)" }
    if let shared = environment["XDG_CACHE_HOME"], shared.hasPrefix("/") { return "\(shared)/prewarm" }
    if let home = environment["HOME"], home.hasPrefix("/") { return "\(home)/.cache/prewarm" }
    return homeOfUser().map { "\($0)/.cache/prewarm" }
  }

  /// Opens the cache in the process's default directory, see ``defaultDirectory(environment:)``, with the default rules.
  public convenience init() throws(CacheError) {
    var environment: [String: String] = [:]
    for name in ["PREWARM_CACHE_DIR", "XDG_CACHE_HOME", "HOME"] {
      if let value = getenv(name) { environment[name] = String(cString: value) }
    }
    guard let directory = Self.defaultDirectory(environment: environment) else {
      throw .cannotOpen(path: "~/.cache/prewarm", reason: "this user has no home folder; set PREWARM_CACHE_DIR")
    }
    try self.init(Configuration(directory: directory))
  }

  /// The process's cache in the default directory, opened on first use.
  ///
  /// It traps with the reason if the cache can't be opened; open an ``ImageCache`` of your own to handle errors.
  public static let shared: ImageCache = {
    do throws(CacheError) { return try ImageCache() } catch { fatalError("cannot open the shared image cache: \(error)") }
  }()
}

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

/// The absolute path of the current folder; `/` if it was deleted.
private func currentFolder() -> String {
  guard let path = getcwd(nil, 0) else { return "/" }
  defer { free(path) }
  return String(cString: path)
}
