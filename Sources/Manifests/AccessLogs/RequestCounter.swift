/// Counts requests by target, exactly, in bounded memory, and gives the targets by falling count.
///
/// While all targets fit in ``defaultMemoryBytes``, it is a hash table. Beyond, the table is written out sorted by target, again
/// and again; the runs are merged, which adds up the counts of each target, and what comes of that is sorted by count in the
/// same way. Each target so is written and read twice, whatever the number of requests.
final class RequestCounter {
  /// What is counted in memory before it is written out; with what arrays hold in reserve and the windows of the runs it may be thrice that.
  static let defaultMemoryBytes = 16 << 20
  /// How many targets are merged at once before others get a turn.
  private static let sliceTargets = 65_536

  private enum Phase {
    case counting
    /// Adds up the counts of equal targets; the table gathers them to be sorted by count.
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

  /// Counts a request for `target`, whose escapes are undone.
  func add(_ target: UnsafeRawBufferPointer, location: LogLocation) throws(InputFailure) {
    let start = table.texts.count
    LogEscapes.appendUndone(target, to: table.texts)
    table.add(from: start, location: location)
    if table.memoryBytes > maximumMemoryBytes { try spill() }
  }

  /// Begins to sort; nothing can be added after that.
  func finish() throws(InputFailure) {
    guard let runs else {
      table.sort(by: RequestCount.isMoreAsked)
      phase = .inMemory(next: 0)
      return
    }
    try spill()
    phase = .addingUp(SummedCounts(try CountMerge(runs.takeAll(), order: .byText)), sorted: try CountRuns(in: directory))
  }

  /// What ``next()`` gave.
  enum Step {
    /// A target, which is valid until the next step.
    case target(UnsafeRawBufferPointer, location: LogLocation)
    case nothingYet
    case end
  }

  /// The next target, of those that are left the one that was asked for most.
  func next() throws(InputFailure) -> Step {
    switch phase {
    case .counting: preconditionFailure("targets are asked for before all requests were counted")
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

  private func spill() throws(InputFailure) {
    table.sortByText()
    let runs = if let runs { runs } else { try CountRuns(in: directory) }
    self.runs = runs
    try runs.append(table)
    table = RequestTable()
    guard runs.ranges.count == CountRuns.maximumCount else { return }
    // One run of all, so that there are never more than can be merged at once.
    let sums = SummedCounts(try CountMerge(runs.takeAll(), order: .byText))
    while let sum = try sums.next() { try runs.append(count: sum.count, location: sum.location, sum.text) }
    try runs.endRun()
  }

  /// Gathers a slice of the sums; true where those were the last.
  private func addUp(_ sums: SummedCounts, _ sorted: CountRuns) throws(InputFailure) -> Bool {
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

  private func writeSorted(to runs: CountRuns) throws(InputFailure) {
    table.sort(by: RequestCount.isMoreAsked)
    try runs.append(table)
    table = RequestTable()
    guard runs.ranges.count == CountRuns.maximumCount else { return }
    let merge = try CountMerge(runs.takeAll(), order: .mostAskedFirst)
    while let (count, location, text) = try merge.next() { try runs.append(count: count, location: location, text) }
    try runs.endRun()
  }
}
