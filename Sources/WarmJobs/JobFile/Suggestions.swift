public import Reports

/// Finds the known word that a mistyped one is nearest to.
public enum Suggestions {
  /// Longer words are no slips of the finger.
  private static let maximumLength = 40

  /// The candidate that is at most a third of its letters away; nil if none is that near.
  public static func nearest(to word: String, among candidates: some Sequence<String>) -> String? {
    let word = Array(word.lowercased())
    guard word.count <= maximumLength else { return nil }
    var best: (candidate: String, distance: Int)?
    for candidate in candidates {
      let distance = distance(word, Array(candidate))
      guard distance <= max(1, max(word.count, candidate.count) / 3), distance < best?.distance ?? .max else { continue }
      best = (candidate, distance)
    }
    return best?.candidate
  }

  /// The optimal string alignment distance: letters inserted, removed, replaced, or swapped with their neighbour.
  private static func distance(_ left: [Character], _ right: [Character]) -> Int {
    var beforeLast = [Int](repeating: 0, count: right.count + 1)
    var last = Array(0...right.count)
    for row in 0..<left.count {
      var current = [row + 1]
      for column in 0..<right.count {
        let isEqual = left[row] == right[column]
        var cost = min(last[column] + (isEqual ? 0 : 1), last[column + 1] + 1, current[column] + 1)
        if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
          cost = min(cost, beforeLast[column - 1] + 1)
        }
        current.append(cost)
      }
      (beforeLast, last) = (last, current)
    }
    return last[right.count]
  }
}

extension ReportFormat {
  /// Why `word` names no form of reports, and what to write for a report to `path`; ends without a full stop.
  public static func error(_ word: String, path: String, written: (ReportFormat, String) -> String) -> String {
    let names = allCases.map(\.rawValue)
    let meant =
      ReportFormat(fileExtension: word.lowercased())
      ?? Suggestions.nearest(to: word, among: names).flatMap { ReportFormat(rawValue: $0) }
    guard let meant else { return "'\(word)' is not a report format; use \(JobValueType.alternatives(names))" }
    return "'\(word)' is not a report format; write \(written(meant, path))"
  }
}
