import RedisClient

/// What the writer of a queue tells of the lists that its entries came from, beside the entries.
public struct ListRemarks: Sendable, Hashable {
  /// So many warnings are kept.
  static let maximumWarnings = 1000

  /// One sentence on why a list could not be read to its end, so that the queue lacks what came behind; nil where all were.
  public var breakage: String?
  /// Sentences of which each tells something by itself; the first 1,000 are kept.
  public var warnings: [String]

  /// Nothing to remark, or that.
  public init(breakage: String? = nil, warnings: [String] = []) {
    (self.breakage, self.warnings) = (breakage, warnings)
  }

  /// The field of a queue's job that has the breakage.
  private static let breakageField: RedisArgument = "breakage"
  /// The field of a queue's job that has how many warnings there are.
  private static let warningCountField: RedisArgument = "warnings"
  /// The field of a queue's job that has a warning.
  private static func warningField(_ index: Int) -> RedisArgument { RedisArgument("warning:\(index)") }

  /// Fields and values of a queue's job.
  var fields: [RedisArgument] {
    let kept = warnings.prefix(Self.maximumWarnings)
    var fields = [Self.warningCountField, RedisArgument(kept.count)]
    for (index, warning) in kept.enumerated() { fields += [Self.warningField(index), RedisArgument(warning)] }
    if let breakage { fields += [Self.breakageField, RedisArgument(breakage)] }
    return fields
  }

  /// Reads them back; `fields` gives the values of fields of a queue's job.
  init<Failure: Error>(reading fields: ([RedisArgument]) throws(Failure) -> [RedisReply]) throws(Failure) {
    let found = try fields([Self.breakageField, Self.warningCountField])
    breakage = found.first?.text
    let count = Int(clamping: found.last?.count ?? 0)
    guard count > 0 else {
      warnings = []
      return
    }
    warnings = try fields((0..<min(count, Self.maximumWarnings)).map(Self.warningField)).compactMap(\.text)
  }
}
