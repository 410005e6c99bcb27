package import Base

extension ImageCache {
  /// Copies the images of another cache into this one. The newest image of an identity wins. Times, freshness, validators and
  /// verification depth are kept; bodies are verified. Images whose identity has a hash of credentials need the same KEY in both
  /// folders.
  ///
  /// Unexpired entries of the other blacklist are imported too: of two failures, the last is kept; it is dropped if an image was
  /// stored here since. An imported image removes its URL from the blacklist here, unless it failed later.
  ///
  /// It uses short transactions, concurrent with other users of both caches; if one fails, the ones before stay committed.
  @discardableResult
  package func importEntries(from other: ImageCache) throws(CacheError) -> ImportResult {
    try importEntries(from: other) { _ in }
  }

  @discardableResult
  package func importEntries(from other: ImageCache, onEntry: (ImportEvent) -> Void) throws(CacheError) -> ImportResult {
    try checkWritable()
    let hasSameKey = credentialHasher.hasSameKey(as: other.credentialHasher)
    var run = ImportRun(into: self)
    try other.forEachEntry { (record) throws(CacheError) in
      if !hasSameKey && record.shownURL.withUnsafeBytes(hasCredentials) {
        run.skip(record.shownURL, .foreignCredentials, onEntry)
      } else if try hasAsNew(record.key, record.identity, storedAt: record.storedAt) {
        run.skip(record.shownURL, .notNewer, onEntry)
      } else if let (record, body) = try other.currentBody(of: record) {
        switch body {
        case .damaged(let damage): run.skip(record.shownURL, .damaged(damage), onEntry)
        case .bytes(let bytes): try run.take(record.fields, bytes, onEntry)
        }
      }
    }
    try run.commit(onEntry)
    var result = run.result
    result.blacklisted = try importBlacklist(from: other, hasSameKey: hasSameKey)
    return result
  }

  private static let blacklistPageCount = 1000

  private func importBlacklist(from other: ImageCache, hasSameKey: Bool) throws(CacheError) -> Int {
    let now = configuration.time.wall()
    var (count, last): (Int, BlacklistRecord?) = (0, nil)
    while true {
      let page = try other.blacklist(after: last, limit: Self.blacklistPageCount)
      guard let end = page.last else { return count }
      last = end
      let usable = page.filter { !$0.head.isExpired(at: now) && (hasSameKey || !$0.shownURL.withUnsafeBytes(hasCredentials)) }
      if usable.isEmpty { continue }
      count += try environment.write { (transaction) throws(CacheError) in
        var taken = 0
        for record in usable {
          if let own = try transaction.blacklistEntry(record.key), own.head.lastAt >= record.lastAt { continue }
          if let image = try transaction.entry(record.key), image.head.storedAt >= record.lastAt { continue }
          try transaction.blacklist(record)
          taken += 1
        }
        return taken
      }
    }
  }

  /// Copies the images of `images` that a flat folder has, whose file names don't reveal the URLs, and calls `onEntry` with the
  /// result for each. `probe` gets the bytes of each file, and throws if they aren't an acceptable image.
  ///
  /// An image's storing time is `storedAt`, or the file's last modification, at most now; so the newest wins, and images older
  /// than `maxAge` expire at once. Files above `maximumBytes` are skipped. Transactions and errors are as in
  /// ``importEntries(from:onEntry:)``.
  @discardableResult
  package func importFlat(
    _ folder: FlatFolder,
    images: some Sequence<FlatImage>,
    storedAt: Timestamp? = nil,
    maximumBytes: Int = 64 << 20,
    onEntry: (ImportEvent) -> Void = { _ in },
    probe: (_ bytes: [UInt8]) throws -> NewProof
  ) throws(CacheError) -> ImportResult {
    try checkWritable()
    let now = configuration.time.wall()
    var run = ImportRun(into: self)
    for image in images {
      if image.url.withUnsafeBytes(hasCredentials) {
        run.skip(image.url, .foreignCredentials, onEntry)
        continue
      }
      var file: (bytes: [UInt8], modifiedAt: Timestamp)?
      var unreadable: CacheError?
      do throws(CacheError) {
        file = try folder.file(ofURL: image.url, maximumBytes: maximumBytes) { unreadable = unreadable ?? $0 }
      } catch {
        unreadable = error
      }
      guard let (bytes, modifiedAt) = file else {
        run.skip(image.url, unreadable.map { .unreadable("\($0)") } ?? .notFound, onEntry)
        continue
      }
      let (key, storedAt) = (CacheKey(identity: image.identity), storedAt ?? min(modifiedAt, now))
      if try hasAsNew(key, image.identity, storedAt: storedAt) {
        run.skip(image.url, .notNewer, onEntry)
        continue
      }
      let proof: NewProof
      do {
        proof = try probe(bytes)
      } catch {
        run.skip(image.url, .notAnImage("\(error)"), onEntry)
        continue
      }
      let head = EntryHead(
        storedAt: storedAt,
        image: proof.image,
        proof: proof.depth,
        hasWarnings: proof.hasWarnings,
        contentTypeMatch: .absent,
        checksum: bytes.withUnsafeBytes(checksum(of:))
      )
      try run.take(EntryFields(key: key, head: head, identity: image.identity, shownURL: image.url), bytes, onEntry)
    }
    try run.commit(onEntry)
    return run.result
  }

  /// Whether the identity is cached and was stored at that time or later.
  private func hasAsNew(_ key: CacheKey, _ identity: [UInt8], storedAt: Timestamp) throws(CacheError) -> Bool {
    try environment.read { (transaction) throws(CacheError) in
      try transaction.entry(key, identity).map { $0.head.storedAt >= storedAt } ?? false
    }
  }
}

/// A running import: the images that wait for a commit, and the results so far. Bodies above ``ImageCache/maximumInlineBytes`` are
/// staged first.
private struct ImportRun: ~Copyable {
  private static let entryLimit = 512
  private static let byteLimit = 8 << 20

  private let cache: ImageCache
  private var items: [(fields: EntryFields, body: NewBody)] = []
  private var byteCount = 0
  private var pace = WritePace(maximum: entryLimit)
  private(set) var result = ImportResult()

  init(into cache: ImageCache) { self.cache = cache }

  mutating func skip(_ url: [UInt8], _ reason: ImportEvent.SkipReason, _ onEntry: (ImportEvent) -> Void) {
    emit(.skipped(url: url, reason: reason), onEntry)
  }

  mutating func take(_ fields: EntryFields, _ bytes: [UInt8], _ onEntry: (ImportEvent) -> Void) throws(CacheError) {
    items.append((fields, try NewBody(bytes, in: cache.environment.folder)))
    byteCount += bytes.count
    if items.count >= pace.rowCount || byteCount >= Self.byteLimit { try commit(onEntry) }
  }

  /// Stores the images in one short transaction, except those of which another process has stored a newer one.
  mutating func commit(_ onEntry: (ImportEvent) -> Void) throws(CacheError) {
    if items.isEmpty { return }
    let (cache, items) = (cache, items)
    (self.items, byteCount) = ([], 0)
    let events = try pace.step { (_) throws(CacheError) in try Self.write(items, to: cache) }
    for event in events { emit(event, onEntry) }
  }

  private static func write(_ items: [(fields: EntryFields, body: NewBody)], to cache: ImageCache) throws(CacheError)
    -> [ImportEvent]
  {
    try cache.environment.write { (transaction) throws(CacheError) in
      var events: [ImportEvent] = []
      for (fields, body) in items {
        let (key, head) = (fields.key, fields.head)
        if let own = try transaction.entry(key)?.head, own.storedAt >= head.storedAt {
          events.append(.skipped(url: fields.shownURL, reason: .notNewer))
          continue
        }
        try transaction.store(fields, body: body, at: head.storedAt, accessedAt: head.accessedAt)
        if let failure = try transaction.blacklistEntry(key), failure.head.lastAt <= head.storedAt {
          try transaction.removeFromBlacklist(key)
        }
        events.append(.imported(url: fields.shownURL, bytes: body.byteCount))
      }
      return events
    }
  }

  private mutating func emit(_ event: ImportEvent, _ onEntry: (ImportEvent) -> Void) {
    result.count(event)
    onEntry(event)
  }
}

/// The result for one image of an import.
package enum ImportEvent: Sendable, Hashable {
  case imported(url: [UInt8], bytes: Int)
  case skipped(url: [UInt8], reason: SkipReason)

  package enum SkipReason: Sendable, Hashable {
    case notNewer
    case damaged(CachedBody.Damage)
    /// Its identity contains a hash of credentials with another cache's key, so nothing would request it here.
    case foreignCredentials
    case notFound
    /// The probe rejected the file, for this reason.
    case notAnImage(String)
    /// The file can't be read or is too large, for this reason.
    case unreadable(String)
  }
}

public struct ImportResult: Sendable, Hashable {
  public var imported = 0
  public var bytes = 0
  /// Images skipped because the cache has them as new or newer.
  public var notNewer = 0
  /// Images skipped because they are damaged in the other cache.
  public var damaged = 0
  /// Images skipped because their identity is hashed with another cache's key.
  public var foreignCredentials = 0
  /// URLs imported from the other cache's blacklist.
  public var blacklisted = 0
  /// URLs without a file in the flat folder.
  public var notFound = 0
  /// Files that the probe rejected or that can't be read.
  public var unusable = 0

  public init() {}

  mutating func count(_ event: ImportEvent) {
    switch event {
    case .imported(_, let size):
      imported += 1
      bytes += size
    case .skipped(_, .notNewer): notNewer += 1
    case .skipped(_, .damaged): damaged += 1
    case .skipped(_, .foreignCredentials): foreignCredentials += 1
    case .skipped(_, .notFound): notFound += 1
    case .skipped(_, .notAnImage), .skipped(_, .unreadable): unusable += 1
    }
  }
}

/// A URL whose image may be in a flat folder.
package struct FlatImage: Sendable, Hashable {
  /// The URL as first written, which determines the file's name.
  package var url: [UInt8]
  package var identity: [UInt8]
  package var id: String?

  /// Creates a URL's image with that identity, which must not contain credentials. An image whose URL has credentials is looked up
  /// but not imported, since the record would reveal them.
  package init(url: [UInt8], identity: [UInt8], id: String? = nil) {
    self.id = id
    self.url = url
    self.identity = identity
  }
}
