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
  /// How long transfers may take at a percentile, which is that of the report: off by at most 19 %, but for the exact maximum (see
  /// ``LatencyHistogram``).
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
  ///
  /// Only failures that ``FinishedReport/standings`` counts can break a rule; percentages are of all that was neither skipped nor
  /// cancelled. Where no transfer was measured, no rule on latency is broken.
  public func verdict(of report: FinishedReport) -> RunVerdict {
    let (totals, end) = (report.totals, report.end)
    var reasons: [String] = []
    if unfinished, end.isPastDeadline, let reason = unfinishedReason(totals, end) { reasons.append(reason) }
    if empty, end.isEmpty { reasons.append("no URL was left after include and exclude") }
    if let reason = failuresReason(report) { reasons.append(reason) }
    reasons += FailureKind.allCases.compactMap { kindReason($0, report) }
    reasons += Percentile.allCases.compactMap { latencyReason($0, report.traffic.latency) }
    if evicted, let count = end.cache?.evictedFromThisRun, count > 0 {
      reasons.append("trimming removed \(counted(count, "image")) that this run had stored; raise cache.max-size")
    }
    return RunVerdict(reasons: reasons)
  }

  private func unfinishedReason(_ totals: Totals, _ end: RunEnd) -> String? {
    if totals.cancelled > 0 { return "the deadline passed with \(counted(totals.cancelled, "URL")) not finished" }
    return end.areManifestsRead ? nil : "the deadline passed before the manifests were read"
  }

  /// Why ``failures`` is broken; nil where it holds.
  func failuresReason(_ report: FinishedReport) -> String? {
    let (counting, bad) = (report.standings.counting, report.totals.bad)
    guard let excess = failures.excess(of: counting, in: report.totals.considered) else { return nil }
    let share = excess.share.map { " (\($0))" } ?? ""
    let count = counting < bad ? "\(report.badPhrase), \(grouped(counting)) counting\(share)" : "\(grouped(bad)) bad\(share)"
    return "\(count): more than fail-on.failures (\(excess.limit))"
  }

  /// Why the rule for that kind is broken; nil where it holds, or there is none.
  func kindReason(_ kind: FailureKind, _ report: FinishedReport) -> String? {
    let counting = report.standings.countingByKind[kind] ?? 0
    guard let excess = kinds[kind]?.excess(of: counting, in: report.totals.considered) else { return nil }
    let share = excess.share.map { " (\($0))" } ?? ""
    let all = report.failureGroups.reduce(0) { $0 + ($1.kind == kind ? $1.count : 0) }
    let count =
      counting < all ? "\(grouped(all)) \(kind.name), \(grouped(counting)) counting" : "\(grouped(counting)) \(kind.name)"
    return "\(count)\(share): more than fail-on.kinds.\(kind.name) (\(excess.limit))"
  }

  private func latencyReason(_ percentile: Percentile, _ histogram: LatencyHistogram) -> String? {
    guard let limit = self.latency[percentile], let value = histogram.percentile(percentile.fraction) else { return nil }
    let allowed = limit.inSeconds * 1000
    guard value > allowed else { return nil }
    let (measured, bound) = told(value, beyond: allowed)
    let name = percentile == .max ? "longest transfer" : "\(percentile.rawValue) of transfers"
    return "\(name) \(measured): more than fail-on.latency.\(percentile.rawValue) (\(bound))"
  }

  /// Two latencies, with as many digits as tell them apart.
  private func told(_ value: Double, beyond limit: Double) -> (value: String, limit: String) {
    let texts = (Reports.latency(value), Reports.latency(limit))
    return texts.0 == texts.1 ? (fixed(value, decimals: 3) + " ms", fixed(limit, decimals: 3) + " ms") : texts
  }
}

extension FailOn.Percentile {
  /// The part of all transfers that took no longer.
  var fraction: Double {
    switch self {
    case .p50: 0.5
    case .p90: 0.9
    case .p99: 0.99
    case .max: 1
    }
  }
}

extension FailOn.Limit {
  /// What to say of more than this limit allows.
  fileprivate struct Excess {
    /// The share that is too much; nil where the limit is a count.
    var share: String?
    var limit: String
  }

  /// nil where `count` of `whole` is no more than is borne.
  fileprivate func excess(of count: UInt64, in whole: UInt64) -> Excess? {
    switch self {
    case .never: return nil
    case .count(let limit): return count > limit ? Excess(share: nil, limit: grouped(limit)) : nil
    case .fraction(let limit):
      // 0.29 × 100 is a little less than 29 in binary; a limit that is just reached is not broken.
      let allowed = (limit + 1e-9) * Double(whole)
      guard Double(count) > allowed else { return nil }
      return Excess(share: percent(count, of: whole, beyond: limit), limit: percent(limit))
    }
  }
}

/// What ``FailOn`` says of a run.
public struct RunVerdict: Sendable, Hashable {
  /// A sentence without a full stop for each broken rule; none where all hold.
  public var reasons: [String]

  /// A verdict of those reasons.
  public init(reasons: [String]) { self.reasons = reasons }

  /// ``ExitStatus/beyondLimits`` where a rule is broken, else ``ExitStatus/withinLimits``.
  public var exitStatus: ExitStatus { reasons.isEmpty ? .withinLimits : .beyondLimits }
}
