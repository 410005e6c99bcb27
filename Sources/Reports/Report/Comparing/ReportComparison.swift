package import Base

/// The differences between an earlier report and a later one, entry by entry: entries that broke, were fixed, or are other images.
///
/// Entries are the same by URL, variant and edge; of repeated entries the first good or bad result counts. The earlier report's entries
/// take 48 bytes each, or 64 to 128 MB for a million; the later report's aren't kept.
///
/// A JSON report lists failures only. Compared with one, a broken entry may also be new in the lists, a fixed one may be gone from
/// them, and changed images are unknown.
public struct ReportComparison: Sendable, Equatable {
  /// Entries that were good and are bad.
  public private(set) var broke: UInt64 = 0
  /// Entries that were bad and are good.
  public private(set) var healed: UInt64 = 0
  /// Entries that are another image.
  public private(set) var changed: UInt64 = 0
  /// Entries that were bad and still are.
  public private(set) var stillBad: UInt64 = 0
  /// Entries with a result in both reports.
  public private(set) var compared: UInt64 = 0
  /// Entries that only the later report has; nil if unknown.
  public private(set) var appeared: UInt64?
  /// How many of them are bad.
  public private(set) var appearedBad: UInt64 = 0
  /// Entries that only the earlier report has; nil if unknown.
  public private(set) var disappeared: UInt64?
  /// How many of them were bad.
  public private(set) var disappearedBad: UInt64 = 0
  /// Sentences on what the reports leave unknown.
  public private(set) var notes: [String] = []

  /// Compares two reports; `-` is standard input.
  ///
  /// - Parameter each: gets every difference, in the order of the later report.
  package init(from oldPath: String, to newPath: String, each: (ReportDifference) -> Void) throws(ReportReadingError) {
    let old = try ComparedSide(path: oldPath)
    let new = try ComparedSide(path: newPath)
    if old.hasRows, !new.hasRows, oldPath == "-" { _ = try old.reopened() }
    var table: [EntryKey: EntryFacts] = [:]
    try old.forEach { entry throws(JSONProblem) in
      if (table[entry.key]?.state ?? .open) == .open { table[entry.key] = try entry.facts() }
    }
    if old.hasRows, new.hasRows { appeared = 0 }
    try new.forEach { entry throws(JSONProblem) in try compare(entry, &table, isOldComplete: old.hasRows, each) }
    if new.hasRows {
      countDisappeared(table)
    } else {
      try old.reopened().forEach { entry throws(JSONProblem) in try countHealed(entry, &table, each) }
    }
    explain(old, new)
  }

  private mutating func compare(
    _ entry: ComparedSide.Entry,
    _ table: inout [EntryKey: EntryFacts],
    isOldComplete: Bool,
    _ each: (ReportDifference) -> Void
  ) throws(JSONProblem) {
    let after = try entry.facts()
    if table[entry.key] == nil, isOldComplete { appeared? += 1 }
    let before = table[entry.key] ?? EntryFacts()
    table[entry.key, default: before].isListed = true
    guard !before.isCompared, after.state == .good || after.state == .bad else { return }
    table[entry.key]!.isCompared = true
    switch (before.state, after.state) {
    case (.absent, .bad) where !isOldComplete:
      // An entry that an earlier JSON report doesn't list was good, or missing.
      try report(.broke, entry, before, after, each)
    case (.absent, .bad): appearedBad += 1
    case (.good, .bad): try report(.broke, entry, before, after, each)
    case (.bad, .good): try report(.healed, entry, before, after, each)
    case (.bad, .bad): stillBad += 1
    case (.good, .good):
      if !after.aspects(differingFrom: before).isEmpty { try report(.changed, entry, before, after, each) }
    default: return
    }
    if before.state != .absent { compared += 1 }
  }

  private mutating func countDisappeared(_ table: [EntryKey: EntryFacts]) {
    let gone = table.values.lazy.filter { $0.state != .absent && !$0.isListed }
    (disappeared, disappearedBad) = (UInt64(gone.count), UInt64(gone.count { $0.state == .bad }))
  }

  /// An entry that a later JSON report doesn't list is good, or missing.
  private mutating func countHealed(
    _ entry: ComparedSide.Entry,
    _ table: inout [EntryKey: EntryFacts],
    _ each: (ReportDifference) -> Void
  ) throws(JSONProblem) {
    guard let before = table[entry.key], before.state == .bad, !before.isListed else { return }
    table[entry.key]!.isListed = true
    try report(.healed, entry, before, EntryFacts(), each)
  }

  private mutating func report(
    _ change: ReportDifference.Change,
    _ entry: ComparedSide.Entry,
    _ before: EntryFacts,
    _ after: EntryFacts,
    _ each: (ReportDifference) -> Void
  ) throws(JSONProblem) {
    switch change {
    case .broke: broke += 1
    case .healed: healed += 1
    case .changed: changed += 1
    }
    let aspects = change == .changed ? after.aspects(differingFrom: before) : []
    each(ReportDifference(change: change, aspects: aspects, entry: try entry.describe(), before: before, after: after))
  }

  private mutating func explain(_ old: ComparedSide, _ new: ComparedSide) {
    func name(_ side: ComparedSide) -> String { side.path == "-" ? "standard input" : side.path }
    if !old.hasRows { notes.append("\(name(old)) lists failures only: broken URLs may also be new in the lists") }
    if !new.hasRows {
      notes.append("\(name(new)) lists failures only: fixed URLs may also be gone from the lists, or weren't requested")
    }
    if !notes.isEmpty { notes.append("changed images are found only by comparing two JSON Lines reports") }
  }
}

/// An entry whose result differs from that in the earlier report.
public struct ReportDifference: Sendable, Equatable {
  public enum Change: String, Sendable, CaseIterable {
    /// It was good and is bad.
    case broke
    /// It was bad and is good.
    case healed
    /// It was good and still is, but is another image.
    case changed
  }

  /// A property of an image; `content` if other bytes have the same length.
  package enum Aspect: String, Sendable {
    case format, size, bytes, content
  }

  public var change: Change
  /// The differing properties of the image; empty unless it ``Change/changed``.
  package var aspects: [Aspect]
  package var entry: ListedEntry
  package var before: EntryFacts
  package var after: EntryFacts
}

extension EntryFacts {
  /// The properties in which two good results differ, as far as both are known; none for an original and a transformed image.
  func aspects(differingFrom other: EntryFacts) -> [ReportDifference.Aspect] {
    var aspects: [ReportDifference.Aspect] = []
    guard isTransformed == other.isTransformed else { return aspects }
    if let format, let otherFormat = other.format, format != otherFormat { aspects.append(.format) }
    if width > 0, other.width > 0, (width, height) != (other.width, other.height) { aspects.append(.size) }
    if bytes > 0, other.bytes > 0 {
      if bytes != other.bytes {
        aspects.append(.bytes)
      } else if hash != 0, other.hash != 0, hash != other.hash {
        aspects.append(.content)
      }
    }
    return aspects
  }
}
