extension FinishedReport {
  /// Whether the verdict or the failures that count differ from those of the last run, as far as the baseline shows.
  ///
  /// A failure that counts is one that the baseline lacks, so it is new, or comes and goes. Without an earlier report, a run has changed if
  /// it failed.
  public var hasChanged: Bool {
    if exitStatus != .withinLimits || baseline != nil && standings.counting > 0 { return true }
    return (trend.dropLast().last?.new ?? 0) > 0 || (baseline?.fixed ?? 0) > 0
  }
}
