import ImagePrimitives

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
        return .imported(url: item.url, bytes: Int(item.head.bodySize))
      }
    }
  }
}

extension ImportBatch.Item {
  /// An entry of another cache.
  init(_ record: EntryRecord) {
    self.init(
      identity: record.identity,
      url: record.url,
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
      url: url,
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
