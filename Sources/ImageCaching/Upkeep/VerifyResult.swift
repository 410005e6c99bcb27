import Base

/// The results of a verification.
public struct VerifyResult: Sendable, Hashable {
  /// Images whose bodies were read.
  public var entries = 0
  /// The size of the undamaged ones in bytes.
  public var bytes = 0
  /// Images whose body is damaged or missing.
  public var damaged = 0
  /// Damaged images whose records were removed.
  public var removed = 0
  /// Large bodies without a record, which were removed.
  public var sweptBlobs = 0

  public init() {}
}

extension ImageCache {
  /// Reads every body and compares it with its record.
  ///
  /// With `repair`, the default, it removes damaged images that haven't changed since they were read, so that they are fetched
  /// again, and large bodies without a record. Bodies are read outside transactions, concurrently with other users of the cache.
  ///
  /// Throws if the disk fails, or with `repair` if the cache isn't writable.
  @discardableResult
  public func verify(repair: Bool = true) throws(CacheError) -> VerifyResult { try verify(repair: repair) { _, _ in } }

  /// The same, and calls `onDamage` for each damaged image.
  @discardableResult
  package func verify(
    repair: Bool = true,
    onDamage: (EntryRecord, CachedBody.Damage) -> Void
  ) throws(CacheError) -> VerifyResult {
    if repair { try checkWritable() }
    var result = VerifyResult()
    try forEachEntry { (record) throws(CacheError) in
      guard let (record, body) = try currentBody(of: record) else { return }
      result.entries += 1
      switch body {
      case .bytes(let bytes): result.bytes += bytes.count
      case .damaged(let damage):
        result.damaged += 1
        if repair, try removeDamaged(record.key, record.head) { result.removed += 1 }
        onDamage(record, damage)
      }
    }
    if repair { result.sweptBlobs = try sweepBlobs() }
    return result
  }

  /// Removes a record whose body is damaged if it hasn't changed since it was read; returns whether it did.
  func removeDamaged(_ key: CacheKey, _ head: EntryHead) throws(CacheError) -> Bool {
    try write { (writer) throws(CacheError) in try writer.removeIfUnchanged(key, head) }
  }
}

extension ImageCache {
  /// The number of entries read in one transaction: some hundred bytes each.
  private static let pageEntryCount = 256

  /// Calls `body` with every entry in key order, outside any transaction. It continues after the last record each time, so it blocks
  /// no other users and sees some of the entries that are stored meanwhile.
  func forEachEntry(_ body: (EntryRecord) throws(CacheError) -> Void) throws(CacheError) {
    var last: EntryRecord?
    while true {
      let page = try entries(after: last, limit: Self.pageEntryCount)
      for record in page { try body(record) }
      guard page.count == Self.pageEntryCount, let end = page.last else { return }
      last = end
    }
  }

  /// The body of an entry, with its current record if it was replaced since; nil if it was removed.
  func currentBody(of record: EntryRecord) throws(CacheError) -> (record: EntryRecord, body: CachedBody)? {
    var record = record
    return try record.identity.withRawBytes { (identity) throws(CacheError) in
      while true {
        if let body = try body(of: record.key, identity: identity, as: record.head) { return (record, body) }
        guard let newer = try entry(record.key, identity: identity) else { return nil }
        record = newer
      }
    }
  }
}
