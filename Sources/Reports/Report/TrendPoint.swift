package import Base

/// A run among those before it and after it.
package struct TrendPoint: Sendable, Equatable {
  /// How many runs a report lists.
  static let limit = 30

  /// When it ended; nil if unknown.
  package var finishedAt: Timestamp?
  package var urls: UInt64 = 0
  /// How many failed or were blacklisted.
  package var bad: UInt64 = 0
  /// How many of them weren't known from the baseline of the run.
  package var new: UInt64 = 0
  /// By the monotonic clock; zero if unknown.
  package var duration = Duration.zero
}

extension TrendPoint {
  init(_ report: FinishedReport) {
    self.init(
      finishedAt: report.end.finishedAt,
      urls: report.totals.urls,
      bad: report.totals.bad,
      new: report.standings.counting,
      duration: report.end.duration
    )
  }
}

extension FinishedReport {
  /// The last runs with this one at the end, for the next run; only this one if there is no other.
  var trendWithThisRun: [TrendPoint] { trend.isEmpty ? [TrendPoint(self)] : trend }

  /// `12 → 14 → 9 bad in the last 3 runs`; nil if no earlier run is known.
  var trendPhrase: String? {
    guard trend.count > 1 else { return nil }
    let shown = trend.suffix(10)
    return "\(shown.map { grouped($0.bad) }.joined(separator: " → ")) bad in the last \(shown.count) runs"
  }
}
