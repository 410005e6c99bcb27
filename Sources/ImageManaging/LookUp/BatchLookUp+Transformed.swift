import ImageCaching
import ImagePrimitives

extension BatchLookUp {
  /// Decides a request by the transformed image that a cache has, in place of the original; false where it has none.
  ///
  /// Its record is enough where nothing is decoded: the rules for images were for the original, and it was made by us.
  mutating func decideByTransformed(
    _ index: Int,
    _ identity: UnsafeRawBufferPointer,
    _ cache: ImageCache,
    _ reader: borrowing CacheReader,
    isOwn: Bool
  ) throws(CacheError) -> Bool {
    let parts = context.parts
    guard let transform = context.transform, parts.encoding != nil || parts.hooks.cacheSerializer != nil else { return false }
    guard context.layers.reads.contains(.disk), !context.mode.refreshes else { return false }
    let transformed = transform.identity(of: identity)
    return try transformed.withRawBytes { bytes throws(CacheError) in
      let key = CacheKey(identity: bytes)
      guard case .fresh(let head) = try reader.lookUp(key, identity: bytes) else { return false }
      let vary = head.hasVary ? try reader.vary(of: key, identity: bytes) : []
      guard vary.isEmpty || matchesVary(index, vary, cache) else { return false }
      if context.mode.isDryRun || !context.needsPixels && !context.needsData && !parts.verifiesHits {
        isOwn ? decide(index, head, key, bytes, cache, reader) : decide(index, as: EntryResult(.hitDisk, head: head, in: cache))
        return true
      }
      let place = CachedCopy.Place.entry(cache, key: key, identity: transformed, head: head, isOwn: isOwn)
      undecided.append(Undecided(index: index, copy: CachedCopy(place: place, vary: vary, isTransformed: true)))
      return true
    }
  }
}
