import ImagePrimitives

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
