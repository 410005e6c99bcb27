import ImagePrimitives

/// From when on the age of an entry counts.
public enum ExpiryBasis: Sendable, Hashable {
  /// From when it was stored.
  case modification
  /// From when it was last asked for, to the hour.
  case access
}

/// When entries become too old.
struct ExpiryRule: Sendable {
  /// nil: never; 0: at once.
  let maxAgeMilliseconds: Int64?
  let basis: ExpiryBasis

  init(maxAge: Duration?, basis: ExpiryBasis) {
    maxAgeMilliseconds = maxAge.map { max(0, $0.wholeMilliseconds) }
    self.basis = basis
  }

  /// When an entry of that head expires; nil: never. An entry's own lifetime comes before the cache's rule.
  func expiry(of head: EntryHead) -> Timestamp? {
    if let lifetime = head.lifetimeMilliseconds { return Self.sum(head.storedAt, lifetime) }
    return maxAgeMilliseconds.map { Self.sum(time(of: head), $0) }
  }

  /// Whether an entry of that head is too old; one that is exactly as old as allowed is, so that an age of 0 means at once.
  @inline(__always)
  func isExpired(_ head: EntryHead, at now: Timestamp) -> Bool {
    if let lifetime = head.lifetimeMilliseconds { return Self.has(lifetime, passedSince: head.storedAt, at: now) }
    return isExpired(since: time(of: head), at: now)
  }

  /// Whether the cache's rule holds what was stored, or accessed, at `time` to be too old.
  @inline(__always)
  func isExpired(since time: Timestamp, at now: Timestamp) -> Bool {
    maxAgeMilliseconds.map { Self.has($0, passedSince: time, at: now) } ?? false
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
