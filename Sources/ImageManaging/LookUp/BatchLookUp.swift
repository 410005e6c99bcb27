import ImageCaching
import ImageCoding
import ImageDownloading
import Base

/// Looks up a batch of requests: which ones the memory, the caches or the blacklist decide, and which must be fetched. A read
/// transaction covers look-ups only: results are collected, and reported after it.
struct BatchLookUp {
  /// A request that the look-up did not decide.
  struct Undecided {
    let index: Int
    /// Whether its identity was in flight at the look-up: the flight's result may be available by now.
    var wasInFlight = false
    var known: BlacklistHead?
    /// A cached image whose body must be read first.
    var copy: CachedCopy?
    var revalidation: Revalidation?
    /// The image of ``copy`` or ``revalidation`` if that is for any credentials; else nil.
    var shared: ImageName?

    /// Whether it relies on the flight of its identity, and must be looked up again if that has ended.
    var mustShare: Bool { wasInFlight && copy == nil }
  }

  private let batch: EntryBatch
  let entries: [BatchEntry]
  let bytes: UnsafeRawBufferPointer
  let context: LoadContext
  let rules: LookUpRules
  let identities: RequestIdentities
  /// Whether records aren't enough for a request, since its list says more about it.
  let dependsOnNotes: Bool

  var decided = DecidedRequests()
  var undecided: [Undecided] = []
  var staleTouches: [EntryTouch] = []
  var misses: [Undecided] = []
  var varyVerdicts = VaryVerdicts()
  /// The revisions of entries of the own cache that decide requests.
  private var used: [UInt64] = []

  init(_ batch: EntryBatch, in bytes: UnsafeRawBufferPointer, context: LoadContext) {
    self.batch = batch
    entries = batch.entries
    self.bytes = bytes
    self.context = context
    rules = LookUpRules(context)
    dependsOnNotes =
      batch.hasOwners
      && batch.entries.indices.contains { batch.note($0).map { $0.expectation?.sha256 != nil || $0.modified != nil } ?? false }
    identities = RequestIdentities(entries, in: bytes, context: context)
  }

  var keys: [CacheKey] { identities.keys }

  /// The flight of an entry if it starts one, with a buffer of its own.
  func flight(for request: Undecided) -> Flight {
    let index = request.index
    let entry = entries[index].compact(in: bytes, owner: batch.owner(index))
    return Flight(
      own: ImageName(key: keys[index], identity: identities.other(index) ?? entry.requestURL),
      shared: identities.shared(index),
      usesShared: request.shared != nil,
      entry: entry,
      context: context,
      known: request.known,
      copy: request.copy,
      revalidation: request.revalidation
    )
  }

  /// Looks up the requests of `indices`, replacing the results of an earlier run.
  ///
  /// - Parameters:
  ///   - inFlight: for each of `indices`, whether its identity is in flight; nil if none is.
  ///   - helpers: threads that help with large batches when they are idle.
  ///   - report: called with decided requests, outside of any read transaction.
  mutating func run(
    _ indices: [Int],
    inFlight: [Bool]?,
    helping helpers: CodingThreads,
    report: (Int, LoadCompletion) -> Void
  ) throws(CacheError) {
    decided.removeAll()
    undecided.removeAll(keepingCapacity: true)
    staleTouches.removeAll(keepingCapacity: true)
    misses.removeAll(keepingCapacity: true)
    // Nearly all requests of a batch are hits, or nearly none.
    decided.reserveCapacity(indices.count)
    if let shared = SharedLookUp(self, indices) {
      try shared.run(helping: helpers) { slice in
        slice.decided.forEach(hitsIn: context.cache, report)
        undecided += slice.undecided
        staleTouches += slice.staleTouches
        misses += slice.misses
      }
    } else {
      try lookIntoOwnCache(indices[...])
    }
    if rules.readsOriginals, !misses.isEmpty {
      for store in context.options.readOnly { try look(into: store) }
    }
    settleMisses()
    if let inFlight { mark(indices, inFlight) }
    if let shouldDownload = context.options.hooks.shouldDownload { removeUnwanted(shouldDownload) }
    decided.forEach(hitsIn: context.cache, report)
  }

  mutating func decide(_ index: Int, as result: EntryResult) { decided.append(index, LoadCompletion(result)) }

  mutating func lookIntoOwnCache(_ indices: ArraySlice<Int>) throws(CacheError) {
    guard let cache = context.cache else {
      for index in indices where !decideFromMemory(index) { misses.append(Undecided(index: index)) }
      return
    }
    let plain = PlainLookUp(self)
    try cache.read(runStart: context.runStart) { reader throws(CacheError) in
      for index in indices where !decideFromMemory(index) {
        switch try plain?.find(index, reader) ?? .unclear {
        case .hit(let head): decide(index, head, keys[index], reader)
        case .nothing(let known): misses.append(Undecided(index: index, known: known))
        case .unclear: try decide(index, cache, reader)
        }
      }
    }
    context.used?.insert(used)
    used.removeAll(keepingCapacity: true)
  }

  mutating func mark(_ indices: [Int], _ inFlight: [Bool]) {
    let marked = Set(zip(indices, inFlight).lazy.filter(\.1).map(\.0))
    for index in undecided.indices where marked.contains(undecided[index].index) { undecided[index].wasInFlight = true }
  }

  // MARK: Memory

  /// Decides a request by the memory layer, or finds the original to transform there; returns false if neither is there, or if more than
  /// the image is requested.
  mutating func decideFromMemory(_ index: Int) -> Bool {
    // What a list expects is about the original, which memory may not have.
    guard rules.looksInMemory, !context.needsData, expectation(index) == nil, modified(index) == nil else { return false }
    if let remembered = remembered(index) {
      if context.options.delivery.contains(.image) {
        decided.append(index, completion(index, remembered))
      } else {
        decided.append(index, .hitMemory, remembered.shown)
      }
      return true
    }
    guard context.transform != nil, context.layers.readsOriginal.contains(.memory) else { return false }
    guard let original = remembered(index, isOriginal: true) else { return false }
    undecided.append(Undecided(index: index, copy: CachedCopy(source: .memory(original))))
    return true
  }

  /// What its list expects of a request's image; nil for nothing.
  func expectation(_ index: Int) -> ImageExpectation? { batch.note(index)?.expectation }

  /// When the image of a request may have changed, by its list; nil if that doesn't count, or nothing may be requested.
  func modified(_ index: Int) -> Timestamp? { dependsOnNotes && context.mode != .only ? batch.note(index)?.modified : nil }

  func completion(_ index: Int, _ remembered: RememberedImage) -> LoadCompletion {
    let result = EntryResult(.hitMemory, head: remembered.shown, in: context.cache, isTransformed: context.transform != nil)
    let image = context.options.delivery.contains(.image) ? remembered.image : nil
    return LoadCompletion(result, payload: image.map { LoadPayload(image: $0) })
  }

  mutating func remembered(_ index: Int) -> RememberedImage? {
    guard rules.looksInMemory, context.layers.reads.contains(.memory) else { return nil }
    return remembered(index, isOriginal: false)
  }

  /// The image of a request in memory, its own or else one for any credentials.
  private mutating func remembered(_ index: Int, isOriginal: Bool) -> RememberedImage? {
    let own = keys[index]
    if let found = identities.withIdentity(index, { remembered(index, own, $0, isOriginal) }) { return found }
    guard let shared = identities.shared(index) else { return nil }
    return shared.identity.withRawBytes { remembered(index, shared.key, $0, isOriginal) }
  }

  /// The image of a request in memory, under the same rules as the disk's records.
  private mutating func remembered(
    _ index: Int,
    _ key: CacheKey,
    _ identity: UnsafeRawBufferPointer,
    _ isOriginal: Bool
  ) -> RememberedImage? {
    guard rules.looksInMemory, let memory = context.options.memory else { return nil }
    let place = isOriginal ? context.originalMemoryKey(key) : context.memoryKey(key)
    guard let found = memory.image(for: place), identity.hasSameBytes(as: found.identity) else { return nil }
    let (head, vary) = (found.known.head, found.known.vary)
    if !context.options.servesExpired, let cache = context.cache,
      cache.expiry.isExpired(head, at: context.now, runStart: context.runStart)
    {
      return nil
    }
    guard vary.isEmpty || matchesVary(index, vary, context.cache) else { return nil }
    guard rules.verification.judge(found) == .good, !isPlaceholder(index, head.checksum) else { return nil }
    return found
  }

  // MARK: Disk

  /// Decides a request by the image of its own, or else by one for any credentials.
  private mutating func decide(_ index: Int, _ cache: ImageCache, _ reader: borrowing CacheReader) throws(CacheError) {
    var known: BlacklistHead?
    var found = try identities.withIdentity(index) { identity throws(CacheError) in
      let found = try find(index, keys[index], identity, cache, reader)
      if found != nil, context.readsBlacklist { known = try reader.isBlacklisted(keys[index], identity: identity) }
      return found
    }
    if let own = found, own.copy == nil, own.revalidation == nil, let shared = identities.shared(index) {
      found = try shared.identity.withRawBytes { identity throws(CacheError) in
        try find(index, shared.key, identity, cache, reader)
      }
      if found?.copy != nil || found?.revalidation != nil { found?.shared = shared }
    }
    guard var request = found else { return }
    request.known = known
    if request.copy != nil { undecided.append(request) } else { misses.append(request) }
  }

  /// What an identity has for a request; nil if that decides it.
  private mutating func find(
    _ index: Int,
    _ key: CacheKey,
    _ identity: UnsafeRawBufferPointer,
    _ cache: ImageCache,
    _ reader: borrowing CacheReader
  ) throws(CacheError) -> Undecided? {
    if try decideByTransformed(index, key, identity, cache, reader, isOwn: true) { return nil }
    var request = Undecided(index: index)
    guard rules.usesOriginal, rules.readsOriginals else { return request }
    switch try finding(index, key, identity, cache, reader) {
    case .nothing: break
    case .hit(let head):
      decide(index, head, key, reader)
      return nil
    case .unfit(let failure):
      decide(index, as: EntryResult(.failed, failure: failure))
      return nil
    case .copy(let head): request.copy = try copy(index, head, key, identity, cache, reader, isOwn: true)
    case .stale(let revalidation): request.revalidation = revalidation
    }
    return request
  }

  mutating func decide(
    _ index: Int,
    _ head: EntryHead,
    _ key: CacheKey,
    _ reader: borrowing CacheReader,
    isTransformed: Bool = false
  ) {
    decided.append(index, context.outcome(ofHit: head), head, isTransformed: isTransformed)
    if context.used != nil { used.append(head.revision) }
    if rules.writesDisk && reader.needsTouch(head) { staleTouches.append(EntryTouch(key, head)) }
  }

  /// The state of an identity in a cache, as far as this context can use it.
  enum Finding {
    case nothing
    case hit(EntryHead)
    /// Its body would fail, as a dry run knows without reading it.
    case unfit(ImageFailure)
    /// Its body must be read.
    case copy(EntryHead)
    /// It must be revalidated.
    case stale(Revalidation)
  }

  mutating func finding(
    _ index: Int,
    _ key: CacheKey,
    _ identity: UnsafeRawBufferPointer,
    _ cache: ImageCache,
    _ reader: borrowing CacheReader
  ) throws(CacheError) -> Finding {
    let head: EntryHead
    var isFresh = false
    switch try reader.lookUp(key, identity: identity) {
    case .missing: return .nothing
    case .fresh(let fresh): (head, isFresh) = (fresh, true)
    case .expired(let expired):
      head = expired
      if cache.expiry.isFromFuture(head, at: reader.now) {
        context.recordWarning("the cache has images from the future, stored while the clock was wrong; they count as expired")
      }
    }
    if head.hasVary, try !matchesVary(index, reader.vary(of: key, identity: identity), cache) { return .nothing }
    if let modified = modified(index), head.storedAt < modified { isFresh = false }
    let judgement = rules.verification.judge(head)
    if judgement == .broken { return .nothing }
    let isKept = rules.keepsImmutable && isFresh && head.freshness.isImmutable
    if isFresh || isServedAllTheSame(head, cache, reader), !rules.refreshes || isKept {
      // A fetched image decides whether it is still a placeholder.
      if isPlaceholder(index, head.checksum) { return .nothing }
      if rules.isDryRun { return context.transformFailure(of: head).map { .unfit($0) } ?? .hit(head) }
      let isEnough = rules.isRecordEnough && !(dependsOnNotes && expectation(index)?.sha256 != nil)
      return judgement == .good && isEnough ? .hit(head) : .copy(head)
    }
    guard context.mode.usesNetwork, let details = try reader.details(key, identity: identity) else { return .nothing }
    return .stale(Revalidation(head: head, details: details))
  }

  func isServedAllTheSame(_ head: EntryHead, _ cache: ImageCache, _ reader: borrowing CacheReader) -> Bool {
    if context.options.servesExpired { return true }
    // Whoever gets the image revalidates it (`stale-while-revalidate`, RFC 5861).
    let isRevalidated = context.mode == .use && context.isAwaited
    return isRevalidated && cache.expiry.isUsableWhileRevalidating(head, at: reader.now)
  }

  /// Whether a cached image is shared by many URLs, and so breaks the job's rules.
  func isPlaceholder(_ index: Int, _ body: Checksum) -> Bool {
    guard rules.refusesPlaceholders else { return false }
    let entry = entries[index]
    let failure = context.placeholderFailure(
      body,
      of: UnsafeRawBufferPointer(rebasing: bytes[entry.requestRange]),
      parts: entry.parts,
      writtenURL: UnsafeRawBufferPointer(rebasing: bytes[entry.writtenRange])
    )
    return failure != nil
  }

  /// Whether the response would have been the same for the request's headers. With `Vary: *`, HTTP freshness requires a new request, but
  /// freshness by age doesn't. `cache` is the one whose key hashed the values.
  mutating func matchesVary(_ index: Int, _ text: [UInt8], _ cache: ImageCache?) -> Bool {
    if text == [UInt8(ascii: "*")] { return !context.followsHTTPFreshness }
    let url = UnsafeRawBufferPointer(rebasing: bytes[entries[index].requestRange])
    let hasher = cache?.credentialHasher ?? context.credentialHasher
    let sent = SentHeaders(options: context.download(entries[index].variant), defaults: context.defaultHeaders)
    return varyVerdicts.matches(text, VaryRequest(sent, url: url, hasher: hasher))
  }

  mutating func copy(
    _ index: Int,
    _ head: EntryHead,
    _ key: CacheKey,
    _ identity: UnsafeRawBufferPointer,
    _ cache: ImageCache,
    _ reader: borrowing CacheReader,
    isOwn: Bool
  ) throws(CacheError) -> CachedCopy {
    if isOwn, context.used != nil { used.append(head.revision) }
    return CachedCopy(
      source: .entry(cache, key: key, identity: Array(identity), head: head, isOwn: isOwn),
      vary: head.hasVary ? try reader.vary(of: key, identity: identity) : [],
      remembered: remembered(index)
    )
  }
}

extension BatchLookUp {
  /// Decides a request by a transformed image that a cache has instead of the original; false if there is none. Its record
  /// suffices if nothing is decoded: the verification rules apply to the original. A transformed image of another original than
  /// the cached one is ignored.
  mutating func decideByTransformed(
    _ index: Int,
    _ originalKey: CacheKey,
    _ identity: UnsafeRawBufferPointer,
    _ cache: ImageCache,
    _ reader: borrowing CacheReader,
    isOwn: Bool
  ) throws(CacheError) -> Bool {
    guard rules.looksForTransformed, let transform = context.transform, expectation(index) == nil else { return false }
    let transformed = transform.identity(of: identity)
    return try transformed.withRawBytes { bytes throws(CacheError) in
      let key = CacheKey(identity: bytes)
      guard case .fresh(let head) = try reader.lookUp(key, identity: bytes) else { return false }
      guard rules.verification.acceptsTransformed(head) else { return false }
      if let modified = modified(index), head.storedAt < modified { return false }
      switch try reader.lookUp(originalKey, identity: identity) {
      case .missing: break
      case .fresh(let original), .expired(let original):
        guard
          try head.isMade(of: original, { () throws(CacheError) in try reader.details(key, identity: bytes) })
        else { return false }
        // The load that transforms it again counts both.
        if isPlaceholder(index, original.checksum) { return false }
      }
      let vary = head.hasVary ? try reader.vary(of: key, identity: bytes) : []
      guard vary.isEmpty || matchesVary(index, vary, cache) else { return false }
      if isPlaceholder(index, head.checksum) { return false }
      if rules.isDryRun || !context.needsPixels && !context.needsData && !context.options.verifiesHits {
        if isOwn {
          decide(index, head, key, reader, isTransformed: true)
        } else {
          decide(index, as: EntryResult(.hitDisk, head: head, in: cache, isTransformed: true))
        }
        return true
      }
      if isOwn, context.used != nil { used.append(head.revision) }
      let source = CachedCopy.Source.entry(cache, key: key, identity: transformed, head: head, isOwn: isOwn)
      undecided.append(Undecided(index: index, copy: CachedCopy(source: source, vary: vary, isTransformed: true)))
      return true
    }
  }
}

extension LoadContext {
  /// Whether transformed images have bytes.
  var keepsTransformed: Bool { transform != nil && (options.encoding != nil || options.hooks.cacheSerializer != nil) }

  /// Why the original of that record can't be transformed, as far as its format shows; nil if it can, or if nothing is transformed.
  func transformFailure(of original: EntryHead) -> ImageFailure? {
    guard fetchesBodies, keepsTransformed, let format = original.image.format else { return nil }
    guard let coder = (options.coders ?? .standard).coder(for: format), !coder.decodesPixels else { return nil }
    return worded(ImageFailure(.untransformable(format)))
  }
}
