import Foundation

/// How often the dangerous tests repeat what they do: a few times, or as `scripts/soak` asks.
enum SoakCounts {
  /// Whether `scripts/soak` asks for large counts.
  static let isLong = ProcessInfo.processInfo.environment["PREWARM_SOAK"] != nil
  /// Runs that are killed.
  static let kills = count("PREWARM_SOAK_KILLS", default: 6)
  /// Runs that are stopped by a signal or a deadline.
  static let cancels = count("PREWARM_SOAK_CANCELS", default: 8)
  /// Images of a run.
  static let images = count("PREWARM_SOAK_IMAGES", default: 300)
  /// URLs of a check.
  static let urls = count("PREWARM_SOAK_URLS", default: 1200)
  /// For how long workers keep to a rate that they share.
  static let rateSeconds = count("PREWARM_SOAK_SECONDS", default: 60)
  /// Entries of a queue.
  static let entries = count("PREWARM_SOAK_ENTRIES", default: 800)
  /// Workers that are killed over a queue.
  static let workerKills = count("PREWARM_SOAK_WORKER_KILLS", default: 3)
  /// Restarts of a queue's server.
  static let redisRestarts = count("PREWARM_SOAK_REDIS_RESTARTS", default: 1)
  /// Where the random moments start; a failing test prints it.
  static let seed = UInt64(count("PREWARM_SOAK_SEED", default: 20_261_121))

  private static func count(_ variable: String, default count: Int) -> Int {
    ProcessInfo.processInfo.environment[variable].flatMap { Int($0) } ?? count
  }
}
