/// Whether a failure counts in the verdict.
public enum FailureStanding: Sendable, Hashable, CaseIterable {
  /// It counts.
  case counts
  /// It failed in the report that `fail-on.new-failures-since` names, too.
  case known
  /// It has not failed often enough on end (`fail-on.grace`).
  case inGrace

  /// The name in reports, such as `in-grace`.
  public var name: String {
    switch self {
    case .counts: "counts"
    case .known: "known"
    case .inGrace: "in-grace"
    }
  }

  /// The standing of that name; nil for any other text.
  public init?(name: some StringProtocol) {
    guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = match
  }
}

/// Who tells which failures count, entry by entry, while the run goes; called on the driver thread.
public protocol FailureJudge: AnyObject {
  /// A failed or blacklisted entry.
  func standing(of entry: EntryKey) -> FailureStanding

  /// An entry that was good.
  func passed(_ entry: EntryKey)

  /// An entry that was skipped or cancelled, of which nothing new is known.
  func leftOpen(_ entry: EntryKey)
}
