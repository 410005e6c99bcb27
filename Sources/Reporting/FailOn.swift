public import ImagePrimitives

/// The rules that make a finished run end with ``ExitStatus/beyondLimits``: any one broken does.
public struct FailOn: Sendable, Hashable {
  /// How many failures are borne.
  public enum Limit: Sendable, Hashable {
    /// More than so many break the rule.
    case count(UInt64)
    /// More than this fraction (0…1) of what was neither skipped nor cancelled breaks the rule.
    case fraction(Double)
    /// The rule is off.
    case never
  }

  /// A point of the distribution of latencies.
  public enum Percentile: String, Sendable, CaseIterable {
    case p50, p90, p99, max
  }

  /// How many failed and blacklisted entries are borne; none by default.
  public var failures = Limit.count(0)
  /// How many failed and blacklisted entries of a kind are borne, beside ``failures``; kinds that are not named have no rule of their own.
  public var kinds: [FailureKind: Limit] = [:]
  /// How long transfers may take at a percentile.
  public var latency: [Percentile: Duration] = [:]
  /// Whether no entry left after include and exclude breaks a rule; yes by default.
  public var empty = true
  /// Whether entries that the deadline cut off break a rule; yes by default.
  public var unfinished = true
  /// Whether trimming that removed what this run stored breaks a rule; yes by default.
  public var evicted = true

  /// The default rules.
  public init() {}

  /// Judges a run by all of its report but the verdict.
  public func verdict(of report: FinishedReport) -> Verdict {
    let (totals, end) = (report.totals, report.end)
    var reasons: [String] = []
    if unfinished, end.isPastDeadline, let reason = unfinishedReason(totals, end) { reasons.append(reason) }
    if empty, end.isEmpty { reasons.append("no URL was left after include and exclude") }
    if let reason = failuresReason(totals) { reasons.append(reason) }
    if evicted, let count = end.cache?.evictedFromThisRun, count > 0 {
      reasons.append("trimming removed \(counted(count, "image")) that this run had stored; raise cache.max-size")
    }
    return Verdict(reasons: reasons)
  }

  private func unfinishedReason(_ totals: Totals, _ end: RunEnd) -> String? {
    if totals.cancelled > 0 { return "the deadline passed with \(counted(totals.cancelled, "URL")) not finished" }
    return end.areManifestsRead ? nil : "the deadline passed before the manifests were read"
  }

  private func failuresReason(_ totals: Totals) -> String? {
    switch failures {
    case .never: return nil
    case .count(let limit):
      guard totals.bad > limit else { return nil }
      return "\(grouped(totals.bad)) bad: more than fail-on.failures (\(grouped(limit)))"
    case .fraction(let limit):
      // 0.29 × 100 is a little less than 29 in binary; a limit that is just reached is not broken.
      let allowed = (limit + 1e-9) * Double(totals.considered)
      guard Double(totals.bad) > allowed else { return nil }
      let share = percent(totals.bad, of: totals.considered)
      return "\(grouped(totals.bad)) bad (\(share)): more than fail-on.failures (\(percent(limit)))"
    }
  }
}

/// What ``FailOn`` says of a run.
public struct Verdict: Sendable, Hashable {
  /// A sentence without a full stop for each broken rule; none where all hold.
  public var reasons: [String]

  /// A verdict of those reasons.
  public init(reasons: [String]) { self.reasons = reasons }

  /// ``ExitStatus/beyondLimits`` where a rule is broken, else ``ExitStatus/withinLimits``.
  public var exitStatus: ExitStatus { reasons.isEmpty ? .withinLimits : .beyondLimits }
}
