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
        BlacklistRecord(key: key, head: $0.head, identity: Array($0.identity), url: Array($0.url))
      }
    }
  }

  /// What the blacklist has of an identity, expired or not; nil where it has nothing.
  public func blacklistEntry(_ key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> BlacklistRecord? {
    try environment.read { (transaction, tables, isDeleted) throws(CacheError) in
      if isDeleted { return nil }
      let bytes = try key.withStoredBytes { (key) throws(CacheError) in try transaction.value(of: key, in: tables.blacklist) }
      guard let entry = bytes.flatMap(StoredBlacklistEntry.init), entry.identity.hasSameBytes(as: identity) else { return nil }
      return BlacklistRecord(key: key, head: entry.head, identity: Array(entry.identity), url: Array(entry.url))
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
