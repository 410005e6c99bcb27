import Glibc
import Base
import HeapModule

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
    case addingUp(CountMerge, sorted: CountRuns)
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
      table.sort(by: .mostAskedFirst)
      phase = .inMemory(next: 0)
      return
    }
    try spill()
    phase = .addingUp(try CountMerge(runs.takeAll(), .byText), sorted: try CountRuns(in: directory))
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
      for _ in 0..<Self.sliceTargets {
        guard let (sum, text) = try sums.next() else {
          try write(.mostAskedFirst, to: sorted)
          phase = .merged(try CountMerge(sorted.takeAll(), .mostAskedFirst))
          break
        }
        table.append(sum, text)
        if table.memoryBytes > maximumMemoryBytes { try write(.mostAskedFirst, to: sorted) }
      }
      return .nothingYet
    case .inMemory(let index):
      guard index < table.counts.count else { return .end }
      phase = .inMemory(next: index + 1)
      return .target(table.text(of: table.counts[index]), location: table.counts[index].location)
    case .merged(let merge):
      guard let (count, text) = try merge.next() else { return .end }
      return .target(text, location: count.location)
    }
  }

  private func spill() throws(InputError) {
    let runs = if let runs { runs } else { try CountRuns(in: directory) }
    self.runs = runs
    try write(.byText, to: runs)
  }

  /// Writes the table out as a sorted run.
  private func write(_ order: CountOrder, to runs: CountRuns) throws(InputError) {
    table.sort(by: order)
    for count in table.counts { try runs.append(count, table.text(of: count)) }
    try runs.endRun()
    table = RequestTable()
    guard runs.ranges.count == CountRuns.maximumCount else { return }
    // One run of all, so that there are never more runs than can be merged at once.
    let merge = try CountMerge(runs.takeAll(), order)
    while let (count, text) = try merge.next() { try runs.append(count, text) }
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

  /// Adds a text that isn't in the table, without a search; ``add(from:location:)`` doesn't find it.
  func append(_ count: RequestCount, _ text: UnsafeRawBufferPointer) {
    counts.append(RequestCount(count: count.count, location: count.location, offset: texts.count, length: text.count))
    texts.append(text)
  }

  /// Sorts the counts; nothing can be added afterwards.
  func sort(by order: CountOrder) {
    slots = ProbedTable(free: 0, slots: 1)
    switch order {
    case .byText: counts.sort { text(of: $0).isLess(than: text(of: $1)) }
    case .mostAskedFirst: counts.sort { $0.isMoreAsked(than: $1) }
    }
  }

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
  /// The offset of the target in the texts of its table.
  var offset: Int
  var length: Int

  /// More requests first, then the earlier location.
  func isMoreAsked(than other: RequestCount) -> Bool { count != other.count ? count > other.count : location < other.location }
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
  init(file: Int, line: UInt64) { packed = UInt64(file) << Self.lineBits | min(line, 1 << Self.lineBits - 1) }

  var file: Int { Int(packed >> Self.lineBits) }

  var line: UInt64 { packed & (1 << Self.lineBits - 1) }

  static func < (left: LogLocation, right: LogLocation) -> Bool { left.packed < right.packed }
}

enum CountOrder {
  case byText, mostAskedFirst
}

/// Sorted runs of counts in one spool file, which are merged later, so that counting needs bounded memory (external
/// merge sort).
final class CountRuns {
  /// The number of runs merged at once; each has its own window.
  static let maximumCount = 64

  private let file: SpoolFile
  private(set) var ranges: [Range<UInt64>] = []
  private var start: UInt64 = 0

  init(in directory: String) throws(InputError) { file = try SpoolFile(in: directory) }

  /// Adds the next count and its text to the current run.
  func append(_ count: RequestCount, _ text: UnsafeRawBufferPointer) throws(InputError) {
    try file.append(count)
    try file.append(text)
  }

  /// Ends the current run.
  func endRun() throws(InputError) {
    try file.flush()
    if file.count > start { ranges.append(start..<file.count) }
    start = file.count
  }

  /// Returns all runs for merging; runs that are added later form a new set.
  func takeAll() -> [CountRun] {
    defer { ranges = [] }
    return ranges.map { CountRun(file, $0) }
  }
}

/// One run that is being read.
final class CountRun {
  private let file: SpoolFile
  private var unread: Range<UInt64>
  private let window = TextWindow(order: .fifo, byteCount: 128 << 10)
  /// The last count and its text, which is valid until the next one.
  private(set) var current: (count: RequestCount, text: UnsafeRawBufferPointer)

  init(_ file: SpoolFile, _ range: Range<UInt64>) {
    self.file = file
    unread = range
    let none = RequestCount(count: 0, location: LogLocation(file: 0, line: 0), offset: 0, length: 0)
    current = (none, UnsafeRawBufferPointer(start: nil, count: 0))
  }

  /// Advances to the next count; returns false at the end.
  func advance() throws(InputError) -> Bool {
    if unread.isEmpty { return false }
    let headerBytes = MemoryLayout<RequestCount>.size
    let header = try next(headerBytes).loadUnaligned(as: RequestCount.self)
    let record = try next(headerBytes + header.length)
    current = (header, UnsafeRawBufferPointer(rebasing: record[headerBytes...]))
    unread = (unread.lowerBound + UInt64(record.count))..<unread.upperBound
    return true
  }

  private func next(_ count: Int) throws(InputError) -> UnsafeRawBufferPointer {
    guard let bytes = try window.bytes(at: unread.lowerBound, length: count, of: file) else {
      throw InputError("the temporary file of request counts is truncated")
    }
    return bytes
  }
}

/// Merges sorted runs, and adds up the counts of equal targets that follow each other.
final class CountMerge {
  private struct Source: Comparable {
    let run: CountRun
    let order: CountOrder

    static func < (left: Source, right: Source) -> Bool {
      let (first, second) = (left.run.current, right.run.current)
      switch left.order {
      case .byText: return first.text.isLess(than: second.text)
      case .mostAskedFirst: return first.count.isMoreAsked(than: second.count)
      }
    }

    static func == (left: Source, right: Source) -> Bool { !(left < right) && !(right < left) }
  }

  private var sources = Heap<Source>()
  private let text = GrowingBytes()

  /// Creates the merge of runs that were sorted in that order.
  init(_ runs: [CountRun], _ order: CountOrder) throws(InputError) {
    for run in runs where try run.advance() { sources.insert(Source(run: run, order: order)) }
  }

  /// Returns the next count, whose text is valid until the next call; nil at the end.
  func next() throws(InputError) -> (count: RequestCount, text: UnsafeRawBufferPointer)? {
    guard var (sum, first) = sources.min?.run.current else { return nil }
    text.removeAll()
    text.append(first)
    first = text.bytes
    try advance()
    while let (count, text) = sources.min?.run.current, text.isEqual(to: first) {
      sum.count += count.count
      sum.location = min(sum.location, count.location)
      try advance()
    }
    return (sum, first)
  }

  private func advance() throws(InputError) {
    if let source = sources.popMin(), try source.run.advance() { sources.insert(source) }
  }
}
