import ImagePrimitives

/// The rules of the JSON report, and what they say of the run.
extension JSONReport {
  func write(judgementOf report: FinishedReport, _ json: inout JSONComposer) {
    json.object("fail_on") { $0.write(report.failOn) }
    json.object("verdict") { json in json.array("reasons", report.verdict.reasons) { $0.element($1) } }
    json.object("standings") { json in
      json.write("counting", report.standings.counting)
      json.write("known", report.standings.known)
      json.write("in_grace", 0)
      json.object(key: "counting_by_kind") { json in
        for (kind, count) in report.standings.countingByKind.sorted(by: { $0.key.name < $1.key.name }) {
          json.write(key: kind.name, count)
        }
      }
    }
  }
}

extension JSONComposer {
  fileprivate mutating func write(_ rules: FailOn) {
    write(key: "failures", rules.failures)
    object(key: "kinds") { json in
      for (kind, limit) in rules.kinds.sorted(by: { $0.key.name < $1.key.name }) { json.write(key: kind.name, limit) }
    }
    object(key: "latency_ms") { json in
      for percentile in FailOn.Percentile.allCases {
        guard let limit = rules.latency[percentile] else { continue }
        json.write(key: percentile.rawValue, limit.inSeconds * 1000, decimals: 6)
      }
    }
    write("empty", rules.empty)
    write("unfinished", rules.unfinished)
    write("evicted", rules.evicted)
  }

  private mutating func write(key: String, _ limit: FailOn.Limit) {
    switch limit {
    case .count(let count): write(key: key, count)
    // Swift writes the fewest digits that read back as the same number.
    case .fraction(let fraction): object(key: key) { $0.write(key: "fraction", literal: "\(fraction)") }
    case .never: write(key: key, literal: "null")
    }
  }
}
