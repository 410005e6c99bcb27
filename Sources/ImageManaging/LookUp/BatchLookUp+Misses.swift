import ImageCaching
import Base

// Requests that the own cache can't serve: looked up in the read-only ones, then decided by the blacklist or fetched.
extension BatchLookUp {
  mutating func look(into store: ReadOnlyCache) throws(CacheError) {
    let asked = misses
    misses.removeAll(keepingCapacity: true)
    switch store.store {
    case .cache(let cache):
      try cache.read(runStart: context.runStart) { reader throws(CacheError) in
        for request in asked { try look(for: request, in: cache, reader) }
      }
    case .folder where !rules.usesOriginal: misses = asked
    case .folder(let folder):
      for var request in asked {
        let url = UnsafeRawBufferPointer(rebasing: bytes[entries[request.index].requestRange])
        // A file's name identifies a URL only, without a variant or credentials.
        guard context.identitySuffix(entries[request.index].variant, for: url) == nil else {
          misses.append(request)
          continue
        }
        let isThere = try identities.withWrittenURL(request.index) { url throws(CacheError) in
          try folder.contains(url: url) { context.recordWarning("\($0)") }
        }
        if !isThere || request.revalidation != nil && rules.prefersOwnCopy || context.mode.refreshes {
          misses.append(request)
        } else if context.mode.isDryRun {
          decide(request.index, as: EntryResult(.hitDisk))
        } else {
          request.copy = CachedCopy(source: .file(folder), remembered: remembered(request.index))
          request.revalidation = nil
          undecided.append(request)
        }
      }
    }
  }

  private mutating func look(for request: Undecided, in cache: ImageCache, _ reader: borrowing CacheReader) throws(CacheError) {
    var request = request
    let index = request.index
    guard request.revalidation == nil || !rules.prefersOwnCopy else { return misses.append(request) }
    var isFound = try identities.withIdentity(index, hashedBy: cache.credentialHasher) { identity throws(CacheError) in
      try isServed(&request, identity, cache, reader)
    }
    if !isFound, let shared = identities.shared(index) {
      isFound = try shared.identity.withRawBytes { identity throws(CacheError) in try isServed(&request, identity, cache, reader)
      }
    }
    if !isFound { misses.append(request) }
  }

  /// Whether a read-only cache has an image of that identity for a request, which is decided then, or gets a copy to read.
  private mutating func isServed(
    _ request: inout Undecided,
    _ identity: UnsafeRawBufferPointer,
    _ cache: ImageCache,
    _ reader: borrowing CacheReader
  ) throws(CacheError) -> Bool {
    let (index, key) = (request.index, CacheKey(identity: identity))
    if try decideByTransformed(index, key, identity, cache, reader, isOwn: false) { return true }
    guard rules.usesOriginal else { return false }
    switch try finding(index, key, identity, cache, reader) {
    case .hit(let head):
      decide(index, as: EntryResult(.hitDisk, head: head, in: cache))
    case .unfit(let failure):
      decide(index, as: EntryResult(.failed, failure: failure))
    case .copy(let head):
      request.copy = try copy(index, head, key, identity, cache, reader, isOwn: false)
      (request.revalidation, request.shared) = (nil, nil)
      undecided.append(request)
    // Images that expired in a read-only cache are fetched into the own one.
    case .nothing, .stale: return false
    }
    return true
  }

  // MARK: Misses

  /// Decides requests that no cache can serve: by the blacklist, or by whether the mode allows requests.
  mutating func settleMisses() {
    for request in misses {
      let index = request.index
      if context.needsData, let remembered = remembered(index) {
        decided.append(index, completion(index, remembered))
      } else if let known = request.known, !context.retriesBlacklisted {
        // A load that delivers the image gets the cached one, unless that is too old. A run that refreshes mustn't report it as good.
        if request.revalidation != nil, rules.prefersOwnCopy, !rules.refreshes || context.isAwaited {
          serveAsItIs(request)
        } else {
          decide(index, as: context.result(forKnownBad: known))
        }
      } else if context.mode.usesNetwork {
        undecided.append(request)
      } else {
        decide(index, as: EntryResult(.skipped))
      }
    }
  }

  /// Removes requests that the hook doesn't want fetched: a miss ends without image, and a cached image is served as it is.
  mutating func removeUnwanted(_ shouldDownload: (String) -> Bool) {
    let asked = undecided
    undecided.removeAll(keepingCapacity: true)
    for request in asked {
      let isFetched = !request.wasInFlight && request.copy == nil
      if !isFetched || identities.withWrittenURL(request.index, { shouldDownload(String(decoding: $0, as: UTF8.self)) }) {
        undecided.append(request)
      } else {
        serveAsItIs(request)
      }
    }
  }

  /// Serves the cached image of a request that was to be revalidated; without one it ends without image.
  private mutating func serveAsItIs(_ request: Undecided) {
    var request = request
    let index = request.index
    guard rules.prefersOwnCopy, let revalidation = request.revalidation, let cache = context.cache else {
      decide(index, as: EntryResult(.skipped))
      return
    }
    if context.decodesOriginals || context.needsData {
      let name = request.shared ?? ImageName(key: keys[index], identity: identities.withIdentity(index) { Array($0) })
      let source = CachedCopy.Source.entry(cache, key: name.key, identity: name.identity, head: revalidation.head, isOwn: true)
      request.copy = CachedCopy(source: source, vary: revalidation.details.vary)
      request.revalidation = nil
      undecided.append(request)
    } else {
      let result = EntryResult(.hitDisk, head: revalidation.head, in: cache)
      decide(index, as: result)
    }
  }
}
