import ImagePrimitives

/// What older versions did not tell, made of what they did.
extension JSONReportReader {
  /// The groups that the report has; else what its lists and counts of failures tell of them.
  static func failureGroups(_ json: JSONValue, _ report: FinishedReport) throws(JSONProblem) -> [FailureGroup] {
    if try json.value("failure_groups") != nil { return try read(json, "failure_groups", failureGroup) }
    var groups = GroupsOfOlderVersions(report.failures)
    for (text, count) in try json.value("failures_by_status")?.members() ?? [] {
      guard let status = Int(text), (100...999).contains(status) else { throw count.problem("is no HTTP status") }
      groups.raise(FailureGroup.Key(kind: .httpStatus, status: status), to: try count.count())
    }
    for (name, count) in try json.value("failures_by_kind")?.members() ?? [] {
      guard let kind = FailureKind(name: name) else { throw count.problem("is no kind of failure that this version knows") }
      groups.raise(kind, to: try count.count())
    }
    groups.addBlacklisted(upTo: report.totals.blacklisted)
    return groups.sorted
  }
}

/// Groups of failures by what is listed and what is counted of them: of the first thousand the records, of all kinds and statuses.
private struct GroupsOfOlderVersions {
  private var groups: [FailureGroup.Key: FailureGroup] = [:]

  init(_ failures: [FailureRecord]) {
    for record in failures {
      let kind = record.failure?.kind
      change(FailureGroup.Key(kind: kind, status: kind == .httpStatus ? record.failure?.status : nil)) { group in
        if record.outcome == .failed { group.failed += 1 } else { group.blacklisted += 1 }
        if group.examples.count < FailureGroup.exampleLimit { group.examples.append(record) }
      }
    }
  }

  /// All of them, the largest first. No failure was let off in those days.
  var sorted: [FailureGroup] {
    let counted = groups.values.map { group in
      var group = group
      group.counting = group.count
      return group
    }
    return counted.sorted { $0.isBefore($1) }
  }

  /// Counts that so many failed in a group, those listed among them.
  mutating func raise(_ key: FailureGroup.Key, to count: UInt64) {
    guard count > 0 else { return }
    change(key) { $0.failed = max($0.failed, count) }
  }

  /// Counts that so many failed of a kind, in all of its groups together.
  mutating func raise(_ kind: FailureKind, to count: UInt64) {
    let counted = groups.values.reduce(0) { $0 + ($1.kind == kind ? $1.failed : 0) }
    if count > counted { change(FailureGroup.Key(kind: kind, status: nil)) { $0.failed += count - counted } }
  }

  /// Counts the blacklisted that no list tells the reason of.
  mutating func addBlacklisted(upTo count: UInt64) {
    let counted = groups.values.reduce(0) { $0 + $1.blacklisted }
    if count > counted { change(FailureGroup.Key(kind: nil, status: nil)) { $0.blacklisted += count - counted } }
  }

  private mutating func change(_ key: FailureGroup.Key, _ body: (inout FailureGroup) -> Void) {
    body(&groups[key, default: FailureGroup(kind: key.kind, status: key.status)])
  }
}
