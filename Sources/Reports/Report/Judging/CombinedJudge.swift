/// Several judges as one: a failure counts only where none of them lets it off.
public final class CombinedJudge: FailureJudge {
  private let judges: [any FailureJudge]

  /// Judges in the order in which their word is told.
  public init(_ judges: [any FailureJudge]) { self.judges = judges }

  /// The word of the first that lets it off; each is asked, since each may keep a count.
  public func standing(of entry: EntryKey) -> FailureStanding {
    judges.map { $0.standing(of: entry) }.first { $0 != .counts } ?? .counts
  }

  /// Tells each.
  public func passed(_ entry: EntryKey) {
    for judge in judges { judge.passed(entry) }
  }

  /// Tells each.
  public func leftOpen(_ entry: EntryKey) {
    for judge in judges { judge.leftOpen(entry) }
  }
}
