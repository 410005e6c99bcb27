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
    case broke
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

/// An earlier or later report, entry by entry: rows, or the failures that a JSON report lists.
struct ComparedSide {
  /// An entry, valid during a call only; what takes time is read on demand.
  struct Entry {
    var key: EntryKey
    var outcome: LoadOutcome
    /// Nil if it is good, or the reason is unknown.
    var failure: ImageFailure?
    var standing = FailureStanding.counts
    var facts: () throws(JSONProblem) -> EntryFacts
    var describe: () throws(JSONProblem) -> ListedEntry
  }

  let path: String
  /// Nil if there are rows.
  let report: FinishedReport?
  private let input: ReportInput

  init(path: String) throws(ReportReadingError) {
    self.path = path
    input = try ReportInput(path: path)
    report = input.kind == .report ? try input.report(words: .plain) : nil
    try report?.checkThatAllFailuresAreListed(path: path)
  }

  /// Whether it has rows, which list good entries, too.
  var hasRows: Bool { report == nil }

  /// Calls `body` with every entry; rows can be read only once.
  ///
  /// - Parameter isStopped: asked before each row; if true, the rest isn't read.
  func forEach(isStopped: () -> Bool = { false }, _ body: (Entry) throws(JSONProblem) -> Void) throws(ReportReadingError) {
    do throws(JSONProblem) {
      for failure in report?.failures ?? [] { try body(Entry(failure)) }
    } catch { throw ReportReadingError(path: path, message: error.message) }
    guard hasRows else { return }
    try input.rows(isStopped: isStopped) { row throws(JSONProblem) in try body(Entry(row)) }
  }

  func reopened() throws(ReportReadingError) -> ComparedSide {
    guard hasRows else { return self }
    guard path != "-" else {
      throw ReportReadingError(
        path: path,
        message: "can't be read twice, which comparing rows with a JSON report requires; name a file"
      )
    }
    return try ComparedSide(path: path)
  }
}

extension ComparedSide.Entry {
  fileprivate init(_ record: FailureRecord) {
    key = record.key
    (outcome, failure, standing) = (record.outcome, record.failure, record.standing)
    facts = { EntryFacts(record.failure) }
    describe = { record.listed }
  }

  fileprivate init(_ row: ReportRow) throws(JSONProblem) {
    key = EntryKey(url: try row.url(), variant: try row.variant())
    outcome = try row.outcome()
    (failure, standing) = (try row.failure(outcome), try row.standing(outcome))
    facts = { () throws(JSONProblem) in EntryFacts(try row.result()) }
    describe = { () throws(JSONProblem) in
      ListedEntry(
        url: String(decoding: try row.url(), as: UTF8.self),
        variant: try row.variant(),
        manifest: String(decoding: try row.manifest(), as: UTF8.self),
        line: try row.line()
      )
    }
  }
}

/// The result of an entry in one of two reports, in 32 bytes.
package struct EntryFacts: BitwiseCopyable, Sendable, Equatable {
  enum State: UInt8 {
    /// The report doesn't have it.
    case absent
    /// Skipped or cancelled: its result is unknown.
    case open
    case good
    case bad
  }

  private static let none = UInt8.max

  /// 0 if unknown.
  package private(set) var bytes: UInt64 = 0
  /// The lower half of the body's hash; 0 if unknown.
  private(set) var hash: UInt64 = 0
  /// In pixels; 0 if unknown.
  package private(set) var width: UInt32 = 0
  /// In pixels; 0 if unknown.
  package private(set) var height: UInt32 = 0
  /// 0 if there is none.
  private var statusNumber: UInt16 = 0
  private(set) var state = State.absent
  private var kindNumber = none
  private var formatNumber = none
  /// Whether the other report lists the entry, too.
  var isListed = false
  /// Whether the two results were compared, which happens once.
  var isCompared = false
  /// Whether the properties are those of a transformed image.
  private(set) var isTransformed = false

  init() {}

  init(_ result: EntryResult) {
    self.init()
    switch result.outcome {
    case .failed, .blacklisted:
      self = EntryFacts(result.failure)
      return
    case .skipped, .cancelled: state = .open
    case .hitMemory, .hitDisk, .downloaded, .revalidated, .checked: state = .good
    }
    let transformed = result.transformed
    isTransformed = transformed != nil
    bytes = transformed?.bytes ?? result.bytes
    hash = (transformed.map(\.checksum) ?? result.checksum)?.low ?? 0
    width = transformed?.width ?? result.image.width
    height = transformed?.height ?? result.image.height
    formatNumber = (transformed.map(\.format) ?? result.image.format)?.rawValue ?? Self.none
  }

  /// A failure, whose reason may be unknown.
  init(_ failure: ImageFailure?) {
    state = .bad
    kindNumber = failure?.kind.rawValue ?? Self.none
    // An invalid status would make an unbounded number of groups.
    statusNumber = failure?.status.flatMap { (100...999).contains($0) ? UInt16($0) : nil } ?? 0
  }

  /// Why it was bad; nil if it was good, or that is unknown.
  package var kind: FailureKind? { FailureKind(rawValue: kindNumber) }
  /// The HTTP status of a bad entry; nil if the server sent none.
  package var status: Int? { statusNumber > 0 ? Int(statusNumber) : nil }
  /// The image's format, if it was good.
  package var format: ImageFormat? { ImageFormat(rawValue: formatNumber) }
}
