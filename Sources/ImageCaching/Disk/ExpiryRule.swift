import ImagePrimitives

/// From when on the age of an entry counts.
public enum ExpiryBasis: Sendable, Hashable {
  /// From when it was stored.
  case modification
  /// From when it was last asked for, to the hour.
  case access
}

/// Whose word on the freshness of an entry counts.
public enum FreshnessRule: Sendable, Hashable {
  /// The cache's: its `maxAge`.
  case age
  /// The server's, as RFC 9111 has it (`Cache-Control`, `Expires`); `maxAge` where it said nothing.
  case http
}

/// When entries become too old.
///
/// An entry's own lifetime comes first, then with ``FreshnessRule/http`` the server's, then the cache's `maxAge`. What the server
/// wants to be asked about before each use (`no-cache`) is always too old under that rule.
struct ExpiryRule: Sendable {
  /// nil: never; 0: at once.
  let maxAgeMilliseconds: Int64?
  let basis: ExpiryBasis
  private let isServers: Bool
  /// What would expire within this counts as expired for look-ups.
  private let minFreshMilliseconds: Int64

  init(maxAge: Duration?, basis: ExpiryBasis, freshness: FreshnessRule = .age, minFresh: Duration = .zero) {
    maxAgeMilliseconds = maxAge.map { max(0, $0.wholeMilliseconds) }
    self.basis = basis
    isServers = freshness == .http
    minFreshMilliseconds = max(0, minFresh.wholeMilliseconds)
  }

  /// When an entry of that head expires; nil: never. What is always too old expired when it was stored.
  func expiry(of head: EntryHead) -> Timestamp? {
    if isServers && head.storedFreshness.mustRevalidate { return head.storedAt }
    if let lifetime = ownLifetime(of: head) { return Self.sum(head.storedAt, lifetime) }
    return maxAgeMilliseconds.map { Self.sum(time(of: head), $0) }
  }

  /// Whether an entry of that head is too old for a look-up; one that is exactly as old as allowed is, so that an age of 0 means
  /// at once.
  @inline(__always)
  func isExpired(_ head: EntryHead, at now: Timestamp) -> Bool {
    if isServers && head.storedFreshness.mustRevalidate { return true }
    let soon = Self.sum(now, minFreshMilliseconds)
    if let lifetime = ownLifetime(of: head) { return Self.has(lifetime, passedSince: head.storedAt, at: soon) }
    return isTooOld(since: time(of: head), at: soon)
  }

  /// Whether an entry of that head, which is older than `maxAge`, is of no use any more: what lives longer by its own or by the
  /// server's word stays, and what is only to be asked for again is younger.
  func mayBeRemoved(_ head: EntryHead, at now: Timestamp) -> Bool {
    ownLifetime(of: head).map { Self.has($0, passedSince: head.storedAt, at: now) } ?? isTooOld(since: time(of: head), at: now)
  }

  /// Whether `maxAge` has passed for what was stored, or accessed, at `time`.
  @inline(__always)
  func isTooOld(since time: Timestamp, at now: Timestamp) -> Bool {
    maxAgeMilliseconds.map { Self.has($0, passedSince: time, at: now) } ?? false
  }

  /// Whether an expired entry may be used while it is asked for again (RFC 5861, section 3).
  func isUsableWhileRevalidating(_ head: EntryHead, at now: Timestamp) -> Bool {
    let window = head.storedFreshness.staleWhileRevalidateMilliseconds
    guard isServers, window > 0, !head.storedFreshness.mustRevalidate else { return false }
    return expiry(of: head).map { now < Self.sum($0, window) } ?? true
  }

  /// The lifetime that comes before `maxAge`.
  @inline(__always)
  private func ownLifetime(of head: EntryHead) -> Int64? {
    head.lifetimeMilliseconds ?? (isServers ? head.storedFreshness.lifetimeMilliseconds : nil)
  }

  // An age of 0 counts also where the clock was set back since.
  private static func has(_ age: Int64, passedSince start: Timestamp, at now: Timestamp) -> Bool {
    age == 0 || sum(start, age) <= now
  }

  @inline(__always)
  private func time(of head: EntryHead) -> Timestamp { basis == .access ? head.accessedAt : head.storedAt }

  private static func sum(_ start: Timestamp, _ milliseconds: Int64) -> Timestamp {
    let (sum, overflow) = start.milliseconds.addingReportingOverflow(milliseconds)
    return Timestamp(milliseconds: overflow ? .max : sum)
  }
}
