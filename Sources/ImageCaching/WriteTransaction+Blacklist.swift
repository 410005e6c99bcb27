import ImagePrimitives

extension WriteTransaction {
  /// Puts a failure on the blacklist, or counts it where it is there already; says whether it was new, or had expired.
  func blacklist(_ entry: NewBlacklistEntry, at now: Timestamp, for timeToLive: Duration?) throws(CacheError) -> Bool {
    let stored = try blacklistEntry(entry.key)
    let old = stored.flatMap { $0.identity.hasSameBytes(as: entry.identity) ? $0.head : nil }
    let head = BlacklistHead(
      kind: entry.kind,
      status: entry.status,
      firstAt: old?.firstAt ?? now,
      lastAt: now,
      count: (old?.count ?? 0).addingReportingOverflow(1).overflow ? .max : (old?.count ?? 0) + 1,
      expiresAt: timeToLive.map { now.advanced(by: $0) }
    )
    if stored == nil { totals.blacklistEntries += 1 }
    totals.nextBlacklistExpiry = min(totals.nextBlacklistExpiry, head.expiresAt?.milliseconds ?? .max)
    try entry.key.withStoredBytes { (key) throws(CacheError) in
      let record = try transaction.reserve(StoredBlacklistEntry.byteCount(of: entry), for: key, in: tables.blacklist)
      StoredBlacklistEntry.write(entry, head: head, to: record)
    }
    return old?.isExpired(at: now) ?? true
  }

  /// Keeps what another cache knows of a failure; says whether it did. It does not where this one knows of a failure as late, or
  /// has an image that was stored since.
  func importBlacklistEntry(_ record: BlacklistRecord) throws(CacheError) -> Bool {
    let own = try blacklistEntry(record.key)
    if let own, own.head.lastAt >= record.head.lastAt { return false }
    if let image = try entry(record.key), image.head.storedAt >= record.head.lastAt { return false }
    if own == nil { totals.blacklistEntries += 1 }
    totals.nextBlacklistExpiry = min(totals.nextBlacklistExpiry, record.head.expiresAt?.milliseconds ?? .max)
    try record.identity.withRawBytes { (identity) throws(CacheError) in
      try record.url.withRawBytes { (url) throws(CacheError) in
        let new = NewBlacklistEntry(
          key: record.key,
          identity: identity,
          url: url,
          kind: record.head.kind,
          status: record.head.status
        )
        try new.key.withStoredBytes { (key) throws(CacheError) in
          let bytes = try transaction.reserve(StoredBlacklistEntry.byteCount(of: new), for: key, in: tables.blacklist)
          StoredBlacklistEntry.write(new, head: record.head, to: bytes)
        }
      }
    }
    return true
  }

  /// Takes off the blacklist what failed last before an image was stored of it.
  func unblacklist(_ key: CacheKey, storedAt: Timestamp) throws(CacheError) {
    guard let failure = try blacklistEntry(key), failure.head.lastAt <= storedAt else { return }
    try removeFromBlacklist(key)
  }

  /// Takes an identity off the blacklist; says whether it was there.
  func unblacklist(_ key: CacheKey, _ identity: UnsafeRawBufferPointer) throws(CacheError) -> Bool {
    guard let entry = try blacklistEntry(key), entry.identity.hasSameBytes(as: identity) else { return false }
    try removeFromBlacklist(key)
    return true
  }

  /// Takes everything off the blacklist; returns how much that was.
  func clearBlacklist() throws(CacheError) -> Int {
    let count = Int(totals.blacklistEntries)
    try transaction.removeAll(from: tables.blacklist)
    totals.blacklistEntries = 0
    totals.nextBlacklistExpiry = .max
    return count
  }

  /// Takes up to `limit` expired entries off the blacklist; says whether there may be more.
  ///
  /// It looks at nothing before the first of them can have expired, and then at all, since the table has no order of times.
  func trimBlacklist(at now: Timestamp, limit: Int) throws(CacheError) -> Bool {
    guard totals.nextBlacklistExpiry <= now.milliseconds else { return false }
    var expired: [CacheKey] = []
    var next = Int64.max
    try transaction.forEach(in: tables.blacklist, after: nil) { (bytes, record) throws(CacheError) in
      guard let key = CacheKey(stored: bytes) else { return true }
      // What is not readable is of no use to anybody.
      let head = StoredBlacklistEntry(record)?.head
      if head?.isExpired(at: now) ?? true { expired.append(key) } else { next = min(next, head?.expiresAt?.milliseconds ?? .max) }
      return expired.count < limit
    }
    for key in expired { try removeFromBlacklist(key) }
    let mayHaveMore = expired.count == limit
    if !mayHaveMore { totals.nextBlacklistExpiry = next }
    return mayHaveMore
  }

  private func blacklistEntry(_ key: CacheKey) throws(CacheError) -> StoredBlacklistEntry? {
    try key.withStoredBytes { (key) throws(CacheError) in try transaction.value(of: key, in: tables.blacklist) }
      .flatMap(StoredBlacklistEntry.init)
  }

  private func removeFromBlacklist(_ key: CacheKey) throws(CacheError) {
    let wasThere = try key.withStoredBytes { (key) throws(CacheError) in try transaction.remove(key, from: tables.blacklist) }
    if wasThere { totals.blacklistEntries -= min(totals.blacklistEntries, 1) }
  }
}
