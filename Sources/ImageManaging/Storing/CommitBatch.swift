import ImageCaching
import ImageDownloading
import ImagePrimitives
import ImageURLs

/// What is to be written in one transaction, and the results that become final with it.
struct CommitBatch {
  /// At most so many entries wait for a commit.
  static let entryLimit = 512
  /// At most so many bytes of bodies wait for a commit.
  static let byteLimit = 8 << 20

  enum Change {
    case store(FetchedImage, ProcessedImage)
    case blacklist(Failure)
    case raiseProof(EntryHead, VerifiedImage)
    /// What was made of a cached image, of which nothing else is new; with what that was found to be.
    case keepTransformed(VerifiedImage)
    /// The server has said that the record is right; with a deeper proof of it, where there is one.
    case revalidate(EntryHead, DownloadedImage, VerifiedImage?)
    /// A good image that is not kept, but whose URL was known bad.
    case unblacklist
  }

  struct Item {
    let number: UInt64
    let flight: Flight
    let change: Change
    var result: EntryResult
    /// What the image goes out as, and into the memory layer.
    var product: ProcessedImage.Product?
    /// The record as it is after the commit.
    var head: EntryHead?
    /// Whether the result is void, since what it tells of is gone by now.
    var isVoid = false
    var leftBlacklist = false
    var joinedBlacklist = false
    /// What its commit makes room for.
    let held: BackPressure.Held
  }

  private(set) var items: [Item] = []
  private(set) var context: LoadContext?
  /// When the first item came; nil where there is none.
  private(set) var began: MonotonicInstant?
  /// Whether somebody waits for one of the images itself, not only for its being kept.
  private(set) var isAwaited = false
  private var bytes = 0
  /// Large bodies whose files are open until the commit.
  private(set) var blobs = 0

  var isEmpty: Bool { items.isEmpty }
  var isFull: Bool { items.count >= Self.entryLimit || bytes >= Self.byteLimit }

  /// Whether what belongs to `context` can join this batch: one transaction writes to one cache.
  func accepts(_ context: LoadContext) -> Bool { self.context == nil || self.context?.cache === context.cache }

  mutating func add(_ item: Item) {
    context = item.flight.context
    if began == nil { began = TimeSource.system.monotonic() }
    isAwaited = isAwaited || !item.flight.context.options.delivery.isEmpty
    bytes += item.held.bytes
    blobs += item.held.blobs
    items.append(item)
  }

  /// Writes everything in one synced transaction and marks what became of each item.
  ///
  /// A transaction that fails fails every image in it as `cache-write`; nothing of it is stored.
  mutating func commit() {
    guard let cache = context?.cache else { return }
    do throws(CacheError) {
      try cache.write { writer throws(CacheError) in
        for index in items.indices { try Self.write(&items[index], with: writer) }
      }
    } catch {
      for index in items.indices { items[index].fail(error) }
    }
  }

  private static func write(_ item: inout Item, with writer: borrowing CacheWriter) throws(CacheError) {
    let flight = item.flight
    try flight.identity.withRawBytes { identity throws(CacheError) in
      switch item.change {
      case .store(let image, let processed):
        try store(&item, identity, image, processed, with: writer)
        if flight.known != nil { item.leftBlacklist = try writer.unblacklist(flight.key, identity: identity) }
      case .unblacklist:
        item.leftBlacklist = try writer.unblacklist(flight.key, identity: identity)
      case .blacklist(let failure):
        try flight.entry.shownURL.withRawBytes { url throws(CacheError) in
          item.joinedBlacklist = try writer.blacklist(
            NewBlacklistEntry(key: flight.key, identity: identity, url: url, kind: failure.kind, status: failure.status)
          )
        }
      case .raiseProof(let head, let verified):
        try writer.raiseProof(of: flight.key, identity: identity, from: head, to: NewProof(verified))
      case .keepTransformed: break
      case .revalidate(let head, let answer, let verified):
        let validators = Validators(etag: answer.etag, lastModified: answer.lastModified)
        try writer.revalidate(
          flight.key,
          identity: identity,
          from: head,
          freshness: answer.freshness(renewing: head.freshness),
          validators: validators.isEmpty ? nil : validators
        )
        if let verified {
          try writer.raiseProof(of: flight.key, identity: identity, from: head, to: NewProof(verified))
        }
        if flight.known != nil { item.leftBlacklist = try writer.unblacklist(flight.key, identity: identity) }
        item.head = try writer.head(of: flight.key, identity: identity)
        item.isVoid = item.head == nil
        item.result.freshUntil = item.head.flatMap { flight.context.cache?.expiry(of: $0) }
        try revalidateTransformed(item, identity, made: head, freshness: answer.freshness(renewing: head.freshness), with: writer)
      }
      if !item.isVoid { try storeTransformed(&item, identity, with: writer) }
    }
  }

  /// Stores the original, where it is kept.
  private static func store(
    _ item: inout Item,
    _ identity: UnsafeRawBufferPointer,
    _ image: FetchedImage,
    _ processed: ProcessedImage,
    with writer: borrowing CacheWriter
  ) throws(CacheError) {
    let flight = item.flight
    guard flight.context.keepsOriginalOnDisk else {
      // An older one is out of date.
      _ = try writer.remove(flight.key, identity: identity)
      return
    }
    guard let checksum = item.result.checksum else { preconditionFailure("only whole bodies are stored") }
    try flight.entry.shownURL.withRawBytes { url throws(CacheError) in
      var entry = NewEntry(flight, identity: identity, url: url, image: image, verified: processed.verified, checksum: checksum)
      switch (processed.stored, image.body) {
      case (.nothing, _): item.result.storedBytes = 0
      case (.instead(let serialized), _):
        item.result.storedBytes = UInt64(serialized.bytes.count)
        try serialized.bytes.withRawBytes { bytes throws(CacheError) in
          entry.describe(serialized.verified, checksum: ImageCaching.checksum(of: bytes))
          try writer.store(entry, body: .bytes(bytes))
        }
      case (.asItCame, .bytes(let bytes)):
        try bytes.withRawBytes { bytes throws(CacheError) in try writer.store(entry, body: .bytes(bytes)) }
      case (.asItCame, .staged(let blob)): try writer.store(entry, body: .staged(blob))
      case (.asItCame, .prefix), (.asItCame, .unwritten): preconditionFailure("only whole bodies are stored")
      }
    }
    item.head = try writer.head(of: flight.key, identity: identity)
    item.result.freshUntil = item.head.flatMap { flight.context.cache?.expiry(of: $0) }
  }
}

extension CommitBatch.Item {
  /// What a failed transaction means for this item.
  fileprivate mutating func fail(_ error: CacheError) {
    result.storedBytes = nil
    switch change {
    case .store, .keepTransformed,
      _ where product?.transformed != nil:
      let failure = Failure(.cacheWrite, message: "\(error)")
      result.outcome = .failed
      result.details = EntryResult.Details(failure: failure, contentType: result.details?.contentType)
    case .blacklist(let failure):
      result.details = EntryResult.Details(
        failure: failure,
        finalURL: result.details?.finalURL,
        contentType: result.details?.contentType,
        warnings: ["not put on the blacklist: \(error)"]
      )
    case .unblacklist:
      let warning = "not taken off the blacklist: \(error)"
      result.details = EntryResult.Details(warnings: (result.details?.warnings ?? []) + [warning])
    case .raiseProof:
      let warning = "its proof was not written down: \(error)"
      result.details = EntryResult.Details(warnings: (result.details?.warnings ?? []) + [warning])
    case .revalidate:
      let warning = "that it is still right was not written down: \(error)"
      result.details = EntryResult.Details(warnings: (result.details?.warnings ?? []) + [warning])
    }
    leftBlacklist = false
    joinedBlacklist = false
  }
}
