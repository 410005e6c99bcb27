import ImagePrimitives
import Synchronization

extension ImageCache {
  /// The next entries in the order of their keys, at most `limit`; go on from the last key, nil begins.
  public func entries(after key: CacheKey?, limit: Int) throws(CacheError) -> [EntryRecord] {
    try list(\.entries, after: key, limit: limit) { key, bytes in
      StoredEntry(bytes).map { EntryRecord(key: key, stored: $0, expiry: expiry) }
    }
  }

  /// The entry of an identity, too old or not; nil where there is none.
  public func entry(_ key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> EntryRecord? {
    try read { (reader) throws(CacheError) in
      guard let entry = try reader.entry(key), entry.identity.hasSameBytes(as: identity) else { return nil }
      return EntryRecord(key: key, stored: entry, expiry: expiry)
    }
  }

  /// The path of the file that holds the body of a record; nil where the index holds it.
  public func bodyPath(of record: EntryRecord) -> String? {
    let head = record.head
    guard head.isBlob else { return nil }
    return environment.folder.path(of: BlobFolder.fileName(record.key, revision: head.revision, folder: head.blobFolder))
  }

  /// Removes what is cached under an identity; says whether something was.
  public func remove(identity: UnsafeRawBufferPointer) throws(CacheError) -> Bool {
    try write { (writer) throws(CacheError) in try writer.remove(CacheKey(identity: identity), identity: identity) }
  }

  /// Removes all images, gives their space back, and returns what there was; the blacklist stays.
  ///
  /// Throws `inUse` where another process has the cache open.
  @discardableResult
  public func clear() throws(CacheError) -> CacheTotals {
    try alone { () throws(CacheError) in
      let before = try environment.write { (transaction) throws(CacheError) in try transaction.clearEntries() }
      _ = try sweepBlobs()
      try environment.compact()
      return before
    }
  }

  /// Writes the index anew without its free pages, and so gives their space back.
  ///
  /// Throws `inUse` where another process has the cache open.
  public func compact() throws(CacheError) {
    try alone { () throws(CacheError) in try environment.compact() }
  }

  private func alone<R>(_ body: () throws(CacheError) -> R) throws(CacheError) -> R {
    try checkWritable()
    return try environment.alone(body)
  }

  // MARK: The blacklist

  /// The next entries of the blacklist in the order of their keys, expired ones included, at most `limit`; go on from the last
  /// key, nil begins.
  public func blacklist(after key: CacheKey?, limit: Int) throws(CacheError) -> [BlacklistRecord] {
    try list(\.blacklist, after: key, limit: limit) { key, bytes in
      StoredBlacklistEntry(bytes).map {
        BlacklistRecord(key: key, head: $0.head, identity: Array($0.identity), shownURL: Array($0.url))
      }
    }
  }

  /// What the blacklist has of an identity, expired or not; nil where it has nothing.
  public func blacklistEntry(_ key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> BlacklistRecord? {
    try environment.read { (transaction, tables, isDeleted) throws(CacheError) in
      if isDeleted { return nil }
      let bytes = try key.withStoredBytes { (key) throws(CacheError) in try transaction.value(of: key, in: tables.blacklist) }
      guard let entry = bytes.flatMap(StoredBlacklistEntry.init), entry.identity.hasSameBytes(as: identity) else { return nil }
      return BlacklistRecord(key: key, head: entry.head, identity: Array(entry.identity), shownURL: Array(entry.url))
    }
  }

  /// Takes an identity off the blacklist; says whether it was there.
  public func removeFromBlacklist(identity: UnsafeRawBufferPointer) throws(CacheError) -> Bool {
    try write { (writer) throws(CacheError) in try writer.unblacklist(CacheKey(identity: identity), identity: identity) }
  }

  /// Takes everything off the blacklist; returns how much that was.
  @discardableResult
  public func clearBlacklist() throws(CacheError) -> Int {
    try checkWritable()
    return try environment.write { (transaction) throws(CacheError) in try transaction.clearBlacklist() }
  }

  /// The next records of a table; what is not readable is passed over.
  private func list<Record>(
    _ table: KeyPath<Tables, UInt32>,
    after start: CacheKey?,
    limit: Int,
    _ decode: (CacheKey, UnsafeRawBufferPointer) -> Record?
  ) throws(CacheError) -> [Record] {
    try environment.read { (transaction, tables, isDeleted) throws(CacheError) in
      var records: [Record] = []
      if isDeleted || limit <= 0 { return records }
      try transaction.forEach(in: tables[keyPath: table], after: start?.storedBytes) { (bytes, value) throws(CacheError) in
        if let key = CacheKey(stored: bytes), let record = decode(key, value) { records.append(record) }
        return records.count < limit
      }
      return records
    }
  }
}

/// Times of access that wait for being written, many at a time.
///
/// Keys are hashes, so a few records lie each on a page of their own, and to change one is to copy and write its page. Of very many,
/// sorted by key, each page has several.
final class WaitingTouches: Sendable {
  /// Records that one transaction changes.
  static let sliceCount = 8192

  private let waiting = Mutex<[EntryTouch]>([])

  /// Returns how many there are by now.
  func add(_ touches: [EntryTouch]) -> Int {
    waiting.withLock { waiting in
      waiting += touches
      return waiting.count
    }
  }

  /// All of them, sorted by key.
  func takeAll() -> [EntryTouch] {
    var all: [EntryTouch] = []
    waiting.withLock { swap(&$0, &all) }
    all.sort { ($0.key.high, $0.key.low) < ($1.key.high, $1.key.low) }
    return all
  }
}

extension ImageCache {
  /// How many records whose time of access is out of date should wait for ``writeTouches()`` at most: 24 bytes each.
  package static let touchLimit = 1 << 17

  /// Notes that records were asked for whose time of access is out of date, and returns how many wait for ``writeTouches()`` by now.
  ///
  /// What waits when the process dies is lost, as times of access are best effort: the next hit renews them.
  package func note(_ touches: [EntryTouch]) -> Int { touches.isEmpty ? 0 : touched.add(touches) }

  /// Writes down what ``note(_:)`` took: that those records were asked for just now. What has been replaced since stays as it is.
  ///
  /// They get one and the same time, so that in the order of accesses those lie side by side that do so in the order of keys, and the
  /// next renewal finds them there. Several transactions; what went before a failure is written, the rest is lost.
  package func writeTouches() throws(CacheError) {
    let touches = touched.takeAll()
    let now = configuration.time.wall()
    var start = 0
    while start < touches.count {
      let slice = touches[start..<min(start + WaitingTouches.sliceCount, touches.count)]
      try checkWritable()
      try environment.write { (transaction) throws(CacheError) in try transaction.touch(slice, at: now) }
      start = slice.endIndex
    }
  }
}

/// A record that was asked for, and whose time of access is out of date: 24 bytes, since millions may follow each other.
package struct EntryTouch: Sendable {
  let key: CacheKey
  /// Tells whether the record is still the one that was read.
  let revision: UInt64

  /// What is to be noted of a record that was read.
  package init(_ key: CacheKey, _ head: EntryHead) {
    self.key = key
    revision = head.revision
  }
}

extension EntryRecord {
  private static let mark = Array("#transform=".utf8)

  /// Whether it is what a transformer made of another image: its identity is that one's with `#transform=` and the transformer's key.
  public var isTransformed: Bool { markStart != nil }

  /// The identity of the image that it was made of; nil for an image as it came.
  public var originalIdentity: ArraySlice<UInt8>? { markStart.map { identity[..<$0] } }

  /// The key of the transformer that made it; nil for an image as it came.
  public var transformKey: ArraySlice<UInt8>? { markStart.map { identity[($0 + Self.mark.count)...] } }

  private var markStart: Int? {
    identity.indices.first { identity[$0] == UInt8(ascii: "#") && identity[$0...].starts(with: Self.mark) }
  }
}

extension ImageCache {
  /// What transformers made of images, by the identities of those; of `identities` those are left out of which there is nothing.
  ///
  /// Records are found by their whole identity, so that all of them are looked through.
  public func transformedEntries(of identities: Set<[UInt8]>) throws(CacheError) -> [[UInt8]: [EntryRecord]] {
    var found: [[UInt8]: [EntryRecord]] = [:]
    try forEachEntry { record throws(CacheError) in
      guard let original = record.originalIdentity.map(Array.init), identities.contains(original) else { return }
      found[original, default: []].append(record)
    }
    return found
  }
}
