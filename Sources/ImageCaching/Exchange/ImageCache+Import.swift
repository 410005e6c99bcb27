public import ImagePrimitives

extension ImageCache {
  /// Copies the images of another cache into this one, and calls `onEntry` with what became of each.
  ///
  /// The newest of one identity wins. Times, freshness, validators and proofs stay as they are there; bodies are checked while
  /// they are read. Images whose identity holds a hash of credentials come over only where both folders have one KEY. Nothing is
  /// trimmed.
  ///
  /// What the other blacklist knows comes over, too, as long as it counts: where one failed in both, as it failed last, and not
  /// where an image was stored here since. An image that comes over takes its URL off the list here, unless that failed later.
  ///
  /// It goes in short transactions, beside whoever uses either cache; what was committed before a failure stays. Throws where one
  /// of them cannot be read, or this one not be written.
  @discardableResult
  public func importEntries(
    from other: ImageCache,
    onEntry: (ImportEvent) -> Void = { _ in }
  ) throws(CacheError) -> ImportResult {
    try checkWritable()
    let hasSameKey = credentialHasher.hasSameKey(as: other.credentialHasher)
    var run = ImportRun(into: self)
    try other.forEachEntry { (record) throws(CacheError) in
      if !hasSameKey && record.shownURL.withUnsafeBytes(hasCredentials) {
        run.skip(record.shownURL, .foreignCredentials).forEach(onEntry)
      } else if try hasAsNew(record.identity, storedAt: record.head.storedAt) {
        run.skip(record.shownURL, .notNewer).forEach(onEntry)
      } else if let (record, body) = try other.currentBody(of: record) {
        switch body {
        case .damaged(let damage): run.skip(record.shownURL, .damaged(damage)).forEach(onEntry)
        case .bytes(let bytes): try run.take(ImportBatch.Item(record), bytes).forEach(onEntry)
        }
      }
    }
    try run.finish().forEach(onEntry)
    var result = run.result
    result.blacklisted = try importBlacklist(from: other, hasSameKey: hasSameKey)
    return result
  }

  /// Records that are taken from a blacklist with one commit.
  private static let blacklistPageCount = 1000

  /// How many URLs came over.
  private func importBlacklist(from other: ImageCache, hasSameKey: Bool) throws(CacheError) -> Int {
    let now = configuration.time.wall()
    var (count, last): (Int, CacheKey?) = (0, nil)
    while true {
      let page = try other.blacklist(after: last, limit: Self.blacklistPageCount)
      guard let end = page.last else { return count }
      last = end.key
      let usable = page.filter { !$0.head.isExpired(at: now) && (hasSameKey || !$0.shownURL.withUnsafeBytes(hasCredentials)) }
      if usable.isEmpty { continue }
      count += try environment.write { (transaction) throws(CacheError) in
        var taken = 0
        for record in usable where try transaction.importBlacklistEntry(record) { taken += 1 }
        return taken
      }
    }
  }

  /// Copies the images that a flat folder has of `images`, and calls `onEntry` with what became of each.
  ///
  /// Names in such a folder tell no URL, so the URLs are to be given, as they were first written. `probe` gets the bytes of each
  /// file and returns what it proved of them, or throws where they are no image to be kept. An image counts as stored when its
  /// file was last written, not after now, unless `storedAt` says otherwise; so the newest wins, and what is older than `maxAge`
  /// expires at once.
  ///
  /// Files above `maximumBytes`, 64 MiB by default, are left out. Transactions and errors are as in
  /// ``importEntries(from:onEntry:)``.
  @discardableResult
  public func importFlat(
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
      switch try flatImport(of: image, in: folder, storedAt: storedAt, now: now, maximumBytes: maximumBytes, probe) {
      case .take(let item, let bytes): try run.take(item, bytes).forEach(onEntry)
      case .skip(let reason): run.skip(image.url, reason).forEach(onEntry)
      }
    }
    try run.finish().forEach(onEntry)
    return run.result
  }

  private enum FlatImport {
    case take(ImportBatch.Item, [UInt8])
    case skip(ImportEvent.SkipReason)
  }

  private func flatImport(
    of image: FlatImage,
    in folder: FlatFolder,
    storedAt: Timestamp?,
    now: Timestamp,
    maximumBytes: Int,
    _ probe: ([UInt8]) throws -> NewProof
  ) throws(CacheError) -> FlatImport {
    if image.url.withUnsafeBytes(hasCredentials) { return .skip(.foreignCredentials) }
    let file: (bytes: [UInt8], modifiedAt: Timestamp)?
    var unreadable: CacheError?
    do throws(CacheError) {
      file = try image.url.withRawBytes { (url) throws(CacheError) in
        try folder.file(ofURL: url, maximumBytes: maximumBytes) { unreadable = unreadable ?? $0 }
      }
    } catch {
      return .skip(.unreadable("\(error)"))
    }
    guard let file else { return .skip(unreadable.map { .unreadable("\($0)") } ?? .notFound) }
    let storedAt = storedAt ?? min(file.modifiedAt, now)
    if try hasAsNew(image.identity, storedAt: storedAt) { return .skip(.notNewer) }
    do {
      return .take(ImportBatch.Item(image, file.bytes, try probe(file.bytes), storedAt: storedAt), file.bytes)
    } catch {
      return .skip(.notAnImage("\(error)"))
    }
  }

  /// Whether the identity is cached, and was stored at that time or later.
  private func hasAsNew(_ identity: [UInt8], storedAt: Timestamp) throws(CacheError) -> Bool {
    try identity.withRawBytes { (identity) throws(CacheError) in
      try read { (reader) throws(CacheError) in
        guard let own = try reader.entry(CacheKey(identity: identity)), own.identity.hasSameBytes(as: identity) else {
          return false
        }
        return own.head.storedAt >= storedAt
      }
    }
  }
}

/// An import under way: its batch, and what became of the images so far. Every call returns what has become final by it.
private struct ImportRun: ~Copyable {
  private(set) var result = ImportResult()
  private var batch: ImportBatch

  init(into cache: ImageCache) { batch = ImportBatch(for: cache) }

  mutating func skip(_ url: [UInt8], _ reason: ImportEvent.SkipReason) -> [ImportEvent] {
    count([.skipped(url: url, reason: reason)])
  }

  mutating func take(_ item: ImportBatch.Item, _ bytes: [UInt8]) throws(CacheError) -> [ImportEvent] {
    try batch.add(item, bytes) ? finish() : []
  }

  mutating func finish() throws(CacheError) -> [ImportEvent] { count(try batch.commit()) }

  private mutating func count(_ events: [ImportEvent]) -> [ImportEvent] {
    for event in events { result.count(event) }
    return events
  }
}

/// What became of one image of an import.
public enum ImportEvent: Sendable, Hashable {
  /// It is in the cache now.
  case imported(url: [UInt8], bytes: Int)
  /// It was left out.
  case skipped(url: [UInt8], reason: SkipReason)

  /// Why an image was left out.
  public enum SkipReason: Sendable, Hashable {
    /// The cache has one of the same identity that was stored at that time or later.
    case notNewer
    /// Its body is not as it was stored, or gone.
    case damaged(CachedBody.Damage)
    /// Its identity holds a hash of credentials under another cache's key, which nobody would ask for here.
    case foreignCredentials
    /// The flat folder has no file for its URL.
    case notFound
    /// The file was not proven to be an image; why not, as the probe said.
    case notAnImage(String)
    /// The file cannot be read, or is too large; why, in one sentence.
    case unreadable(String)
  }
}

/// What an import did.
public struct ImportResult: Sendable, Hashable {
  /// Images that are in the cache now.
  public var imported = 0
  /// Bytes of all of them.
  public var bytes = 0
  /// Images left out because the cache has them as new or newer.
  public var notNewer = 0
  /// Images left out because they are damaged in the cache they come from.
  public var damaged = 0
  /// Images left out because their identity is hashed under another cache's key.
  public var foreignCredentials = 0
  /// URLs that came over from the other cache's blacklist.
  public var blacklisted = 0
  /// URLs that the flat folder has no file for.
  public var notFound = 0
  /// Files that were not proven to be images, or could not be read.
  public var unusable = 0

  /// Nothing imported.
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
public struct FlatImage: Sendable, Hashable {
  /// The URL as it was first written, which names the file.
  public var url: [UInt8]
  /// What the cache shall know the image by.
  public var identity: [UInt8]

  /// The image of a URL, to be known by that identity. Credentials must be gone from the identity; a URL with credentials is
  /// looked for as it is, and its image not imported, since the record would show them.
  public init(url: [UInt8], identity: [UInt8]) {
    self.url = url
    self.identity = identity
  }
}

/// Images that are imported with one commit, bodies above ``ImageCache/maximumInlineBytes`` staged beforehand.
struct ImportBatch: ~Copyable {
  /// At most so many images wait for a commit.
  private static let entryLimit = 512
  /// At most so many bytes of bodies wait for a commit.
  private static let byteLimit = 8 << 20

  struct Item {
    var identity: [UInt8]
    var url: [UInt8]
    /// Times, proof and freshness; the body's place and number are given anew.
    var head: EntryHead
    var etag: [UInt8] = []
    var lastModified: [UInt8] = []
    var contentType: [UInt8] = []
    var vary: [UInt8] = []
  }

  private enum Body {
    case bytes([UInt8])
    case staged(StagedBlob)
  }

  private let cache: ImageCache
  private var items: [(item: Item, body: Body)] = []
  private var byteCount = 0

  init(for cache: ImageCache) { self.cache = cache }

  /// Takes an image; true says that the batch is to be committed now.
  mutating func add(_ item: Item, _ bytes: [UInt8]) throws(CacheError) -> Bool {
    if bytes.count > ImageCache.maximumInlineBytes {
      let writer = try cache.makeBlobWriter()
      try bytes.withRawBytes { (bytes) throws(CacheError) in try writer.append(bytes) }
      items.append((item, .staged(try writer.finish())))
    } else {
      items.append((item, .bytes(bytes)))
    }
    byteCount += bytes.count
    return items.count >= Self.entryLimit || byteCount >= Self.byteLimit
  }

  /// Stores all of them in one transaction, those excepted that another process has stored newer meanwhile, and returns what
  /// became of each.
  mutating func commit() throws(CacheError) -> [ImportEvent] {
    if items.isEmpty { return [] }
    let events = try cache.environment.write { (transaction) throws(CacheError) in
      var events: [ImportEvent] = []
      for (item, body) in items { events.append(try Self.store(item, body, in: transaction)) }
      return events
    }
    items = []
    byteCount = 0
    return events
  }

  private static func store(_ item: Item, _ body: Body, in transaction: WriteTransaction) throws(CacheError) -> ImportEvent {
    try item.identity.withRawBytes { (identity) throws(CacheError) in
      try item.url.withRawBytes { (url) throws(CacheError) in
        let entry = NewEntry(item, key: CacheKey(identity: identity), identity: identity, url: url)
        if let own = try transaction.entry(entry.key)?.head, own.storedAt >= item.head.storedAt {
          return .skipped(url: item.url, reason: .notNewer)
        }
        let (storedAt, accessedAt) = (item.head.storedAt, item.head.accessedAt)
        switch body {
        case .bytes(let bytes):
          try bytes.withRawBytes { (bytes) throws(CacheError) in
            try transaction.store(entry, body: .bytes(bytes), at: storedAt, accessedAt: accessedAt)
          }
        case .staged(let blob): try transaction.store(entry, body: .staged(blob), at: storedAt, accessedAt: accessedAt)
        }
        try transaction.unblacklist(entry.key, storedAt: storedAt)
        return .imported(url: item.url, bytes: Int(clamping: item.head.bodySize))
      }
    }
  }
}

extension ImportBatch.Item {
  /// An entry of another cache.
  init(_ record: EntryRecord) {
    self.init(
      identity: record.identity,
      url: record.shownURL,
      head: record.head,
      etag: record.etag,
      lastModified: record.lastModified,
      contentType: record.contentType,
      vary: record.vary
    )
  }

  /// A file of a flat folder that was proven to be an image.
  init(_ image: FlatImage, _ bytes: [UInt8], _ proof: NewProof, storedAt: Timestamp) {
    let head = EntryHead(
      storedAt: storedAt,
      accessedAt: storedAt,
      format: proof.format,
      width: proof.width,
      height: proof.height,
      frames: proof.frames,
      bodySize: UInt64(bytes.count),
      checksum: bytes.withUnsafeBytes(checksum(of:)),
      proof: proof.depth,
      hasWarnings: proof.hasWarnings,
      contentTypeMatch: .absent,
      status: 200,
      isBlob: false,
      hasVary: false,
      storedFreshness: StoredFreshness(),
      lifetimeMilliseconds: nil,
      revision: 0,
      blobFolder: 0
    )
    self.init(identity: image.identity, url: image.url, head: head)
  }
}

extension NewEntry {
  /// An image that is imported.
  fileprivate init(_ item: ImportBatch.Item, key: CacheKey, identity: UnsafeRawBufferPointer, url: UnsafeRawBufferPointer) {
    let head = item.head
    self.init(
      key: key,
      identity: identity,
      shownURL: url,
      format: head.format,
      width: head.width,
      height: head.height,
      frames: head.frames,
      proof: head.proof,
      hasWarnings: head.hasWarnings,
      contentTypeMatch: head.contentTypeMatch,
      status: head.status,
      checksum: head.checksum,
      etag: item.etag,
      lastModified: item.lastModified,
      contentType: item.contentType,
      lifetime: head.lifetime,
      freshness: head.freshness,
      vary: item.vary
    )
  }
}
