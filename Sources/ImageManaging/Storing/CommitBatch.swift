import ImageCaching
import ImageDownloading
import Base

/// The final result of a flight: its commit is synced, or it needs none.
struct Committed: Sendable {
  let number: UInt64
  let flight: Flight
  /// The image that was stored or found.
  var name: ImageName
  var result: EntryResult
  /// The parts for completions and the memory layer.
  let product: ImageProduct?
  var head: EntryHead?
  var leftBlacklist = false
  var joinedBlacklist = false
  /// Whether the record is gone, so that every waiter must be looked up again.
  var isVoid = false
  /// False if the product is only delivered, neither stored nor remembered.
  var mayBeKept = true

  /// The transformed image to store.
  var transformed: SerializedImage? { mayBeKept ? product?.transformed : nil }

  init(_ number: UInt64, _ flight: Flight, _ result: EntryResult, _ product: ImageProduct? = nil) {
    self.number = number
    self.flight = flight
    name = flight.name
    self.result = result
    self.product = product
  }
}

/// The changes of one transaction, and the results that become final with it.
struct CommitBatch: Sendable {
  /// The maximum number of entries that wait for a commit.
  static let entryLimit = 512
  /// The maximum number of bytes of bodies that wait for a commit.
  static let byteLimit = 5 << 20

  enum Change: Sendable {
    case store(Judged)
    case blacklist(ImageFailure)
    case raiseProof(EntryHead, VerifiedImage)
    /// Only the transformed image of a cached one is new; with the verification of the cached one.
    case keepTransformed(VerifiedImage)
    /// The server has confirmed the record; with a deeper verification, if there is one.
    case revalidate(EntryHead, DownloadResponse, VerifiedImage?)
    /// A good image that isn't stored, but whose URL was blacklisted.
    case unblacklist
  }

  private var changes: [Change] = []
  private(set) var results: [Committed] = []
  /// The resources that the commit releases.
  private(set) var held = BackPressure.Held()
  private(set) var context: LoadContext?
  /// The time of the first change; nil if there is none.
  private(set) var began: MonotonicInstant?
  /// Whether a caller waits for one of the images itself, not only for its storage.
  private(set) var isAwaited = false

  var isEmpty: Bool { results.isEmpty }
  var isFull: Bool { results.count >= Self.entryLimit || held.bytes >= Self.byteLimit }

  /// Whether changes of `context` can join this batch: one transaction writes to one cache.
  func accepts(_ context: LoadContext) -> Bool { self.context == nil || self.context?.cache === context.cache }

  mutating func add(_ change: Change, _ result: Committed, _ held: BackPressure.Held) {
    context = result.flight.context
    if began == nil { began = TimeSource.system.monotonic() }
    isAwaited = isAwaited || result.flight.context.isAwaited
    self.held += held
    changes.append(change)
    results.append(result)
  }

  /// Writes everything in one synced transaction and updates the results. If the transaction fails, every image in it fails as
  /// `cache-write` or is delivered all the same; none of it is stored. If it lacks room, older images make room once. Then each half is
  /// tried alone: only images that have no room fail.
  mutating func commit(_ room: inout RoomOnDisk) {
    guard let cache = context?.cache else { return }
    commit(results.indices, to: cache, &room)
  }

  private mutating func commit(_ range: Range<Int>, to cache: ImageCache, _ room: inout RoomOnDisk) {
    do throws(CacheError) {
      try cache.write(delaysReuse: true) { writer throws(CacheError) in
        for index in range { try Self.write(changes[index], &results[index], with: writer) }
      }
      room.wasFound()
    } catch {
      if error.isLackOfRoom, let context, room.make(held.bytes, for: context) { return commit(range, to: cache, &room) }
      guard error.isLackOfRoom, range.count > 1 else {
        for index in range { results[index].fail(changes[index], error) }
        return
      }
      let middle = range.lowerBound + range.count / 2
      commit(range.lowerBound..<middle, to: cache, &room)
      commit(middle..<range.upperBound, to: cache, &room)
    }
  }

  private static func write(_ change: Change, _ committed: inout Committed, with writer: borrowing CacheWriter) throws(CacheError)
  {
    let flight = committed.flight
    let (name, own) = (flight.name, flight.own)
    // Set by an earlier transaction that failed.
    committed.result.storedBytes = nil
    switch change {
    case .store(let image):
      try store(image, &committed, with: writer)
      if flight.known != nil { committed.leftBlacklist = try writer.unblacklist(own.key, identity: own.identity) }
    case .unblacklist:
      committed.leftBlacklist = try writer.unblacklist(own.key, identity: own.identity)
    case .blacklist(let failure):
      committed.joinedBlacklist = try writer.blacklist(
        own.key,
        identity: own.identity,
        shownURL: flight.entry.shownURL,
        kind: failure.kind,
        status: failure.status,
        runStart: flight.context.runStart
      )
    case .raiseProof(let head, let verified):
      try writer.raiseProof(of: name.key, identity: name.identity, from: head, to: NewProof(verified))
    case .keepTransformed: break
    case .revalidate(let head, let response, let verified):
      try revalidate(head, response, verified, &committed, with: writer)
    }
    if !committed.isVoid { try storeTransformed(change, &committed, with: writer) }
  }

  /// Renews a record that the server has confirmed.
  private static func revalidate(
    _ head: EntryHead,
    _ response: DownloadResponse,
    _ verified: VerifiedImage?,
    _ committed: inout Committed,
    with writer: borrowing CacheWriter
  ) throws(CacheError) {
    let flight = committed.flight
    let (key, identity) = (flight.name.key, flight.name.identity)
    let freshness = response.freshness(renewing: head.freshness)
    try writer.revalidate(
      key,
      identity: identity,
      from: head,
      freshness: freshness,
      validators: response.validators.isEmpty ? nil : response.validators,
      runStart: flight.context.runStart
    )
    if let verified { try writer.raiseProof(of: key, identity: identity, from: head, to: NewProof(verified)) }
    if flight.known != nil { committed.leftBlacklist = try writer.unblacklist(flight.own.key, identity: flight.own.identity) }
    if identity == flight.shared?.identity, response.hasCacheControl, !response.isForAnySender {
      try removeShared(flight, with: writer)
    }
    committed.head = try writer.head(of: key, identity: identity)
    committed.isVoid = committed.head == nil
    committed.result.freshUntil = committed.head.flatMap { flight.context.cache?.expiry.end(of: $0) }
    try revalidateTransformed(committed, made: head, freshness: freshness, with: writer)
  }

  /// Removes an image that a 304 takes back from other senders (RFC 9111, sections 3.2 and 3.5): each of them loads its own.
  private static func removeShared(_ flight: Flight, with writer: borrowing CacheWriter) throws(CacheError) {
    let identity = flight.name.identity
    for identity in [identity, flight.context.transform?.identity(of: identity)].compactMap(\.self) {
      _ = try writer.remove(CacheKey(identity: identity), identity: identity)
    }
  }

  /// Stores the original, if the context keeps it.
  private static func store(
    _ image: Judged,
    _ committed: inout Committed,
    with writer: borrowing CacheWriter
  ) throws(CacheError) {
    let (flight, name) = (committed.flight, committed.name)
    // Older ones are outdated: that of the credentials alone, and that of all.
    for other in [flight.own, flight.shared].compactMap(\.self) where other.identity != name.identity {
      _ = try writer.remove(other.key, identity: other.identity)
    }
    guard flight.context.keepsOriginalOnDisk else {
      _ = try writer.remove(name.key, identity: name.identity)
      return
    }
    guard let checksum = committed.result.checksum, let verified = image.verified else {
      preconditionFailure("only whole verified bodies are stored")
    }
    var fields = EntryFields(name.identity, flight, image, verified, checksum: checksum)
    let body: NewBody?
    switch (image.stored, image.body) {
    case (.nothing, _): (body, committed.result.storedBytes) = (nil, 0)
    case (.instead(let serialized), _):
      committed.result.storedBytes = UInt64(serialized.bytes.count)
      fields.head.describe(serialized)
      body = .bytes(serialized.bytes)
    case (.asItCame, .bytes(let bytes)): body = .bytes(bytes)
    case (.asItCame, .staged(let blob)): body = .staged(blob)
    case (.asItCame, .prefix), (.asItCame, .unwritten): preconditionFailure("only whole bodies are stored")
    }
    if let body { try writer.store(fields, body: body, runStart: flight.context.runStart) }
    committed.head = try writer.head(of: name.key, identity: name.identity)
    committed.result.freshUntil = committed.head.flatMap { flight.context.cache?.expiry.end(of: $0) }
  }
}

/// Makes room on a full disk by removing older images; on the committer's thread only.
struct RoomOnDisk {
  /// How long nothing more is removed if that didn't help: something else fills the disk.
  private static let pause = Duration.seconds(10)
  /// More than the pages that a small commit needs.
  private static let leastByteCount = 1 << 20

  private var next: MonotonicInstant?

  /// Removes twice as many bytes, as far as the context's cache has images that may go. Returns whether any was removed.
  mutating func make(_ byteCount: Int, for context: LoadContext) -> Bool {
    let now = TimeSource.system.monotonic()
    guard let cache = context.writeCache, next.map({ $0 <= now }) ?? true else { return false }
    next = now.advanced(by: Self.pause)
    do throws(CacheError) {
      let needed = max(Self.leastByteCount, 2 * byteCount)
      let removed = try cache.makeRoom(needed, protecting: context.runStart, used: context.used)
      context.recordTrim(removed)
      return removed != TrimResult()
    } catch {
      context.recordWarning("cannot make room in the cache: \(context.sentence(error))")
      return false
    }
  }

  /// Notes that a commit had room.
  mutating func wasFound() { next = nil }
}

extension Committed {
  /// Handles the failure of the transaction of its change.
  fileprivate mutating func fail(_ change: CommitBatch.Change, _ error: CacheError) {
    result.storedBytes = nil
    let sentence = flight.context.sentence(error)
    switch change {
    case .store, .keepTransformed,
      _ where transformed != nil:
      let failure = ImageFailure(.cacheWrite, message: sentence)
      guard flight.context.options.faults.requiresStoring else {
        if result.outcome == .downloaded { result.outcome = .checked }
        (result.details.storeFailure, head, result.freshUntil) = (failure, nil, nil)
        flight.context.recordWarning("images are served without being stored: \(sentence)")
        break
      }
      let contentType = result.contentType
      result.outcome = .failed
      result.details = EntryResult(.failed, failure: failure).details
      result.details.contentType = contentType
    case .blacklist:
      result.details.isBlacklisted = false
      result.details.warnings = ["couldn't add the URL to the blacklist: \(sentence)"]
    case .unblacklist: result.details.warnings.append("couldn't remove the URL from the blacklist: \(sentence)")
    case .raiseProof: result.details.warnings.append("couldn't save the verification: \(sentence)")
    case .revalidate: result.details.warnings.append("couldn't save the revalidation: \(sentence)")
    }
    leftBlacklist = false
    joinedBlacklist = false
  }
}

// A transformed image is stored in addition to its original or instead of it, under an identity of its own.
extension CommitBatch {
  fileprivate static func storeTransformed(
    _ change: Change,
    _ committed: inout Committed,
    with writer: borrowing CacheWriter
  ) throws(CacheError) {
    let (flight, context) = (committed.flight, committed.flight.context)
    guard let product = committed.product, let new = committed.transformed, let transform = context.transform else { return }
    let made = product.known.head
    let identity = transform.identity(of: committed.name.identity)
    let checksum = new.bytes.withRawBytes { ImageCaching.checksum(of: $0) }
    var runStart = context.runStart
    var fields: EntryFields
    var source: Checksum? = made.checksum
    switch change {
    case .store(let image):
      fields = EntryFields(identity, flight, image, new.verified, checksum: checksum)
      source = committed.head?.checksum ?? committed.result.checksum
    case .blacklist, .raiseProof, .keepTransformed, .revalidate, .unblacklist:
      fields = EntryFields(
        key: CacheKey(identity: identity),
        head: EntryHead(new.verified, checksum: checksum, freshness: made.freshness),
        identity: identity,
        shownURL: flight.entry.shownURL,
        vary: product.known.vary
      )
      // A transformed image older than its original counts as made from another one.
      runStart = runStart.map { max($0, made.storedAt) }
      let storedAt = writer.storingTime(runStart, fields.head)
      fields.head.lifetime = context.remainingLifetime(of: made, from: storedAt)
    }
    (fields.etag, fields.lastModified) = (source?.sourceTag.map { Array($0.utf8) } ?? [], [])
    // The transformed image needs no verification; the record has the original's.
    (fields.head.proof, fields.head.hasWarnings) = originalProof(change, of: flight)
    try writer.store(fields, body: .bytes(new.bytes), runStart: runStart)
    let head = try writer.head(of: fields.key, identity: identity)
    committed.result.freshUntil = head.flatMap { context.cache?.expiry.end(of: $0) }
    let original = if case .store = change { committed.result.storedBytes ?? committed.head?.bodySize ?? 0 } else { UInt64(0) }
    committed.result.storedBytes = original + UInt64(new.bytes.count)
    let image = new.verified.image
    committed.result.transformed = TransformedImage(
      format: image.format,
      width: image.width,
      height: image.height,
      bytes: UInt64(new.bytes.count),
      checksum: checksum
    )
  }

  /// How deeply an original was verified, by its record or just now, and whether a decoder warned.
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

  /// Revalidates a transformed image together with its original, unless it was made from another one.
  ///
  /// - Parameter original: the record before the revalidation.
  fileprivate static func revalidateTransformed(
    _ committed: Committed,
    made original: EntryHead,
    freshness: Freshness?,
    with writer: borrowing CacheWriter
  ) throws(CacheError) {
    let context = committed.flight.context
    guard committed.transformed == nil, let transform = context.transform else { return }
    let identity = transform.identity(of: committed.name.identity)
    let key = CacheKey(identity: identity)
    guard
      let head = try writer.head(of: key, identity: identity),
      try head.isMade(of: original, { () throws(CacheError) in try writer.details(of: key, identity: identity) })
    else { return }
    _ = try writer.revalidate(key, identity: identity, from: head, freshness: freshness, runStart: context.runStart)
  }
}

extension LoadContext {
  /// The remaining lifetime of a cached image from `storedAt`, for its transformed image; nil: by the cache's rule.
  fileprivate func remainingLifetime(of original: EntryHead, from storedAt: Timestamp) -> Duration? {
    guard let cache, cache.configuration.expireBy == .modification, let end = cache.expiry.end(of: original) else { return nil }
    return .milliseconds(max(0, end.milliseconds &- storedAt.milliseconds))
  }
}

extension EntryFields {
  /// The record of a received image, or of the image made of it in the same flight.
  fileprivate init(_ identity: [UInt8], _ flight: Flight, _ image: Judged, _ verified: VerifiedImage, checksum: Checksum) {
    let response = image.response
    self.init(
      key: CacheKey(identity: identity),
      head: EntryHead(verified, checksum: checksum, status: response.status, freshness: response.freshness),
      identity: identity,
      shownURL: flight.entry.shownURL,
      validators: response.validators,
      contentType: response.contentType,
      vary: image.vary
    )
  }
}

extension EntryHead {
  /// Sets the properties of bytes other than the received ones.
  fileprivate mutating func describe(_ serialized: SerializedImage) {
    let verified = serialized.verified
    (image, proof, contentTypeMatch) = (verified.image, verified.proof, verified.contentTypeMatch)
    checksum = serialized.bytes.withRawBytes { ImageCaching.checksum(of: $0) }
  }
}
