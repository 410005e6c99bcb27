import ImagePrimitives

/// How many entries a worker holds: few, so that others have their part and little has to be done again when it dies; and as many
/// as it finishes within a quarter of a second, so that it need not wait for Redis.
struct LookAhead {
  /// It holds no more, however fast it is.
  static let most = 4096
  static let period = Duration.milliseconds(250)

  private let least: Int
  private var finished = 0
  /// How many entries were finished in the last period.
  private(set) var pace = 0
  private var periodEnd: MonotonicInstant
  /// Entries that may be held or asked for now.
  private(set) var entries: Int

  init(least: Int, now: MonotonicInstant) {
    self.least = least
    entries = least
    periodEnd = now.advanced(by: Self.period)
  }

  /// That many entries have been finished.
  mutating func finish(_ count: Int) { finished += count }

  /// Judges by what was finished in the period that is over.
  mutating func adapt(now: MonotonicInstant) {
    guard now >= periodEnd else { return }
    pace = min(finished, Self.most)
    entries = max(least, pace)
    finished = 0
    periodEnd = now.advanced(by: Self.period)
  }
}
