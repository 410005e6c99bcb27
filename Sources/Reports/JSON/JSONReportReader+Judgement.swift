import ImagePrimitives

/// The rules, and what they say of the run.
extension JSONReportReader {
  /// The default ones where the report, of an older version, does not tell them.
  static func failOn(_ json: JSONValue?) throws(JSONProblem) -> FailOn {
    var rules = FailOn()
    guard let json else { return rules }
    rules.failures = try limit(json, "failures")
    for (name, value) in try json.value("kinds")?.members() ?? [] {
      guard let kind = FailureKind(name: name) else { throw value.problem("is no kind of failure that this version knows") }
      rules.kinds[kind] = value.isNull ? .never : try limit(value)
    }
    for (name, value) in try json.value("latency_ms")?.members() ?? [] {
      guard let percentile = FailOn.Percentile(rawValue: name) else {
        throw value.problem("is no percentile of p50, p90, p99, max")
      }
      rules.latency[percentile] = .nanoseconds(Int64((min(try value.number(), 4e12) * 1e6).rounded()))
    }
    rules.empty = try json.boolean("empty") ?? true
    rules.unfinished = try json.boolean("unfinished") ?? true
    rules.evicted = try json.boolean("evicted") ?? true
    return rules
  }

  private static func limit(_ json: JSONValue, _ key: StaticString) throws(JSONProblem) -> FailOn.Limit {
    try json.value(key).map(limit) ?? .never
  }

  private static func limit(_ json: JSONValue) throws(JSONProblem) -> FailOn.Limit {
    guard json.isObject else { return .count(try json.count()) }
    let fraction = try json.required("fraction").number()
    guard fraction <= 1 else { throw json.problem("is a fraction above 1") }
    return .fraction(fraction)
  }

  /// Reports of older versions let no failure off.
  static func standings(_ json: JSONValue?, totals: Totals) throws(JSONProblem) -> FailureStandings {
    var standings = FailureStandings()
    guard let json else {
      standings.counting = totals.bad
      return standings
    }
    standings.counting = try json.count("counting")
    standings.known = try json.count("known")
    for (name, value) in try json.value("counting_by_kind")?.members() ?? [] {
      guard let kind = FailureKind(name: name) else { throw value.problem("is no kind of failure that this version knows") }
      standings.countingByKind[kind] = try value.count()
    }
    return standings
  }
}
