import ImageCaching
import Base

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
