public import Base

/// A cached image and its bytes.
public struct CachedData: Sendable, Hashable {
  /// Its bytes as stored, which match the record's checksum.
  public let bytes: [UInt8]
  package let head: EntryHead
  public var format: ImageFormat? { head.image.format }
  /// Its XXH3 checksum of 128 bits.
  public var checksum: Checksum { head.checksum }
  /// Whether it has expired by the cache's rules, so that it should be revalidated.
  public let isExpired: Bool
}

/// Images by identity, for callers without a batch. Each method has an asynchronous form in ``AsyncImageCache``.
extension ImageCache {
  /// The image of an identity, fresh or expired; nil if there is none. Whether it depends on request headers (`Vary`) isn't
  /// checked. If the cache expires by access, the use is recorded, at most hourly per entry.
  ///
  /// The body is verified. A damaged one counts as a miss, and its record is removed if the cache is writable, so that it is
  /// fetched again.
  package func data(forIdentity identity: [UInt8]) throws(CacheError) -> CachedData? {
    let key = CacheKey(identity: identity)
    let found = try read { (reader) throws(CacheError) in
      try reader.transaction.entry(key, identity).map { entry in
        let head = entry.head
        return (head: head, isExpired: expiry.isExpired(head, at: reader.now), needsTouch: reader.needsTouch(head))
      }
    }
    guard let (head, isExpired, needsTouch) = found, let body = try body(of: key, identity: identity, as: head) else {
      return nil
    }
    let isWritable = configuration.access == .readWrite
    guard case .bytes(let bytes) = body else {
      if isWritable { _ = try removeDamaged(key, head) }
      return nil
    }
    if needsTouch && isWritable { try write { (writer) throws(CacheError) in try writer.touch(key, identity: identity) } }
    return CachedData(bytes: bytes, head: head, isExpired: isExpired)
  }

  /// Whether an unexpired image of that identity is cached; its body isn't read.
  package func contains(identity: [UInt8]) throws(CacheError) -> Bool {
    try identity.withRawBytes { (identity) throws(CacheError) in
      try read { (reader) throws(CacheError) in
        if case .fresh = try reader.lookUp(CacheKey(identity: identity), identity: identity) { true } else { false }
      }
    }
  }

  /// Removes the entry of an identity; returns whether there was one.
  @discardableResult
  package func remove(identity: [UInt8]) throws(CacheError) -> Bool {
    try write { (writer) throws(CacheError) in try writer.remove(CacheKey(identity: identity), identity: identity) }
  }

  /// Stores an image's bytes, replacing the entry of that identity; returns once it is synced to disk. The bytes count as
  /// unverified; the first ones determine the format.
  ///
  /// `url` is the URL as first written, which exports use. Neither it nor the identity may contain credentials. `lifetime`
  /// overrides the cache's rule. Throws `diskFull` if there is no space, and `storingStopped` after any other failed write, also
  /// for all later ones.
  package func storeData(
    _ bytes: [UInt8],
    identity: [UInt8],
    url: [UInt8],
    contentType: String? = nil,
    validators: Validators = Validators(),
    freshness: Freshness = Freshness(),
    lifetime: Duration? = nil
  ) throws(CacheError) {
    let image = ImageProperties(format: bytes.withUnsafeBytes(ImageFormat.init(prefix:)), frames: 0)
    let head = EntryHead(
      image: image,
      proof: .none,
      contentTypeMatch: image.format.map { ContentTypeMatch(declared: contentType, format: $0) }
        ?? (contentType == nil ? .absent : .mismatch),
      checksum: bytes.withUnsafeBytes(checksum(of:)),
      freshness: freshness,
      lifetime: lifetime
    )
    let fields = EntryFields(
      key: CacheKey(identity: identity),
      head: head,
      identity: identity,
      shownURL: url,
      validators: validators,
      contentType: contentType
    )
    let body = try recreating { (environment) throws(CacheError) in try NewBody(bytes, in: environment.folder) }
    try write { (writer) throws(CacheError) in try writer.store(fields, body: body) }
  }
}

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
  /// Reads every body, concurrently with other users of the cache, and compares it with its record. With `repair`, the default,
  /// it removes damaged images, so that they are fetched again, and large bodies without a record.
  @discardableResult
  package func verify(repair: Bool = true) throws(CacheError) -> VerifyResult { try verify(repair: repair) { _, _ in } }

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
  package func removeDamaged(_ key: CacheKey, _ head: EntryHead) throws(CacheError) -> Bool {
    // A record that another thread has removed meanwhile, as a trim does, needs no transaction that waits for other writers.
    guard try read({ (reader) throws(CacheError) in try reader.transaction.entry(key)?.head.revision }) == head.revision else {
      return false
    }
    return try write { (writer) throws(CacheError) in
      guard let current = try writer.transaction.entry(key)?.head, current.revision == head.revision else { return false }
      try writer.transaction.remove(key, current)
      return true
    }
  }
}
