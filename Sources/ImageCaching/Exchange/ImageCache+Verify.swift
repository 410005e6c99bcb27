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
