import ImageCaching
import ImageDownloading
import ImagePrimitives
import ImageURLs

/// The result of a flight, once nothing can change it any more: its commit is synced, or it needs none.
struct Committed {
  let number: UInt64
  let flight: Flight
  var result: EntryResult
  /// What goes out with the result, and into the memory layer.
  let product: ImageProduct?
  /// The record as it is now, where there is one.
  var head: EntryHead?
  var leftBlacklist = false
  var joinedBlacklist = false
  /// Whether the record is gone, so that every waiter must be looked up again.
  var isVoid = false

  init(_ number: UInt64, _ flight: Flight, _ result: EntryResult, _ product: ImageProduct? = nil) {
    self.number = number
    self.flight = flight
    self.result = result
    self.product = product
  }
}

/// What is to be written in one transaction, and the results that become final with it.
struct CommitBatch {
  /// At most so many entries wait for a commit.
  static let entryLimit = 512
  /// At most so many bytes of bodies wait for a commit.
  static let byteLimit = 8 << 20

  enum Change {
    case store(Judged)
    case blacklist(Failure)
    case raiseProof(EntryHead, VerifiedImage)
    /// What was made of a cached image, of which nothing else is new; with what that was found to be.
    case keepTransformed(VerifiedImage)
    /// The server has said that the record is right; with a deeper proof of it, where there is one.
    case revalidate(EntryHead, Response, VerifiedImage?)
    /// A good image that is not kept, but whose URL was known bad.
    case unblacklist
  }

  /// What is to be written, one change for each of ``results``.
  private var changes: [Change] = []
  private(set) var results: [Committed] = []
  /// What the commit makes room for.
  private(set) var held = BackPressure.Held()
  private(set) var context: LoadContext?
  /// When the first change came; nil if there is none.
  private(set) var began: MonotonicInstant?
  /// Whether somebody waits for one of the images itself, not only for its being kept.
  private(set) var isAwaited = false

  var isEmpty: Bool { results.isEmpty }
  var isFull: Bool { results.count >= Self.entryLimit || held.bytes >= Self.byteLimit }

  /// Whether what belongs to `context` can join this batch: one transaction writes to one cache.
  func accepts(_ context: LoadContext) -> Bool { self.context == nil || self.context?.cache === context.cache }

  mutating func add(_ change: Change, _ result: Committed, _ held: BackPressure.Held) {
    context = result.flight.context
    if began == nil { began = TimeSource.system.monotonic() }
    isAwaited = isAwaited || !result.flight.context.options.delivery.isEmpty
    self.held += held
    changes.append(change)
    results.append(result)
  }

  /// Writes everything in one synced transaction and marks what became of each result.
  ///
  /// A transaction that fails fails every image in it as `cache-write`; nothing of it is stored.
  mutating func commit() {
    guard let cache = context?.cache else { return }
    do throws(CacheError) {
      try cache.write { writer throws(CacheError) in
        for index in results.indices { try Self.write(changes[index], &results[index], with: writer) }
      }
    } catch {
      for index in results.indices { results[index].fail(changes[index], error) }
    }
  }

  private static func write(_ change: Change, _ committed: inout Committed, with writer: borrowing CacheWriter) throws(CacheError)
  {
    let flight = committed.flight
    try flight.identity.withRawBytes { identity throws(CacheError) in
      switch change {
      case .store(let image):
        try store(image, &committed, identity, with: writer)
        if flight.known != nil { committed.leftBlacklist = try writer.unblacklist(flight.key, identity: identity) }
      case .unblacklist:
        committed.leftBlacklist = try writer.unblacklist(flight.key, identity: identity)
      case .blacklist(let failure):
        try flight.entry.shownURL.withRawBytes { url throws(CacheError) in
          committed.joinedBlacklist = try writer.blacklist(
            NewBlacklistEntry(key: flight.key, identity: identity, shownURL: url, kind: failure.kind, status: failure.status),
            runStart: flight.context.runStart
          )
        }
      case .raiseProof(let head, let verified):
        try writer.raiseProof(of: flight.key, identity: identity, from: head, to: NewProof(verified))
      case .keepTransformed: break
      case .revalidate(let head, let response, let verified):
        let validators = response.validators
        try writer.revalidate(
          flight.key,
          identity: identity,
          from: head,
          freshness: response.freshness(renewing: head.freshness),
          validators: validators.isEmpty ? nil : validators,
          runStart: flight.context.runStart
        )
        if let verified {
          try writer.raiseProof(of: flight.key, identity: identity, from: head, to: NewProof(verified))
        }
        if flight.known != nil { committed.leftBlacklist = try writer.unblacklist(flight.key, identity: identity) }
        committed.head = try writer.head(of: flight.key, identity: identity)
        committed.isVoid = committed.head == nil
        committed.result.freshUntil = committed.head.flatMap { flight.context.cache?.expiry(of: $0) }
        try revalidateTransformed(
          committed,
          identity,
          made: head,
          freshness: response.freshness(renewing: head.freshness),
          with: writer
        )
      }
      if !committed.isVoid { try storeTransformed(change, &committed, identity, with: writer) }
    }
  }

  /// Stores the original, where it is kept.
  private static func store(
    _ image: Judged,
    _ committed: inout Committed,
    _ identity: UnsafeRawBufferPointer,
    with writer: borrowing CacheWriter
  ) throws(CacheError) {
    let flight = committed.flight
    guard flight.context.keepsOriginalOnDisk else {
      // An older one is out of date.
      _ = try writer.remove(flight.key, identity: identity)
      return
    }
    guard let checksum = committed.result.checksum, let verified = image.verified else {
      preconditionFailure("only whole good bodies are stored")
    }
    try flight.entry.shownURL.withRawBytes { url throws(CacheError) in
      var entry = NewEntry(flight, identity: identity, url: url, image: image, verified: verified, checksum: checksum)
      switch (image.stored, image.body) {
      case (.nothing, _): committed.result.storedBytes = 0
      case (.instead(let serialized), _):
        committed.result.storedBytes = UInt64(serialized.bytes.count)
        try serialized.bytes.withRawBytes { bytes throws(CacheError) in
          entry.describe(serialized.verified, checksum: ImageCaching.checksum(of: bytes))
          try writer.store(entry, body: .bytes(bytes), runStart: flight.context.runStart)
        }
      case (.asItCame, .bytes(let bytes)):
        try bytes.withRawBytes { bytes throws(CacheError) in
          try writer.store(entry, body: .bytes(bytes), runStart: flight.context.runStart)
        }
      case (.asItCame, .staged(let blob)):
        try writer.store(entry, body: .staged(blob), runStart: flight.context.runStart)
      case (.asItCame, .prefix), (.asItCame, .unwritten): preconditionFailure("only whole bodies are stored")
      }
    }
    committed.head = try writer.head(of: flight.key, identity: identity)
    committed.result.freshUntil = committed.head.flatMap { flight.context.cache?.expiry(of: $0) }
  }
}

extension Committed {
  /// Takes in that the transaction of its change failed.
  fileprivate mutating func fail(_ change: CommitBatch.Change, _ error: CacheError) {
    result.storedBytes = nil
    let sentence = flight.context.sentence(error)
    switch change {
    case .store, .keepTransformed,
      _ where product?.transformed != nil:
      let failure = Failure(.cacheWrite, message: sentence)
      result.outcome = .failed
      result.details = EntryResult.Details(failure: failure, contentType: result.details?.contentType)
    case .blacklist(let failure):
      result.details = EntryResult.Details(
        failure: failure,
        finalURL: result.details?.finalURL,
        contentType: result.details?.contentType,
        warnings: ["not put on the blacklist: \(sentence)"]
      )
    case .unblacklist:
      let warning = "not taken off the blacklist: \(sentence)"
      result.details = EntryResult.Details(warnings: (result.details?.warnings ?? []) + [warning])
    case .raiseProof:
      let warning = "its proof was not written down: \(sentence)"
      result.details = EntryResult.Details(warnings: (result.details?.warnings ?? []) + [warning])
    case .revalidate:
      let warning = "that it is still right was not written down: \(sentence)"
      result.details = EntryResult.Details(warnings: (result.details?.warnings ?? []) + [warning])
    }
    leftBlacklist = false
    joinedBlacklist = false
  }
}

// What was made of an image is stored beside it, or in its place, under an identity of its own.
extension CommitBatch {
  /// Stores what was made of an image, where something is to be.
  fileprivate static func storeTransformed(
    _ change: Change,
    _ committed: inout Committed,
    _ identity: UnsafeRawBufferPointer,
    with writer: borrowing CacheWriter
  ) throws(CacheError) {
    let flight = committed.flight
    guard let product = committed.product, let new = product.transformed, let transform = flight.context.transform else { return }
    try transform.identity(of: identity).withRawBytes { identity throws(CacheError) in
      try flight.entry.shownURL.withRawBytes { url throws(CacheError) in
        try new.bytes.withRawBytes { bytes throws(CacheError) in
          let checksum = ImageCaching.checksum(of: bytes)
          var runStart = flight.context.runStart
          var entry: NewEntry
          switch change {
          case .store(let image):
            entry = NewEntry(flight, identity: identity, url: url, image: image, verified: new.verified, checksum: checksum)
          case .blacklist, .raiseProof, .keepTransformed, .revalidate, .unblacklist:
            entry = NewEntry(flight, identity: identity, url: url, madeOf: product, verified: new.verified, checksum: checksum)
            // What is older than its original counts as made of another one.
            runStart = runStart.map { max($0, product.head.storedAt) }
            let storedAt = writer.storingTime(runStart, entry.freshness)
            entry.lifetime = flight.context.remainingLifetime(of: product.head, from: storedAt)
          }
          // What was made of it is known to be good: of proof the record tells the original's.
          (entry.proof, entry.hasWarnings) = originalProof(change, of: flight)
          try writer.store(entry, body: .bytes(bytes), runStart: runStart)
          let head = try writer.head(of: entry.key, identity: identity)
          committed.result.freshUntil = head.flatMap { flight.context.cache?.expiry(of: $0) }
        }
      }
    }
    let original = if case .store = change { committed.result.storedBytes ?? committed.head?.bodySize ?? 0 } else { UInt64(0) }
    committed.result.storedBytes = original + UInt64(new.bytes.count)
  }

  /// How deeply an original was proven, by its record or just now, and whether a decoder found it odd.
  private static func originalProof(_ change: Change, of flight: Flight) -> (depth: ProofDepth, hasWarnings: Bool) {
    let (head, verified): (EntryHead?, VerifiedImage?) =
      switch change {
      case .store(let image): (nil, image.verified)
      case .raiseProof(let head, let verified): (head, verified)
      case .keepTransformed(let verified): (flight.copy?.head, verified)
      case .revalidate(let head, _, let verified): (head, verified)
      case .blacklist, .unblacklist: (nil, nil)
      }
    let depth = max(head?.proof ?? .none, verified?.proof ?? .none)
    return (depth, head?.hasWarnings == true || verified?.hasDecoderWarnings == true)
  }

  /// What was made of an image is as right as that, unless it was made of an older one.
  ///
  /// - Parameter original: the record before it was found right.
  fileprivate static func revalidateTransformed(
    _ committed: Committed,
    _ identity: UnsafeRawBufferPointer,
    made original: EntryHead,
    freshness: Freshness?,
    with writer: borrowing CacheWriter
  ) throws(CacheError) {
    guard committed.product?.transformed == nil, let transform = committed.flight.context.transform else { return }
    try transform.identity(of: identity).withRawBytes { identity throws(CacheError) in
      let key = CacheKey(identity: identity)
      guard let head = try writer.head(of: key, identity: identity), head.storedAt >= original.storedAt else { return }
      let runStart = committed.flight.context.runStart
      _ = try writer.revalidate(key, identity: identity, from: head, freshness: freshness, runStart: runStart)
    }
  }
}

extension LoadContext {
  /// For how long what was made of a cached image is as fresh as that, if it is stored then; nil: as long as the cache's rule says.
  fileprivate func remainingLifetime(of original: EntryHead, from storedAt: Timestamp) -> Duration? {
    guard let cache, cache.configuration.expireBy == .modification, let end = cache.expiry(of: original) else { return nil }
    return .milliseconds(max(0, end.milliseconds &- storedAt.milliseconds))
  }
}

extension NewEntry {
  /// What was made of a cached image.
  fileprivate init(
    _ flight: Flight,
    identity: UnsafeRawBufferPointer,
    url: UnsafeRawBufferPointer,
    madeOf original: ImageProduct,
    verified: VerifiedImage,
    checksum: Checksum
  ) {
    self.init(
      key: CacheKey(identity: identity),
      identity: identity,
      shownURL: url,
      format: verified.format,
      proof: verified.proof,
      contentTypeMatch: original.head.contentTypeMatch,
      checksum: checksum,
      freshness: original.head.freshness,
      vary: original.vary
    )
    describe(verified, checksum: checksum)
  }

  /// Tells of other bytes than those that came.
  mutating func describe(_ verified: VerifiedImage, checksum: Checksum) {
    format = verified.format
    width = UInt32(clamping: verified.size.width)
    height = UInt32(clamping: verified.size.height)
    frames = UInt32(clamping: verified.frames)
    proof = verified.proof
    contentTypeMatch = verified.contentTypeMatch
    self.checksum = checksum
  }
}
