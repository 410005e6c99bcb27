/// The class of a request: a higher class starts first, and order holds within a class.
public enum Priority: UInt8, Sendable, CaseIterable, Comparable {
  case veryHigh, high, normal, low, veryLow

  /// The name in job files, manifests and reports, such as `very-high`.
  public var name: String {
    switch self {
    case .veryHigh: "very-high"
    case .high: "high"
    case .normal: "normal"
    case .low: "low"
    case .veryLow: "very-low"
    }
  }

  /// The class of that name; nil for any other text.
  public init?(name: some StringProtocol) {
    guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = match
  }

  /// Orders by urgency: `.veryHigh` is the greatest.
  public static func < (left: Priority, right: Priority) -> Bool { left.rawValue > right.rawValue }
}
