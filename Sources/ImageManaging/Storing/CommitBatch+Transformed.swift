import ImageCaching
import ImageDownloading
import ImagePrimitives
import ImageURLs

// What was made of an image is stored beside it, or in its place, under an identity of its own.
extension CommitBatch {
  /// Stores what was made of an item's image, where something is to be.
  static func storeTransformed(
    _ item: inout Item,
    _ identity: UnsafeRawBufferPointer,
    with writer: borrowing CacheWriter
  ) throws(CacheError) {
    let flight = item.flight
    guard let product = item.product, let new = product.transformed, let transform = flight.context.transform else { return }
    try transform.identity(of: identity).withRawBytes { identity throws(CacheError) in
      try flight.entry.shownURL.withRawBytes { url throws(CacheError) in
        try new.bytes.withRawBytes { bytes throws(CacheError) in
          let checksum = ImageCaching.checksum(of: bytes)
          var entry =
            switch item.change {
            case .store(let image, _):
              NewEntry(flight, identity: identity, url: url, image: image, verified: new.verified, checksum: checksum)
            case .blacklist, .raiseProof, .keepTransformed, .revalidate, .unblacklist:
              NewEntry(flight, identity: identity, url: url, madeOf: product, verified: new.verified, checksum: checksum)
            }
          // What was made of it is known to be good: of proof the record tells the original's.
          (entry.proof, entry.hasWarnings) = originalProof(item)
          try writer.store(entry, body: .bytes(bytes))
          let head = try writer.head(of: entry.key, identity: identity)
          item.result.freshUntil = head.flatMap { flight.context.cache?.expiry(of: $0) }
        }
      }
    }
    item.result.storedBytes = keptOriginalBytes(item) + UInt64(new.bytes.count)
  }

  /// How deeply an item's original was proven, by its record or just now, and whether a decoder found it odd.
  private static func originalProof(_ item: Item) -> (depth: ProofDepth, hasWarnings: Bool) {
    let (head, verified): (EntryHead?, VerifiedImage?) =
      switch item.change {
      case .store(_, let processed): (nil, processed.verified)
      case .raiseProof(let head, let verified): (head, verified)
      case .keepTransformed(let verified): (item.flight.copy?.head, verified)
      case .revalidate(let head, _, let verified): (head, verified)
      case .blacklist, .unblacklist: (nil, nil)
      }
    let depth = max(head?.proof ?? .none, verified?.proof ?? .none)
    return (depth, head?.hasWarnings == true || verified?.hasDecoderWarnings == true)
  }

  /// Bytes of the original that were stored with an item just before.
  private static func keptOriginalBytes(_ item: Item) -> UInt64 {
    guard case .store = item.change else { return 0 }
    return item.result.storedBytes ?? item.head?.bodySize ?? 0
  }

  /// What was made of an image is as right as that, unless it was made of an older one.
  ///
  /// - Parameter original: the record before it was found right.
  static func revalidateTransformed(
    _ item: Item,
    _ identity: UnsafeRawBufferPointer,
    made original: EntryHead,
    freshness: Freshness?,
    with writer: borrowing CacheWriter
  ) throws(CacheError) {
    guard item.product?.transformed == nil, let transform = item.flight.context.transform else { return }
    try transform.identity(of: identity).withRawBytes { identity throws(CacheError) in
      let key = CacheKey(identity: identity)
      guard let head = try writer.head(of: key, identity: identity), head.storedAt >= original.storedAt else { return }
      _ = try writer.revalidate(key, identity: identity, from: head, freshness: freshness)
    }
  }
}

extension NewEntry {
  /// What was made of a cached image, which lives no longer than that.
  fileprivate init(
    _ flight: Flight,
    identity: UnsafeRawBufferPointer,
    url: UnsafeRawBufferPointer,
    madeOf original: ProcessedImage.Product,
    verified: VerifiedImage,
    checksum: Checksum
  ) {
    self.init(
      key: CacheKey(identity: identity),
      identity: identity,
      url: url,
      format: verified.format,
      proof: verified.proof,
      contentTypeMatch: original.head.contentTypeMatch,
      checksum: checksum,
      freshness: original.head.freshness,
      vary: original.vary
    )
    describe(verified, checksum: checksum)
    if let cache = flight.context.cache, cache.configuration.expireBy == .modification {
      let now = flight.context.now.milliseconds
      lifetime = cache.expiry(of: original.head).map { .milliseconds(max(0, $0.milliseconds &- now)) }
    }
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
