import ImageCaching
import ImagePrimitives
import ImageURLs

/// Looks a batch of requests up: which are decided by the cache or the blacklist, and which must be asked for.
///
/// The read transaction spans nothing but look-ups: results are collected here and handed on after it.
struct BatchLookUp {
  /// A request that the look-up did not decide.
  struct Undecided {
    let index: Int
    /// Left out of the look-up, since its identity was in flight.
    var wasInFlight = false
    /// What the blacklist says of the URL.
    var known: BlacklistHead?
    /// The record of a cached image that must be proven more deeply first.
    var unproven: EntryHead?
  }

  let requests: [LoadRequest]
  let bytes: UnsafeRawBufferPointer
  let context: LoadContext
  let keys: [CacheKey]
  /// Only those that differ from their URL, by index.
  private let identities: [Int: [UInt8]]

  private(set) var decided: [(Int, EntryResult)] = []
  private(set) var undecided: [Undecided] = []
  private(set) var staleTouches: [EntryTouch] = []

  init(_ requests: [LoadRequest], in bytes: UnsafeRawBufferPointer, context: LoadContext) {
    self.requests = requests
    self.bytes = bytes
    self.context = context
    var identities: [Int: [UInt8]] = [:]
    keys = requests.indices.map { index in
      let request = requests[index]
      let url = UnsafeRawBufferPointer(rebasing: bytes[request.offset..<request.offset + request.length])
      guard let identity = ImageIdentity.identity(of: url, parts: request.parts, hasher: context.credentialHasher) else {
        return CacheKey(identity: url)
      }
      identities[index] = identity
      return identity.withRawBytes { CacheKey(identity: $0) }
    }
    self.identities = identities
  }

  /// The URL of a request, as it is to be asked for.
  func url(_ index: Int) -> [UInt8] {
    let request = requests[index]
    return Array(bytes[request.offset..<request.offset + request.length])
  }

  func flight(for request: Undecided) -> Flight {
    let index = request.index
    let url = url(index)
    return Flight(
      key: keys[index],
      identity: identities[index] ?? url,
      url: url,
      priority: requests[index].priority,
      sequence: requests[index].sequence,
      context: context,
      known: request.known
    )
  }

  /// Looks up the requests of `indices`, replacing what an earlier run found.
  ///
  /// - Parameter inFlight: for each of `indices`, whether its identity is in flight; nil where none is.
  mutating func run(_ indices: [Int], inFlight: [Bool]?) throws(CacheError) {
    decided.removeAll(keepingCapacity: true)
    undecided.removeAll(keepingCapacity: true)
    staleTouches.removeAll(keepingCapacity: true)
    guard let cache = context.cache else {
      if context.mode.asksNetwork {
        undecided = indices.map { Undecided(index: $0) }
      } else {
        decided = indices.map { ($0, EntryResult(.skipped)) }
      }
      return
    }
    try cache.read { reader throws(CacheError) in
      for (place, index) in indices.enumerated() {
        if let inFlight, inFlight[place] {
          undecided.append(Undecided(index: index, wasInFlight: true))
        } else {
          try decide(index, with: reader)
        }
      }
    }
  }

  private mutating func decide(_ index: Int, with reader: borrowing CacheReader) throws(CacheError) {
    if let identity = identities[index] {
      try identity.withRawBytes { identity throws(CacheError) in try decide(index, identity, reader) }
    } else {
      let request = requests[index]
      try decide(index, UnsafeRawBufferPointer(rebasing: bytes[request.offset..<request.offset + request.length]), reader)
    }
  }

  private mutating func decide(
    _ index: Int,
    _ identity: UnsafeRawBufferPointer,
    _ reader: borrowing CacheReader
  ) throws(CacheError) {
    var unproven: EntryHead?
    if case .fresh(let head) = try reader.lookUp(keys[index], identity: identity) {
      let judgement = context.verification.judge(head)
      if judgement == .good || judgement == .needsProof && context.mode == .dryRun {
        decided.append((index, EntryResult(.hitDisk, head: head)))
        if context.mode == .use && reader.needsTouch(head) {
          staleTouches.append(EntryTouch(key: keys[index], identity: Array(identity)))
        }
        return
      }
      if judgement == .needsProof { unproven = head }
    }
    let known = context.blacklist.isEnabled ? try reader.isBlacklisted(keys[index], identity: identity) : nil
    if unproven != nil {
      undecided.append(Undecided(index: index, known: known, unproven: unproven))
    } else if let known, !context.retriesBlacklisted {
      decided.append((index, EntryResult(knownBad: known)))
    } else if context.mode.asksNetwork {
      undecided.append(Undecided(index: index, known: known))
    } else {
      decided.append((index, EntryResult(.skipped)))
    }
  }
}
