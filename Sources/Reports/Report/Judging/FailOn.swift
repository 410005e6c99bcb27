public import Base

/// The rules of a finished run: it exits with ``ExitStatus/beyondLimits`` if it breaks one of them.
public struct FailOn: Sendable, Hashable {
  public enum Limit: Sendable, Hashable {
    /// More break the rule.
    case count(UInt64)
    /// More than this fraction (0…1) of the entries that were neither skipped nor cancelled breaks the rule.
    case fraction(Double)
    case never
  }

  public enum Percentile: String, Sendable, CaseIterable {
    case p50, p90, p99, max
  }

  public var failures = Limit.count(0)
  /// The limit of failures that a baseline knows: if nearly all are known, the site may be down, or no longer lets us in.
  public var known = Limit.fraction(0.1)
  /// The runs in a row in which a temporary failure must occur to count, at least 1.
  package var temporaryRuns: UInt64 = 1
  /// Limits of failed and blacklisted entries by kind, in addition to ``failures``; other kinds have no rule of their own.
  public var kinds: [FailureKind: Limit] = [:]
  /// The limits of the latency by percentile. Percentiles are those of the report: exact for the maximum, within 19 % otherwise (see
  /// ``LatencyHistogram``).
  public var latency: [Percentile: Duration] = [:]
  /// Limits of findings about the delivery, by rule.
  package var lint: [LintRule: Limit] = [:]
  public var empty = true
  public var unfinished = true
  /// Whether a run fails if trimming removed images that it had stored.
  public var evicted = true

  public init() {}
}

extension FailOn {
  enum Rule: Hashable {
    case failures, known, empty, unfinished, evicted
    case kind(FailureKind)
    case latency(Percentile)
    case lint(LintRule)

    var name: String {
      switch self {
      case .failures, .known, .empty, .unfinished, .evicted: "\(self)"
      case .kind(let kind): "kinds.\(kind.name)"
      case .latency(let percentile): "latency.\(percentile.rawValue)"
      case .lint(let rule): "lint.\(rule.name)"
      }
    }
  }

  var rules: [Rule] {
    let kinds = kinds.filter { $0.value != .never }.keys.sorted { $0.name < $1.name }
    let percentiles = Percentile.allCases.filter { latency[$0] != nil }
    let lint = LintRule.allCases.filter { self.lint[$0] != nil && self.lint[$0] != .never }
    let others: [(Rule, Bool)] = [(.empty, empty), (.unfinished, unfinished), (.evicted, evicted)]
    return (failures == .never ? [] : [.failures]) + (known == .never ? [] : [.known]) + kinds.map(Rule.kind)
      + percentiles.map(Rule.latency) + lint.map(Rule.lint) + others.filter(\.1).map(\.0)
  }

  /// Judges a run by its report without the verdict. Only failures that ``FinishedReport/standings`` counts can break a rule
  /// other than ``known``. Percentages refer to the entries that were neither skipped nor cancelled. Without measured transfers,
  /// all rules on latency hold.
  func verdict(of report: FinishedReport) -> RunVerdict {
    let rules =
      [.unfinished, .empty, .failures, .known] + FailureKind.allCases.map(Rule.kind) + Percentile.allCases.map(Rule.latency)
      + LintRule.allCases.map(Rule.lint) + [.evicted]
    return RunVerdict(reasons: rules.compactMap { reason($0, in: report) })
  }

  /// Why a rule is broken; nil if it holds or is off.
  func reason(_ rule: Rule, in report: FinishedReport) -> String? {
    let (totals, end) = (report.totals, report.end)
    switch rule {
    case .unfinished:
      guard unfinished, end.isPastDeadline else { return nil }
      if totals.cancelled > 0 { return "the deadline passed with \(end.atLeast)\(counted(totals.cancelled, "URL")) not finished" }
      return end.areManifestsRead ? nil : "the deadline passed before the lists were read"
    case .empty: return empty && end.isEmpty ? "no URLs in the lists, or none left after \(report.words.filters)" : nil
    case .evicted:
      guard evicted, let count = end.cache?.evictedFromThisRun, count > 0 else { return nil }
      let enough = end.cache?.sufficientBytes.map { " to \(sizeAbove($0)) or more" } ?? ""
      return
        "trimming removed \(counted(count, "image")) that this run had stored or used; \(report.words.evictionAdvice)\(enough)"
    case .failures:
      guard let excess = failures.excess(of: report.standings.counting, in: totals.considered) else { return nil }
      return report.badPhrase(excess)
    case .known:
      let count = report.standings.known
      guard let excess = known.excess(of: count, in: totals.considered) else { return nil }
      let urls = "\(grouped(count)) of \(counted(totals.considered, "URL")) \(count == 1 ? "is" : "are") known to be bad"
      return "\(urls) (\(excess)); check whether the site is up and lets you in, or raise \(report.words.key(.known))"
    case .kind(let kind):
      let counting = report.standings.countingByKind[kind] ?? 0
      guard let excess = kinds[kind]?.excess(of: counting, in: totals.considered) else { return nil }
      let all = report.failureGroups.reduce(0) { $0 + ($1.kind == kind ? $1.count : 0) }
      let excused = counting < all ? ", \(grouped(all - counting)) of them \(report.standings.excuses)" : ""
      return "\(counted(all, "URL")) failed with \(kind.name)\(excused) (\(excess))"
    case .lint(let rule):
      let count = report.lint.first { $0.rule == rule }?.count ?? 0
      guard let excess = lint[rule]?.excess(of: count, in: totals.considered) else { return nil }
      return "lint \(rule.name): \(counted(count, rule == .certificate ? "host" : "URL")) (\(excess))"
    case .latency(let percentile):
      guard let limit = latency[percentile]?.inSeconds, let value = report.traffic.latency.percentile(percentile.fraction)
      else { return nil }
      let allowed = limit * 1000
      guard value > allowed else { return nil }
      // As many digits as it takes to distinguish them.
      var texts = (Reports.latency(value), Reports.latency(allowed))
      if texts.0 == texts.1 { texts = (fixed(value, decimals: 3) + " ms", fixed(allowed, decimals: 3) + " ms") }
      let name = percentile == .max ? "the longest transfer" : "\(percentile.rawValue) of transfers"
      return "\(name) took \(texts.0) (limit \(texts.1))"
    }
  }
}

extension FailOn.Percentile {
  /// The fraction of transfers that took at most this long.
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
  /// A phrase about a count within the limit, `limit 5` or `0.4 %, limit 1 %`; nil if there is no limit.
  func margin(of count: UInt64, in whole: UInt64) -> String? {
    switch self {
    case .never: nil
    case .count(let limit): "limit \(grouped(limit))"
    case .fraction(let limit): "\(percent(count, of: whole)), limit \(percent(limit))"
    }
  }

  /// A phrase about a count above the limit, `limit 5` or `3.1 %, limit 1 %`; nil if the count is within the limit.
  fileprivate func excess(of count: UInt64, in whole: UInt64) -> String? {
    switch self {
    case .never: return nil
    case .count(let limit): return count > limit ? "limit \(grouped(limit))" : nil
    case .fraction(let limit):
      // 0.29 × 100 is a little less than 29 in binary, and a count equal to the limit is within it.
      let allowed = (limit + 1e-9) * Double(whole)
      guard Double(count) > allowed else { return nil }
      return "\(percent(count, of: whole, beyond: limit)), limit \(percent(limit))"
    }
  }
}

/// The names of rules and remedies in the user's configuration.
public struct ReportWords: Sendable, Hashable {
  /// The rules; for a single rule, a dot and its name follow.
  public var rules = "limits"
  public var filters = "filtering"
  /// The remedy if trimming removed images that the run had stored.
  public var evictionAdvice = "use a larger cache"
  /// How to see blacklisted URLs.
  public var blacklistAdvice = "on the blacklist"
  /// How to see all failures.
  public var failuresAdvice = "in a report of rows"
  /// How to request blacklisted URLs again.
  public var retryAdvice = "a run that retries them"

  /// Words for users without a configuration.
  public init() {}

  public static let plain = ReportWords()

  func key(_ rule: FailOn.Rule) -> String { "\(rules).\(rule.name)" }
}

/// The broken rules of a run.
public struct RunVerdict: Sendable, Hashable {
  /// A sentence without a full stop for each.
  public var reasons: [String] = []

  public var exitStatus: ExitStatus { reasons.isEmpty ? .withinLimits : .beyondLimits }
}

/// How a run ended; the cases are in the order of severity, so that the greatest one is the status of several jobs.
public enum ExitStatus: Int32, Sendable, Comparable, CaseIterable {
  /// Done, within the limits.
  case withinLimits = 0
  /// Done, but beyond the limits.
  case beyondLimits = 2
  /// It couldn't run or finish: the cache is unusable, a report is unwritable, or a manifest is unreadable or broken.
  case couldNotFinish = 1
  /// The job file or the command line is invalid; nothing was fetched.
  case misused = 3
  /// Stopped by SIGINT; another run resumes from the cache.
  case interrupted = 130
  /// Stopped by SIGTERM; another run resumes from the cache.
  case terminated = 143

  public static func < (left: ExitStatus, right: ExitStatus) -> Bool {
    allCases.firstIndex(of: left)! < allCases.firstIndex(of: right)!
  }
}
