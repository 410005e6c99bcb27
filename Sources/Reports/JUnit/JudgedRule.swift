import ImagePrimitives

/// A rule that a run was judged by, and what it says of it.
struct JudgedRule {
  /// What it is called in job files, such as `fail-on.empty`.
  var name: String
  /// Why it is broken, a sentence each; none where it holds.
  var reasons: [String]
}

extension FinishedReport {
  /// Every rule of `fail-on` that is switched on, each judged by itself.
  var judgedRules: [JudgedRule] {
    var rules: [(String, FailOn)] = []
    func add(_ name: String, _ isOn: Bool, _ change: (inout FailOn) -> Void) {
      guard isOn else { return }
      var rule = FailOn.nothing
      change(&rule)
      rules.append(("fail-on.\(name)", rule))
    }
    add("failures", failOn.failures != .never) { $0.failures = failOn.failures }
    for (kind, limit) in failOn.kinds.sorted(by: { $0.key.name < $1.key.name }) {
      add("kinds.\(kind.name)", limit != .never) { $0.kinds = [kind: limit] }
    }
    for percentile in FailOn.Percentile.allCases {
      add("latency.\(percentile.rawValue)", failOn.latency[percentile] != nil) {
        $0.latency = failOn.latency.filter { $0.key == percentile }
      }
    }
    add("empty", failOn.empty) { $0.empty = true }
    add("unfinished", failOn.unfinished) { $0.unfinished = true }
    add("evicted", failOn.evicted) { $0.evicted = true }
    return rules.map { JudgedRule(name: $0, reasons: $1.verdict(of: self).reasons) }
  }
}

extension FailOn {
  /// No rule at all.
  fileprivate static var nothing: FailOn {
    var rules = FailOn()
    rules.failures = .never
    rules.empty = false
    rules.unfinished = false
    rules.evicted = false
    return rules
  }
}
