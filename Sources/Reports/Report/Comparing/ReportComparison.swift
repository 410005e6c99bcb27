import ImagePrimitives

/// What differs between an earlier report and a later one, entry by entry: what broke, healed, or is another image.
///
/// Entries are the same by URL, variant and edge; one that a list has more than once is compared by its first end that is good
/// or bad. The earlier report's entries are kept at 48 bytes each, some 64 to 128 MB for a million; the later one's go by.
///
/// A JSON report lists failures only. Beside one, what broke may also be new in the lists, what healed may also have gone from
/// them, and images that changed are unknown.
public struct ReportComparison: Sendable, Equatable {
  /// Entries that were good and are bad.
  public private(set) var broke: UInt64 = 0
  /// Entries that were bad and are good.
  public private(set) var healed: UInt64 = 0
  /// Entries that are another image.
  public private(set) var changed: UInt64 = 0
  /// Entries that were bad and are.
  public private(set) var stillBad: UInt64 = 0
  /// Entries of which both reports say how they ended.
  public private(set) var compared: UInt64 = 0
  /// Entries that only the later report has; nil if unknown.
  public private(set) var appeared: UInt64?
  /// Those of them that are bad.
  public private(set) var appearedBad: UInt64 = 0
  /// Entries that only the earlier report has; nil if unknown.
  public private(set) var disappeared: UInt64?
  /// Those of them that were bad.
  public private(set) var disappearedBad: UInt64 = 0
  /// Sentences on what such reports don't say.
  public private(set) var untold: [String] = []

  /// Compares two reports; `-` is standard input.
  ///
  /// - Parameter each: gets every difference, in the order of the later report.
  public init(
    from oldPath: String,
    to newPath: String,
    each: (ReportDifference) -> Void
  ) throws(ReportReadingError) {
    let old = try ComparedSide(path: oldPath)
    let new = try ComparedSide(path: newPath)
    if old.hasRows, !new.hasRows, oldPath == "-" { _ = try old.reopened() }
    var table = EntryTable(filler: EntryFacts())
    try old.forEach { entry in
      let (index, isNew) = table.indexAdding(entry.key)
      if isNew || table[index].state == .open { table[index] = entry.facts }
    }
    if old.hasRows, new.hasRows { appeared = 0 }
    try new.forEach { entry throws(JSONError) in try compare(entry, &table, isOldComplete: old.hasRows, each) }
    if new.hasRows {
      countDisappeared(table)
    } else {
      try old.reopened().forEach { entry throws(JSONError) in try countHealed(entry, &table, each) }
    }
    explain(old, new)
  }

  private mutating func compare(
    _ entry: ComparedSide.Entry,
    _ table: inout EntryTable<EntryFacts>,
    isOldComplete: Bool,
    _ each: (ReportDifference) -> Void
  ) throws(JSONError) {
    let after = entry.facts
    let (index, isNew) = table.indexAdding(entry.key)
    let before = table[index]
    if isNew, isOldComplete { appeared? += 1 }
    table[index].isListed = true
    guard !before.isCompared, after.state == .good || after.state == .bad else { return }
    table[index].isCompared = true
    switch (before.state, after.state) {
    case (.absent, .bad) where !isOldComplete:
      // What an earlier JSON report does not list was good, or not there.
      try tell(.broke, entry, before, after, each)
    case (.absent, .bad): appearedBad += 1
    case (.good, .bad): try tell(.broke, entry, before, after, each)
    case (.bad, .good): try tell(.healed, entry, before, after, each)
    case (.bad, .bad): stillBad += 1
    case (.good, .good):
      if !after.aspects(differingFrom: before).isEmpty { try tell(.changed, entry, before, after, each) }
    default: return
    }
    if before.state != .absent { compared += 1 }
  }

  private mutating func countDisappeared(_ table: EntryTable<EntryFacts>) {
    var (gone, goneBad): (UInt64, UInt64) = (0, 0)
    table.forEach { _, facts in
      guard facts.state != .absent, !facts.isListed else { return }
      gone += 1
      if facts.state == .bad { goneBad += 1 }
    }
    (disappeared, disappearedBad) = (gone, goneBad)
  }

  /// What a later JSON report does not list is good, or not there.
  private mutating func countHealed(
    _ entry: ComparedSide.Entry,
    _ table: inout EntryTable<EntryFacts>,
    _ each: (ReportDifference) -> Void
  ) throws(JSONError) {
    guard let index = table.index(of: entry.key), table[index].state == .bad, !table[index].isListed else { return }
    table[index].isListed = true
    try tell(.healed, entry, table[index], EntryFacts(), each)
  }

  private mutating func tell(
    _ change: ReportDifference.Change,
    _ entry: ComparedSide.Entry,
    _ before: EntryFacts,
    _ after: EntryFacts,
    _ each: (ReportDifference) -> Void
  ) throws(JSONError) {
    switch change {
    case .broke: broke += 1
    case .healed: healed += 1
    case .changed: changed += 1
    }
    let description = try entry.describe()
    each(
      ReportDifference(
        change: change,
        aspects: change == .changed ? after.aspects(differingFrom: before) : [],
        url: description.url,
        variant: description.variant,
        manifest: description.manifest,
        line: description.line,
        before: ReportDifference.End(before),
        after: ReportDifference.End(after)
      )
    )
  }

  private mutating func explain(_ old: ComparedSide, _ new: ComparedSide) {
    func name(_ side: ComparedSide) -> String { side.path == "-" ? "standard input" : side.path }
    if !old.hasRows {
      untold.append("\(name(old)) lists failures only: what broke may also be new in the lists")
    }
    if !new.hasRows {
      untold.append("\(name(new)) lists failures only: what healed may also be in the lists no more, or was not asked for")
    }
    if !untold.isEmpty { untold.append("which images changed can be told of two JSON Lines reports only") }
  }
}
