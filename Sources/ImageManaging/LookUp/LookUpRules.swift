import ImageCaching
import Base

/// A context's rules for look-ups: computed once per batch, since every request needs them.
struct LookUpRules {
  let verification: VerificationRules
  /// Whether the memory layer may decide a request.
  let looksInMemory: Bool
  /// Whether a transformed image may be on disk.
  let looksForTransformed: Bool
  /// Whether an original may be a hit: not with ``CacheMode/only`` if the transformed image is requested on disk only, and so isn't made.
  let usesOriginal: Bool
  /// Whether originals are looked up on disk.
  let readsOriginals: Bool
  /// Whether an original's good record suffices, without its body.
  let isRecordEnough: Bool
  /// Whether images that many URLs share are rejected.
  let refusesPlaceholders: Bool
  /// Whether a result may depend on earlier look-ups: on what memory keeps, and on which images many URLs share.
  var dependsOnOrder: Bool { looksInMemory || refusesPlaceholders }
  let refreshes: Bool
  /// Whether an own copy that must be revalidated comes before other copies, and is served if no requests are allowed: it may be fresh, or
  /// its server sets its lifetime. A copy that only exceeds the cache's maximum age is ignored.
  let prefersOwnCopy: Bool
  /// Whether a refresh requests no fresh immutable images; it does if their delivery is to be judged.
  let keepsImmutable: Bool
  let isDryRun: Bool
  let writesDisk: Bool

  init(_ context: LoadContext) {
    let (mode, layers) = (context.mode, context.layers)
    let reads = mode.reads
    let readsMemory =
      layers.reads.contains(.memory) || context.transform != nil && layers.readsOriginal.contains(.memory)
    let originalLayers = context.transform == nil ? layers.reads : layers.readsOriginal
    verification = context.verification
    looksInMemory = context.keepsInMemory && reads && !mode.refreshes && readsMemory
    looksForTransformed = reads && context.keepsTransformed && layers.reads.contains(.disk) && !mode.refreshes
    usesOriginal = mode != .only || !context.keepsTransformed || context.needsPixels || context.needsData
    readsOriginals = reads && originalLayers.contains(.disk)
    isRecordEnough = !context.decodesOriginals && !context.needsData && !context.options.verifiesHits
    refusesPlaceholders = context.placeholders != nil
    refreshes = mode.refreshes
    prefersOwnCopy = mode.refreshes || context.followsHTTPFreshness
    keepsImmutable = mode.refreshes && context.followsHTTPFreshness && !context.describesDelivery
    isDryRun = mode.isDryRun
    writesDisk = mode.writesDisk
  }
}

/// The judgement of a cached image's record under a job's rules.
enum HitJudgement {
  /// Good, as deeply as the job requires.
  case good
  /// It breaks no rule, but its bytes were verified less deeply than the job requires.
  case needsProof
  /// It breaks the job's rules.
  case broken
}

extension VerificationRules {
  /// Judges a record without reading its body.
  func judge(_ head: EntryHead) -> HitJudgement {
    if failure(byteCount: Int(clamping: head.bodySize)) != nil { return .broken }
    if let format = head.image.format {
      if failure(contentType: head.contentTypeMatch, declared: nil, format: format) != nil { return .broken }
      if failure(format: format) != nil { return .broken }
    }
    if depth == .none { return formats == nil || head.image.format != nil ? .good : .broken }
    guard head.proof > .none else { return .needsProof }
    if failure(size: head.image.size, format: head.image.format) != nil { return .broken }
    if failure(isAnimated: head.image.isAnimated) != nil { return .broken }
    if isStrict, head.hasWarnings { return .broken }
    return head.proof >= depth ? .good : .needsProof
  }

  /// Whether the original of a transformed image was verified as the job requires; the record says nothing else about the original.
  func acceptsTransformed(_ head: EntryHead) -> Bool { head.proof >= depth && !(isStrict && head.hasWarnings) }

  /// Judges an image in memory, all of whose pixels were decoded, unless it is only the first frame of several.
  func judge(_ remembered: RememberedImage) -> HitJudgement {
    if remembered.known.isJudged { return .good }
    var head = remembered.known.head
    if remembered.image.isWhole { head.proof = .full }
    return judge(head)
  }
}

/// Looks up requests that a record alone decides, as nearly all of most runs. Its values don't change during a look-up, so a
/// request costs no reference count, which the threads of a look-up would contend for.
struct PlainLookUp {
  private let entries: [BatchEntry]
  private let bytes: UnsafeRawBufferPointer
  private let keys: [CacheKey]
  private let verification: VerificationRules
  private let readsBlacklist: Bool

  /// Nil if a request may depend on more than its record.
  init?(_ lookUp: BatchLookUp) {
    let (rules, context) = (lookUp.rules, lookUp.context)
    guard rules.usesOriginal, rules.readsOriginals, !rules.looksForTransformed, !rules.looksInMemory, !rules.refreshes,
      !rules.refusesPlaceholders, !rules.isDryRun, rules.isRecordEnough, lookUp.identities.areURLs, context.used == nil,
      !lookUp.dependsOnNotes
    else { return nil }
    entries = lookUp.entries
    bytes = lookUp.bytes
    keys = lookUp.keys
    verification = rules.verification
    readsBlacklist = context.readsBlacklist
  }

  enum Finding {
    case hit(EntryHead)
    /// Not cached; perhaps its URL is on the blacklist.
    case nothing(known: BlacklistHead?)
    /// The full look-up must decide.
    case unclear
  }

  @inline(__always)
  func find(_ index: Int, _ reader: borrowing CacheReader) throws(CacheError) -> Finding {
    let identity = UnsafeRawBufferPointer(rebasing: bytes[entries[index].requestRange])
    switch try reader.lookUp(keys[index], identity: identity) {
    case .fresh(let head) where !head.hasVary && verification.judge(head) == .good: return .hit(head)
    case .missing: return .nothing(known: readsBlacklist ? try reader.isBlacklisted(keys[index], identity: identity) : nil)
    case .fresh, .expired: return .unclear
    }
  }
}

/// The requests that a look-up decided, in order.
struct DecidedRequests {
  private struct Decision {
    var index: Int
    var outcome: LoadOutcome
    /// The record of a hit; nil if the decision is the next of ``completions``. Records are copied as bytes.
    var head: EntryHead?
    /// Whether the record is of a transformed image.
    var isTransformed = false
  }

  private var decisions: [Decision] = []
  private var completions: [LoadCompletion] = []

  mutating func reserveCapacity(_ count: Int) { decisions.reserveCapacity(count) }

  mutating func removeAll() {
    decisions.removeAll(keepingCapacity: true)
    completions.removeAll(keepingCapacity: true)
  }

  mutating func append(_ index: Int, _ outcome: LoadOutcome, _ head: EntryHead, isTransformed: Bool = false) {
    decisions.append(Decision(index: index, outcome: outcome, head: head, isTransformed: isTransformed))
  }

  mutating func append(_ index: Int, _ completion: LoadCompletion) {
    decisions.append(Decision(index: index, outcome: completion.result.outcome))
    completions.append(completion)
  }

  /// Calls `report` with each; `cache` is the one with the hits.
  func forEach(hitsIn cache: ImageCache?, _ report: (Int, LoadCompletion) -> Void) {
    var next = 0
    for decision in decisions {
      if let head = decision.head {
        let result = EntryResult(decision.outcome, head: head, in: cache, isTransformed: decision.isTransformed)
        report(decision.index, LoadCompletion(result))
      } else {
        report(decision.index, completions[next])
        next += 1
      }
    }
  }
}
