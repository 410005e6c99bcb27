import Base

/// Differences for a person: counts first, then new failures, fixed entries and changed images, grouped by reason, with examples.
///
/// Text from outside is escaped. Memory is bounded by the number of reasons times `limit`.
public struct ComparisonText {
  private struct Title: Hashable {
    var change: ReportDifference.Change
    var text: String
  }

  private struct Group {
    var title: Title
    var count: UInt64 = 0
    var examples: [ReportDifference] = []
  }

  private let limit: Int
  private let width: Int
  private var groups: [Title: Group] = [:]

  /// A text without differences so far.
  ///
  /// - Parameters:
  ///   - limit: how many examples a group lists.
  ///   - width: columns to lay out for.
  public init(limit: Int, width: Int = 80) {
    self.limit = limit
    self.width = max(width, TextReport.minimumWidth)
  }

  public mutating func add(_ difference: ReportDifference) {
    let title = Title(change: difference.change, text: difference.groupTitle)
    var group = groups.removeValue(forKey: title) ?? Group(title: title)
    group.count += 1
    if group.examples.count < limit { group.examples.append(difference) }
    groups[title] = group
  }

  public func text(_ comparison: ReportComparison, from old: String, to new: String) -> String {
    var lines = [headline(comparison, "\(escapedForTerminal(old)) → \(escapedForTerminal(new))"), ""]
    lines += counts(comparison)
    for change in ReportDifference.Change.allCases {
      let groups = self.groups.values.filter { $0.title.change == change }
        .sorted { ($1.count, $0.title.text) < ($0.count, $1.title.text) }
      guard !groups.isEmpty else { continue }
      lines += ["", change.title]
      for group in groups { lines += self.lines(group) }
    }
    if !comparison.notes.isEmpty { lines.append("") }
    lines += comparison.notes.map { "Note: \(escapedForTerminal($0))" }
    return lines.map { "\($0)\n" }.joined()
  }

  private func headline(_ comparison: ReportComparison, _ names: String) -> String {
    let parts = [
      (comparison.broke, "broken", 0), (comparison.healed, "fixed", 0), (comparison.changed, "changed", 0),
      (comparison.appeared ?? comparison.appearedBad, "appeared", comparison.appearedBad),
      (comparison.disappeared ?? 0, "disappeared", comparison.disappearedBad),
    ].filter { $0.0 > 0 }.map { "\(grouped($0.0)) \($0.1)\($0.2 > 0 ? " (\(grouped($0.2)) bad)" : "")" }
    return "\(names): \(parts.isEmpty ? "no differences" : parts.joined(separator: ", "))"
  }

  private func counts(_ comparison: ReportComparison) -> [String] {
    var rows: [(String, UInt64, String)] = [("in both", comparison.compared, "URLs with a result in both reports")]
    if comparison.stillBad > 0 { rows.append(("still bad", comparison.stillBad, "")) }
    func detail(_ bad: UInt64) -> String { bad > 0 ? "\(grouped(bad)) bad" : "" }
    if let appeared = comparison.appeared, appeared > 0 {
      rows.append(("appeared", appeared, detail(comparison.appearedBad)))
    } else if comparison.appeared == nil, comparison.appearedBad > 0 {
      rows.append(("appeared", comparison.appearedBad, "bad; good ones are not listed"))
    }
    if let disappeared = comparison.disappeared, disappeared > 0 {
      rows.append(("disappeared", disappeared, detail(comparison.disappearedBad)))
    }
    let countWidth = max(9, rows.map { grouped($0.1).count }.max() ?? 0)
    return rows.map { name, count, detail in
      let line = "  \(name.padded(to: 12))\(grouped(count).rightAligned(to: countWidth))"
      return detail.isEmpty ? line : "\(line)   \(detail)"
    }
  }

  private func lines(_ group: Group) -> [String] {
    var lines = ["  \(escapedForTerminal(group.title.text).padded(to: 28)) \(grouped(group.count).rightAligned(to: 8))"]
    for example in group.examples { lines += self.lines(example) }
    let more = group.count - UInt64(group.examples.count)
    if more > 0, limit > 0 { lines.append("    … \(grouped(more)) more") }
    return lines
  }

  /// URL and location on one line if both fit.
  private func lines(_ difference: ReportDifference) -> [String] {
    let entry = difference.entry
    let url = escapedForTerminal(entry.title)
    let place = escapedForTerminal(entry.manifest) + (entry.line > 0 ? ":\(entry.line)" : "")
    let line = "    \(url.padded(to: 54))  \(place)"
    let first = line.count <= width ? [line] : ["    \(url)", "      \(place)"]
    guard difference.change == .changed else { return first }
    return first + ["      \(difference.before.imageText) → \(difference.after.imageText)"]
  }
}

extension ReportDifference.Change {
  fileprivate var title: String {
    switch self {
    case .broke: "Broken"
    case .healed: "Fixed"
    case .changed: "Changed"
    }
  }
}

extension ReportDifference {
  /// The title of its group: why it is bad, why it was, or the difference of the images.
  fileprivate var groupTitle: String {
    switch change {
    case .broke: return after.reason
    case .healed: return "was \(before.reason)"
    case .changed:
      if aspects.contains(.format), let old = before.format, let new = after.format { return "\(old.name) → \(new.name)" }
      return aspects == [.content] ? "same length, other bytes" : aspects.map(\.rawValue).joined(separator: " and ")
    }
  }
}

extension EntryFacts {
  fileprivate var reason: String {
    guard let kind else { return "bad for an unknown reason" }
    return FailureGroup.Key(kind: kind, status: kind == .httpStatus ? status : nil).title
  }

  fileprivate var imageText: String { imagePhrase(format: format, width: width, height: height, bytes: bytes) }
}
