import Foundation

/// The number of repetitions in dangerous tests: few, or set by `scripts/soak`.
enum SoakCounts {
  /// Whether `scripts/soak` requests large counts.
  static let isLong = ProcessInfo.processInfo.environment["PREWARM_SOAK"] != nil
  /// Runs that are killed.
  static let kills = count("PREWARM_SOAK_KILLS", default: 6)
  /// Runs that are stopped by a signal or a deadline.
  static let cancels = count("PREWARM_SOAK_CANCELS", default: 8)
  /// Images of a run.
  static let images = count("PREWARM_SOAK_IMAGES", default: 300)
  /// URLs of a check.
  static let urls = count("PREWARM_SOAK_URLS", default: 1200)
  /// The seed of random moments; a failing test prints it.
  static let seed = UInt64(count("PREWARM_SOAK_SEED", default: 20_261_121))

  private static func count(_ variable: String, default count: Int) -> Int {
    ProcessInfo.processInfo.environment[variable].flatMap { Int($0) } ?? count
  }
}
