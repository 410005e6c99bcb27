import ImageCaching
import ImagePrimitives

extension BatchLookUp {
  /// Decides a request by the transformed image that a cache has, in place of the original; false where it has none.
  ///
  /// Its record is enough where nothing is decoded: the rules for images were for the original, and it was made by us. What was made of an
  /// older original than the cache has by now is as good as none.
  mutating func decideByTransformed(
    _ index: Int,
    _ identity: UnsafeRawBufferPointer,
    _ cache: ImageCache,
    _ reader: borrowing CacheReader,
    isOwn: Bool
  ) throws(CacheError) -> Bool {
    guard rules.looksForTransformed, let transform = context.transform else { return false }
    let transformed = transform.identity(of: identity)
    return try transformed.withRawBytes { bytes throws(CacheError) in
      let key = CacheKey(identity: bytes)
      guard case .fresh(let head) = try reader.lookUp(key, identity: bytes) else { return false }
      guard rules.verification.acceptsTransformed(head) else { return false }
      switch try reader.lookUp(isOwn ? keys[index] : CacheKey(identity: identity), identity: identity) {
      case .missing: break
      case .fresh(let original), .expired(let original):
        guard head.storedAt >= original.storedAt else { return false }
        // Whoever makes it anew counts both.
        if isPlaceholder(index, original.checksum) { return false }
      }
      let vary = head.hasVary ? try reader.vary(of: key, identity: bytes) : []
      guard vary.isEmpty || matchesVary(index, vary, cache) else { return false }
      if isPlaceholder(index, head.checksum) { return false }
      if rules.isDryRun || !context.needsPixels && !context.needsData && !context.options.verifiesHits {
        isOwn ? decide(index, head, key, cache, reader) : decide(index, as: EntryResult(.hitDisk, head: head, in: cache))
        return true
      }
      let place = CachedCopy.Place.entry(cache, key: key, identity: transformed, head: head, isOwn: isOwn)
      undecided.append(Undecided(index: index, copy: CachedCopy(place: place, vary: vary, isTransformed: true)))
      return true
    }
  }
}

extension LoadContext {
  /// Whether there are bytes of transformed images.
  var keepsTransformed: Bool { transform != nil && (options.encoding != nil || options.hooks.cacheSerializer != nil) }
}
