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
///
/// A run counts ages from the start of the run that stored an entry to its own start, so that neither duration matters: a nightly run
/// requests each night what expires after a day. The server's word counts to the second, whatever run it is.
struct ExpiryRule: Sendable {
  /// How much earlier or later than planned schedulers start runs.
  private static let scheduleSlackMilliseconds: Int64 = 60_000

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
  ///
  /// - Parameter runStart: when the run that asks began; nil: no run asks.
  @inline(__always)
  func isExpired(_ head: EntryHead, at now: Timestamp, runStart: Timestamp? = nil) -> Bool {
    if isServers && head.storedFreshness.mustRevalidate { return true }
    let soon = Self.sum(now, minFreshMilliseconds)
    if let lifetime = ownLifetime(of: head) {
      let due = isServers ? soon : Self.due(lifetime, soon: soon, minFreshMilliseconds, runStart)
      return Self.has(lifetime, passedSince: head.storedAt, at: due)
    }
    guard let maxAgeMilliseconds else { return false }
    let due = Self.due(maxAgeMilliseconds, soon: soon, minFreshMilliseconds, runStart)
    return Self.has(maxAgeMilliseconds, passedSince: time(of: head), at: due)
  }

  /// Whether an entry of that head has expired for a trim, whatever lifetime it has.
  ///
  /// - Parameters:
  ///   - now: the time that the server's word counts to.
  ///   - ageEnd: the time that other ages count to.
  func mayBeRemoved(_ head: EntryHead, at now: Timestamp, ageEnd: Timestamp) -> Bool {
    if isServers && head.storedFreshness.mustRevalidate { return true }
    if let lifetime = ownLifetime(of: head) {
      return Self.has(lifetime, passedSince: head.storedAt, at: isServers ? now : ageEnd)
    }
    return isTooOld(since: time(of: head), at: ageEnd)
  }

  /// Whether `maxAge` has passed for what was stored, or accessed, at `time`.
  @inline(__always)
  func isTooOld(since time: Timestamp, at now: Timestamp) -> Bool {
    maxAgeMilliseconds.map { Self.has($0, passedSince: time, at: now) } ?? false
  }

  /// Whether the server's word decides, and not the cache's `maxAge`.
  func goesByServer(_ freshness: StoredFreshness) -> Bool {
    isServers && (freshness.lifetimeMilliseconds != nil || freshness.mustRevalidate)
  }

  /// Whether a failure may be requested again: for a run, as it counts the ages of entries.
  static func isOver(_ head: BlacklistHead, at now: Timestamp, runStart: Timestamp?) -> Bool {
    guard let end = head.expiresAt else { return false }
    return end <= due(max(0, end.milliseconds &- head.lastAt.milliseconds), soon: now, 0, runStart)
  }

  /// The time that an age counts to. A run that starts a bit earlier in the day than the last one still finds expired what is due.
  @inline(__always)
  private static func due(_ age: Int64, soon: Timestamp, _ minFresh: Int64, _ runStart: Timestamp?) -> Timestamp {
    guard let runStart else { return soon }
    return sum(sum(runStart, minFresh), min(scheduleSlackMilliseconds, age / 100))
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
  func time(of head: EntryHead) -> Timestamp { basis == .access ? head.accessedAt : head.storedAt }

  private static func sum(_ start: Timestamp, _ milliseconds: Int64) -> Timestamp {
    let (sum, overflow) = start.milliseconds.addingReportingOverflow(milliseconds)
    return Timestamp(milliseconds: overflow ? .max : sum)
  }
}
