package import Reports

/// Finds the known word nearest to a mistyped one.
package enum Suggestions {
  /// Longer words aren't typing errors.
  private static let maximumLength = 40

  /// Returns the nearest candidate within a third of its letters; nil if there is none.
  package static func nearest(to word: String, among candidates: some Sequence<String>) -> String? {
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

  /// The optimal string alignment distance: insertions, deletions, replacements and swaps of neighbors.
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
  /// Returns the message for an unknown format `word`, with the correct form for a report to `path`.
  package static func error(_ word: String, path: String, written: (ReportFormat, String) -> String) -> String {
    let names = allCases.map(\.rawValue)
    let meant =
      ReportFormat(fileExtension: word.lowercased())
      ?? Suggestions.nearest(to: word, among: names).flatMap { ReportFormat(rawValue: $0) }
    guard let meant else { return "'\(word)' isn't a report format; use \(JobForm.alternatives(names))" }
    return "'\(word)' isn't a report format; write \(written(meant, path))"
  }
}
