/// Warnings of entries, gathered by their sentence, so that a thousand equal ones make one line.
struct WarningLog {
  /// Sentences told apart; entries with any other are counted only.
  static let sentenceLimit = 50

  private struct Occurrences {
    var order: Int
    var count: UInt64
    var firstPlace: String
  }

  private var sentences: [String: Occurrences] = [:]
  private var others: UInt64 = 0

  mutating func record(_ warnings: [String], manifest: String, line: UInt64) {
    for warning in warnings {
      if sentences[warning] != nil {
        sentences[warning]!.count += 1
      } else if sentences.count < Self.sentenceLimit {
        let place = line == 0 ? manifest : "\(manifest):\(line)"
        sentences[warning] = Occurrences(order: sentences.count, count: 1, firstPlace: place)
      } else {
        others += 1
      }
    }
  }

  /// The sentences in the order of their first entries, each with its count and the first place.
  var lines: [String] {
    var lines = sentences.sorted { $0.value.order < $1.value.order }.map { sentence, occurrences in
      occurrences.count == 1
        ? "\(occurrences.firstPlace): \(sentence)"
        : "\(grouped(occurrences.count)) entries, first \(occurrences.firstPlace): \(sentence)"
    }
    if others > 0 { lines.append("\(counted(others, "further warning")) of other kinds") }
    return lines
  }
}
