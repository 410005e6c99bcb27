package import Base

/// The moment from which the age of an entry counts.
public enum ExpiryBasis: Sendable, Hashable {
  case modification
  /// When it was last used, to the hour.
  case access
}

/// Which rule decides on the freshness of an entry.
public enum FreshnessRule: Sendable, Hashable {
  /// The cache's `maxAge`.
  case age
  /// The server's headers (`Cache-Control`, `Expires`; RFC 9111), or `maxAge` if it sent none.
  case http
}

/// An entry's own lifetime has precedence, then with ``FreshnessRule/http`` the server's, then the cache's `maxAge`. Under that
/// rule, entries with `no-cache` are always expired.
///
/// A run counts ages from the start of the run that stored an entry to its own start, so that the durations of both don't matter: a
/// nightly run requests entries that expire after a day each night. The server's freshness counts to the second in any case.
///
/// An entry from the future was written while the clock was wrong, so its age is unknown and it counts as expired.
package struct ExpiryRule: Sendable {
  /// The difference from the planned start that schedulers may cause.
  private static let scheduleSlackMilliseconds: Int64 = 60_000

  /// Clocks that NTP or a hypervisor corrects jump by seconds, rarely by minutes.
  private static let clockSlackMilliseconds: Int64 = 300_000

  /// nil: never; 0: immediately.
  let maxAgeMilliseconds: Int64?
  let basis: ExpiryBasis
  private let isServers: Bool
  /// Entries that expire within this time count as expired in look-ups.
  private let minFreshMilliseconds: Int64
  /// How long after their end entries may be used if their server is down, whatever that says.
  private let staleIfErrorMilliseconds: Int64

  init(
    maxAge: Duration?,
    basis: ExpiryBasis,
    freshness: FreshnessRule = .age,
    minFresh: Duration = .zero,
    staleIfError: Duration? = nil
  ) {
    staleIfErrorMilliseconds = max(0, staleIfError?.wholeMilliseconds ?? 0)
    maxAgeMilliseconds = maxAge.map { max(0, $0.wholeMilliseconds) }
    self.basis = basis
    isServers = freshness == .http
    minFreshMilliseconds = max(0, minFresh.wholeMilliseconds)
  }

  /// When an entry with that head expires, without `minFresh`; nil: never. Entries with `no-cache` (RFC 9111, section 5.2.2.4), which are
  /// always expired, do so when they are stored.
  package func end(of head: EntryHead) -> Timestamp? {
    if isServers && head.storedFreshness.mustRevalidate { return head.storedAt }
    if let lifetime = ownLifetime(of: head) { return Self.sum(head.storedAt, lifetime) }
    return maxAgeMilliseconds.map { Self.sum(time(of: head), $0) }
  }

  /// Whether an entry is expired for a look-up. An entry exactly at its maximum age is expired, so that a maximum of 0 means
  /// immediately.
  ///
  /// - Parameter runStart: the start of the run that looks up; nil if it isn't a run.
  @inline(__always)
  package func isExpired(_ head: EntryHead, at now: Timestamp, runStart: Timestamp? = nil) -> Bool {
    if isFromFuture(head, at: now) || isServers && head.storedFreshness.mustRevalidate { return true }
    let soon = Self.sum(now, minFreshMilliseconds)
    if let lifetime = ownLifetime(of: head) {
      let due = isServers ? soon : Self.due(lifetime, soon: soon, minFreshMilliseconds, runStart)
      return Self.has(lifetime, passedSince: head.storedAt, at: due)
    }
    guard let maxAgeMilliseconds else { return false }
    let due = Self.due(maxAgeMilliseconds, soon: soon, minFreshMilliseconds, runStart)
    return Self.has(maxAgeMilliseconds, passedSince: time(of: head), at: due)
  }

  /// Whether an entry is expired for a trim, regardless of its lifetime.
  ///
  /// - Parameters:
  ///   - now: the time up to which the server's freshness counts.
  ///   - ageEnd: the time up to which other ages count.
  func mayBeRemoved(_ head: EntryHead, at now: Timestamp, ageEnd: Timestamp) -> Bool {
    if isFromFuture(head, at: now) || isServers && head.storedFreshness.mustRevalidate { return true }
    if let lifetime = ownLifetime(of: head) {
      return Self.has(lifetime, passedSince: head.storedAt, at: isServers ? now : ageEnd)
    }
    return isTooOld(since: time(of: head), at: ageEnd)
  }

  /// Whether an entry was stored, or used if that counts, after `now`; false if it never expires.
  @inline(__always)
  package func isFromFuture(_ head: EntryHead, at now: Timestamp) -> Bool {
    guard Self.isFromFuture(head.storedAt, at: now) || basis == .access && Self.isFromFuture(head.accessedAt, at: now) else {
      return false
    }
    return maxAgeMilliseconds != nil || ownLifetime(of: head) != nil
  }

  /// Whether a time is too far after `now` to be explained by a corrected clock.
  @inline(__always)
  static func isFromFuture(_ time: Timestamp, at now: Timestamp) -> Bool { time > presentEnd(now) }

  /// The last time that isn't from the future.
  @inline(__always)
  static func presentEnd(_ now: Timestamp) -> Timestamp { sum(now, clockSlackMilliseconds) }

  /// Whether `maxAge` has passed since `time`, when the entry was stored or used.
  @inline(__always)
  func isTooOld(since time: Timestamp, at now: Timestamp) -> Bool {
    maxAgeMilliseconds.map { Self.has($0, passedSince: time, at: now) } ?? false
  }

  /// Whether the server's freshness applies rather than the cache's `maxAge`.
  func usesServerFreshness(_ freshness: StoredFreshness) -> Bool {
    isServers && (freshness.lifetimeMilliseconds != nil || freshness.mustRevalidate)
  }

  /// Whether a failure may be requested again; a run counts its age as it does those of entries.
  static func isOver(_ head: BlacklistHead, at now: Timestamp, runStart: Timestamp?) -> Bool {
    if isFromFuture(head.lastAt, at: now) { return true }
    guard let end = head.expiresAt else { return false }
    return end <= due(max(0, end.milliseconds &- head.lastAt.milliseconds), soon: now, 0, runStart)
  }

  /// The time up to which an age counts. A run that starts slightly earlier in the day than the previous one still treats due
  /// entries as expired.
  @inline(__always)
  private static func due(_ age: Int64, soon: Timestamp, _ minFresh: Int64, _ runStart: Timestamp?) -> Timestamp {
    guard let runStart else { return soon }
    return sum(sum(runStart, minFresh), min(scheduleSlackMilliseconds, age / 100))
  }

  /// Whether an expired entry may still be used at `now` while it is revalidated: the server allows it (`stale-while-revalidate`,
  /// RFC 5861, section 3), that time hasn't passed, and the freshness rule is ``FreshnessRule/http``.
  package func isUsableWhileRevalidating(_ head: EntryHead, at now: Timestamp) -> Bool {
    let window = head.storedFreshness.staleWhileRevalidateMilliseconds
    guard isServers, window > 0, !head.storedFreshness.mustRevalidate, !isFromFuture(head, at: now) else { return false }
    return end(of: head).map { now < Self.sum($0, window) } ?? true
  }

  /// Whether an expired entry may be used at `now` if its server is down: within the cache's `staleIfError` or, with
  /// ``FreshnessRule/http``, the server's `stale-if-error` (RFC 5861, section 4), whichever is longer. Never if the server forbids to use
  /// stale responses (`no-cache`, `must-revalidate`; RFC 9111, section 4.2.4).
  package func isUsableOnError(_ head: EntryHead, at now: Timestamp) -> Bool {
    let server = isServers ? Int64(head.storedFreshness.staleIfErrorSeconds) * 1000 : 0
    let window = max(staleIfErrorMilliseconds, server)
    guard window > 0, !head.storedFreshness.forbidsStale, !isFromFuture(head, at: now) else { return false }
    return end(of: head).map { now < Self.sum($0, window) } ?? true
  }

  /// The lifetime that has precedence over `maxAge`.
  @inline(__always)
  private func ownLifetime(of head: EntryHead) -> Int64? {
    head.lifetimeMilliseconds ?? (isServers ? head.storedFreshness.lifetimeMilliseconds : nil)
  }

  // A maximum age of 0 applies even if the clock was set back since.
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
