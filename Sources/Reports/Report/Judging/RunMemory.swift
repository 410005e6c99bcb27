package import Base

/// How an entry was in the last runs, if it was bad in one of them.
package struct EntryHistory: Sendable, Equatable {
  /// A month of daily runs.
  static let runLimit = 30
  /// The limit of a report: with more, an outage hides what is flaky.
  static let listedLimit = FailureRecord.listedLimit

  package var entry = ListedEntry()
  /// When the first of the runs in a row started in which it is bad; nil if it is good, or if that is unknown.
  package var badSince: Timestamp?
  /// A bit for each run, the last one's lowest: whether it was bad.
  var runs: UInt32 = 0

  var isBad: Bool { runs & 1 == 1 }
  var wasBad: Bool { runs & 2 == 2 }
  /// In how many runs in a row, up to the last one, it is bad.
  package var badRuns: Int { (~runs).trailingZeroBitCount }
  /// Whether it went bad more than once.
  package var isFlaky: Bool { (runs & ~(runs >> 1)).nonzeroBitCount > 1 }

  /// Adds a run.
  mutating func add(isBad: Bool, startedAt: Timestamp?) {
    if !isBad { badSince = nil } else if !self.isBad { badSince = startedAt }
    runs = (runs << 1 | (isBad ? 1 : 0)) & (1 << Self.runLimit - 1)
  }

  /// `bad in 3 of the last 30 runs`, of which the first is the one in which it was bad first.
  var flakyPhrase: String {
    "bad in \(grouped(UInt64(runs.nonzeroBitCount))) of the last \(grouped(UInt64(UInt32.bitWidth - runs.leadingZeroBitCount))) runs"
  }
}

/// What a report says of the last runs.
package struct LastRuns: Sendable {
  var trend: [TrendPoint] = []
  /// The entries that were bad in one of them.
  var history: [EntryHistory] = []
  /// Whether a failure counts that didn't in the run before, or one that did is good.
  var hasNews = false
}

/// What is remembered of a job's last runs: each report carries it to the next one, so it needs no database.
package final class RunMemory {
  /// The runs in a row in which a temporary failure must occur to count.
  private let temporaryRuns: Int
  private var entries: [EntryKey: EntryHistory] = [:]
  /// Whether those that occurred in this run were bad.
  private var sightings: [EntryKey: Bool] = [:]
  /// Those that are bad for the first time, and the order in which they came.
  private var newEntries: [(key: EntryKey, entry: ListedEntry)] = []
  /// Whether an entry that isn't remembered was good.
  private var isComplete = false
  private(set) var trend: [TrendPoint] = []
  /// The failures that counted in the last run.
  private var counted: Set<EntryKey> = []
  private(set) var hasNews = false

  /// Remembers nothing.
  package init(temporaryRuns: Int = 1) { self.temporaryRuns = temporaryRuns }

  /// Reads the JSON report at `path`; returns false if there is no such file.
  package func read(_ path: String) throws(ReportReadingError) -> Bool {
    guard InputFile.isRegular(path) else { return false }
    let input = try ReportInput(path: path)
    guard input.kind == .report else { throw ReportReadingError(path: path, message: "isn't a JSON report") }
    let report = try input.report(words: .plain)
    trend = report.trendWithThisRun
    for history in report.lastRuns.history { entries[history.entry.key] = history }
    for failure in report.failures {
      let key = failure.key
      if failure.standing == .counts { counted.insert(key) }
      guard entries[key] == nil else { continue }
      entries[key] = EntryHistory(entry: failure.listed, badSince: report.startedAt, runs: 1)
    }
    isComplete = report.failuresOmitted == 0 && report.lastRuns.history.count < EntryHistory.listedLimit
    return true
  }

  /// Whether good entries matter.
  var isEmpty: Bool { entries.isEmpty }

  func noteGood(_ key: EntryKey) {
    // An entry of several lists is bad if one says so.
    guard entries[key] != nil, sightings[key] == nil else { return }
    sightings[key] = false
    if counted.contains(key) { hasNews = true }
  }

  func noteCounting(_ key: EntryKey) {
    if !counted.contains(key) { hasNews = true }
  }

  /// Notes a bad entry, and returns whether its temporary failure doesn't count yet.
  func noteBad(_ key: EntryKey, _ entry: () -> ListedEntry) -> Bool {
    if sightings[key] != true {
      sightings[key] = true
      if entries[key] == nil, newEntries.count < EntryHistory.listedLimit { newEntries.append((key, entry())) }
    }
    return temporaryRuns > 1 && isComplete && (entries[key]?.badRuns ?? 0) + 1 < temporaryRuns
  }

  /// How a bad entry was before; nil if it was good.
  func badBefore(_ key: EntryKey) -> EntryHistory? { entries[key].flatMap { $0.isBad ? $0 : nil } }

  /// The histories with this run, the longest of bad entries first.
  ///
  /// - Parameter isWhole: whether entries that didn't occur are in no list any more.
  func histories(isWhole: Bool, startedAt: Timestamp?) -> [EntryHistory] {
    var histories: [EntryHistory] = []
    for (key, var history) in entries {
      if let isBad = sightings[key] { history.add(isBad: isBad, startedAt: startedAt) } else if isWhole { continue }
      if history.runs != 0 { histories.append(history) }
    }
    histories.sort {
      ($0.isBad ? 0 : 1, $0.runs.leadingZeroBitCount, $0.entry.url) < (
        $1.isBad ? 0 : 1, $1.runs.leadingZeroBitCount, $1.entry.url
      )
    }
    histories += newEntries.map { EntryHistory(entry: $0.entry, badSince: startedAt, runs: 1) }
    return Array(histories.prefix(EntryHistory.listedLimit))
  }
}

extension ListedEntry {
  var key: EntryKey {
    var url = url
    return url.withUTF8 { EntryKey(url: UnsafeRawBufferPointer($0), variant: variant) }
  }
}

extension FinishedReport {
  /// The entries that were bad in the last run and are good now.
  var recovered: [EntryHistory] { lastRuns.history.filter { !$0.isBad && $0.wasBad } }

  /// The entries that are good again, and those that went bad more than once in the last runs; empty lists are left out.
  var historyLists: [(label: String, titles: [String])] {
    let fixed = Set(baseline?.fixedEntries.map(\.title) ?? [])
    let lists = [
      ("Recovered", recovered.map(\.entry.title).filter { !fixed.contains($0) }),
      ("Flaky", lastRuns.history.filter(\.isFlaky).map { "\($0.entry.title)  \($0.flakyPhrase)" }),
    ]
    return lists.filter { !$0.1.isEmpty }
  }

  /// Whether the verdict or the failures that count differ from those of the last run; without a report of it, whether the run failed.
  package var hasChanged: Bool {
    let isFailed = exitStatus != .withinLimits
    guard let before = trend.dropLast().last else { return isFailed }
    return lastRuns.hasNews || before.isFailed != isFailed
  }
}
