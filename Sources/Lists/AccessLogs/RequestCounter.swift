import Glibc
import Base

/// Counts requests by target, exactly, in bounded memory, and returns the targets by decreasing count.
///
/// While all targets fit in ``defaultMemoryBytes``, it is a hash table. Beyond that, the table is repeatedly written
/// out sorted by target; merging these runs adds up the counts of each target, and the sums are sorted by count in the
/// same way. So each target is written and read twice, regardless of the number of requests.
final class RequestCounter {
  /// The size of the table before it is written out; with the reserves of arrays and the windows of runs, memory may
  /// reach three times that.
  static let defaultMemoryBytes = 16 << 20
  /// Targets that are merged before other work gets a turn.
  private static let sliceTargets = 65_536

  private enum Phase {
    case counting
    /// Adds up the counts of equal targets; the table collects the sums for sorting by count.
    case addingUp(SummedCounts, sorted: CountRuns)
    case inMemory(next: Int)
    case merged(CountMerge)
  }

  private let directory: String
  private let maximumMemoryBytes: Int
  private var table = RequestTable()
  private var runs: CountRuns?
  private var phase = Phase.counting

  init(spoolDirectory: String, memoryBytes: Int = defaultMemoryBytes) {
    directory = spoolDirectory
    maximumMemoryBytes = memoryBytes
  }

  /// Counts a request for `target`, whose escapes are undone if it has those of a log.
  func add(_ target: UnsafeRawBufferPointer, isEscaped: Bool = true, location: LogLocation) throws(InputError) {
    let start = table.texts.count
    if isEscaped { LogEscapes.appendUndone(target, to: table.texts) } else { table.texts.append(target) }
    table.add(from: start, location: location)
    if table.memoryBytes > maximumMemoryBytes { try spill() }
  }

  /// Starts sorting; no request can be added afterwards.
  func finish() throws(InputError) {
    guard let runs else {
      table.sort(by: RequestCount.isMoreAsked)
      phase = .inMemory(next: 0)
      return
    }
    try spill()
    phase = .addingUp(SummedCounts(try CountMerge(runs.takeAll(), order: .byText)), sorted: try CountRuns(in: directory))
  }

  /// The result of ``next()``.
  enum Step {
    /// A target, valid until the next step.
    case target(UnsafeRawBufferPointer, location: LogLocation)
    case nothingYet
    case end
  }

  /// Returns the most requested of the remaining targets.
  func next() throws(InputError) -> Step {
    switch phase {
    case .counting: preconditionFailure("next() requires finish() first")
    case .addingUp(let sums, let sorted):
      if try addUp(sums, sorted) { phase = .merged(try CountMerge(sorted.takeAll(), order: .mostAskedFirst)) }
      return .nothingYet
    case .inMemory(let index):
      guard index < table.counts.count else { return .end }
      phase = .inMemory(next: index + 1)
      return .target(table.text(of: table.counts[index]), location: table.counts[index].location)
    case .merged(let merge):
      guard let (_, location, text) = try merge.next() else { return .end }
      return .target(text, location: location)
    }
  }

  private func spill() throws(InputError) {
    table.sortByText()
    let runs = if let runs { runs } else { try CountRuns(in: directory) }
    self.runs = runs
    try runs.append(table)
    table = RequestTable()
    guard runs.ranges.count == CountRuns.maximumCount else { return }
    // One run of all, so that there are never more runs than can be merged at once.
    let sums = SummedCounts(try CountMerge(runs.takeAll(), order: .byText))
    while let sum = try sums.next() { try runs.append(count: sum.count, location: sum.location, sum.text) }
    try runs.endRun()
  }

  /// Collects a slice of the sums; returns true after the last.
  private func addUp(_ sums: SummedCounts, _ sorted: CountRuns) throws(InputError) -> Bool {
    for _ in 0..<Self.sliceTargets {
      guard let sum = try sums.next() else {
        try writeSorted(to: sorted)
        return true
      }
      table.append(count: sum.count, location: sum.location, sum.text)
      if table.memoryBytes > maximumMemoryBytes { try writeSorted(to: sorted) }
    }
    return false
  }

  private func writeSorted(to runs: CountRuns) throws(InputError) {
    table.sort(by: RequestCount.isMoreAsked)
    try runs.append(table)
    table = RequestTable()
    guard runs.ranges.count == CountRuns.maximumCount else { return }
    let merge = try CountMerge(runs.takeAll(), order: .mostAskedFirst)
    while let (count, location, text) = try merge.next() { try runs.append(count: count, location: location, text) }
    try runs.endRun()
  }
}

/// Counts of targets in memory: a hash table with open addressing over adjacent texts.
final class RequestTable {
  private(set) var counts: [RequestCount] = []
  let texts = GrowingBytes()
  /// For each slot, the index of its count plus one.
  private var slots = ProbedTable<UInt32>(free: 0, slots: 1024)

  /// Its approximate size.
  var memoryBytes: Int { texts.count + counts.count * MemoryLayout<RequestCount>.stride + slots.byteCount }

  func text(of count: RequestCount) -> UnsafeRawBufferPointer { texts[count.offset..<count.offset + count.length] }

  /// Counts a request for the text appended to ``texts`` from `start` on; removes the text again if it is known.
  func add(from start: Int, location: LogLocation) {
    let text = texts[start..<texts.count]
    let slot = slots.index(hash: hash(text)) { self.text(of: counts[Int($0) - 1]).isEqual(to: text) }
    if !slots[slot].isFree {
      counts[Int(slots[slot]) - 1].count += 1
      texts.removeAll(from: start)
      return
    }
    counts.append(RequestCount(count: 1, location: location, offset: start, length: text.count))
    _ = slots.insert(UInt32(counts.count), at: slot) { hash(self.text(of: counts[Int($0) - 1])) }
  }

  /// Adds a text that isn't in the table, without a search; ``add(from:line:)`` doesn't find it.
  func append(count: UInt64, location: LogLocation, _ text: UnsafeRawBufferPointer) {
    counts.append(RequestCount(count: count, location: location, offset: texts.count, length: text.count))
    texts.append(text)
  }

  /// Sorts the counts; nothing can be added afterwards.
  func sort(by precedes: (RequestCount, RequestCount) -> Bool) {
    slots = ProbedTable(free: 0, slots: 1)
    counts.sort(by: precedes)
  }

  func sortByText() { sort { text(of: $0).isLess(than: text(of: $1)) } }

  // Seeded per process, so that a crafted log can't make it slow.
  private func hash(_ text: UnsafeRawBufferPointer) -> UInt64 {
    var hasher = Hasher()
    hasher.combine(bytes: text)
    return UInt64(truncatingIfNeeded: hasher.finalize())
  }
}

/// The number of requests of one target.
struct RequestCount {
  var count: UInt64
  /// The location of the first request.
  var location: LogLocation
  /// The offset of the target in the texts.
  var offset: Int
  var length: Int

  /// More requests first, then the earlier location.
  static func isMoreAsked(_ left: RequestCount, _ right: RequestCount) -> Bool {
    left.count != right.count ? left.count > right.count : left.location < right.location
  }
}

extension UnsafeRawBufferPointer {
  /// Compares bytes; a prefix comes first.
  func isLess(than other: UnsafeRawBufferPointer) -> Bool {
    let order = isEmpty || other.isEmpty ? 0 : memcmp(baseAddress!, other.baseAddress!, Swift.min(count, other.count))
    return order != 0 ? order < 0 : count < other.count
  }

  func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
    count == other.count && (isEmpty || memcmp(baseAddress!, other.baseAddress!, count) == 0)
  }
}

/// The location of a request in one word: ordered by file, then by line.
struct LogLocation: Comparable {
  private static let lineBits: UInt64 = 40

  private let packed: UInt64

  /// Creates a location from a line, counted from 1, and the index of its file. Lines beyond 2^40 count as line 2^40.
  init(file: Int, line: UInt64) {
    packed = UInt64(file) << Self.lineBits | min(line, 1 << Self.lineBits - 1)
  }

  var file: Int { Int(packed >> Self.lineBits) }

  var line: UInt64 { packed & (1 << Self.lineBits - 1) }

  static func < (left: LogLocation, right: LogLocation) -> Bool { left.packed < right.packed }
}
