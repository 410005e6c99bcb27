import ImagePrimitives

/// What a verification found.
public struct VerifyResult: Sendable, Hashable {
  /// Images whose bodies were read.
  public var entries = 0
  /// Bytes of the good ones.
  public var bytes = 0
  /// Images whose body is not as it was stored, or gone.
  public var damaged = 0
  /// Those of them whose records were removed.
  public var removed = 0
  /// Large bodies without a record that were removed.
  public var sweptBlobs = 0

  /// Nothing looked at.
  public init() {}
}

extension ImageCache {
  /// Reads every body and checks it against its record; calls `onDamage` with each that is not as it was stored.
  ///
  /// With `repair`, the default, damaged images are removed, if they are still the ones that were read, so that they are fetched
  /// again; large bodies that no record names go too. Bodies are read outside of transactions, beside whoever uses the cache.
  ///
  /// Throws where the disk fails, and with `repair` where the cache may not be written.
  @discardableResult
  public func verify(
    repair: Bool = true,
    onDamage: (EntryRecord, CachedBody.Damage) -> Void = { _, _ in }
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

  /// Removes a record whose body is damaged, if it is still the one that was read; says whether it was.
  func removeDamaged(_ key: CacheKey, _ head: EntryHead) throws(CacheError) -> Bool {
    try write { (writer) throws(CacheError) in try writer.removeIfUnchanged(key, head) }
  }
}

extension ImageCache {
  /// Entries that are read in one transaction: some hundred bytes each.
  private static let pageEntryCount = 256

  /// Calls `body` with every entry in the order of keys, outside of any transaction: it goes on from the last key each time, so
  /// it holds nobody up, and sees some of what is stored meanwhile.
  func forEachEntry(_ body: (EntryRecord) throws(CacheError) -> Void) throws(CacheError) {
    var last: CacheKey?
    while true {
      let page = try entries(after: last, limit: Self.pageEntryCount)
      for record in page { try body(record) }
      guard page.count == Self.pageEntryCount, let key = page.last?.key else { return }
      last = key
    }
  }

  /// The body of an entry, with its record as it is now where it was replaced since it was read; nil where it is gone.
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
