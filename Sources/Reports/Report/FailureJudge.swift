/// Whether a failure counts in the verdict.
public enum FailureStanding: Sendable, Hashable, CaseIterable {
  /// It counts.
  case counts
  /// It failed in the report that `fail-on.baseline` names, too.
  case known

  /// The name in reports.
  public var name: String {
    switch self {
    case .counts: "counts"
    case .known: "known"
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
}
