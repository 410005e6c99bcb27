public import Base

@dynamicMemberLookup
public struct FinishedReport: Sendable {
  public var version = ""
  public var job = JobIdentity()
  /// The names of rules and remedies in sentences.
  public var words = ReportWords.plain
  /// When the run started; nil if that is unknown, as in rows.
  public var startedAt: Timestamp?
  /// How the run ended as a whole, with the cache and the blacklist.
  public var end = RunEnd(finishedAt: nil, duration: .zero)
  public var verdict = RunVerdict()
  public var failOn = FailOn()
  /// Each image once, however many lists name it.
  public var totals = OutcomeTotals()
  /// Further entries that name the same images, with the same results.
  public var repeats = OutcomeTotals()
  public var traffic = Traffic()
  /// Downloaded and checked entries by format, the most frequent first.
  public var formats: [FormatCount] = []
  public var manifests: [ManifestSummary] = []
  /// The 1,000 hosts with most entries, descending, then by name.
  public var hosts: [HostSummary] = []
  /// How many hosts aren't listed; beyond 65,536 hosts, each entry of a further one counts as a host.
  public var hostsOmitted: UInt64 = 0
  /// Failed and blacklisted entries by kind, status and message; those that count come first, then the largest groups.
  public var failureGroups: [FailureGroup] = []
  /// The first failed and blacklisted entries, those that count before known ones; a JSON report lists 10,000.
  public var failures: [FailureRecord] = []
  public var standings = FailureStandings()
  /// The difference from an earlier run; nil if there was none to compare with.
  public var baseline: BaselineDifference?
  package var lastRuns = LastRuns()
  /// The commands that repeat the request of an entry, by variant; empty if they are unknown.
  public var requests: [ReportedRequest] = []
  /// The progress of the run over time; nil if it wasn't recorded.
  public var timeline: Timeline?
  /// Its properties are also the report's: `report.placeholders`.
  public var images = ReportedImages()
  /// Findings about the delivery of good images, those that save most bytes first; empty if it wasn't judged.
  package var lint: [LintSummary] = []
  /// Sentences on the run, and on entries, which are grouped by sentence.
  public var warnings: [String] = []

  public subscript<Value>(dynamicMember property: WritableKeyPath<ReportedImages, Value>) -> Value {
    get { images[keyPath: property] }
    set { images[keyPath: property] = newValue }
  }

  /// The last runs, this one at the end; empty if no earlier one is known.
  public var trend: [TrendPoint] {
    get { lastRuns.trend }
    set { lastRuns.trend = newValue }
  }

  /// The exit status of the job: a signal's, or 1 if the job couldn't finish, or the verdict's.
  public var exitStatus: ExitStatus {
    end.interruption?.exitStatus ?? (end.breakage == nil ? verdict.exitStatus : .couldNotFinish)
  }

  /// Returns the verdict on the lists only, for a run that fetched no image: on invalid lines and on an empty run.
  ///
  /// - Parameter misses: how many of the skipped entries would have been fetched.
  public func verdictOnLists(fetching misses: UInt64) -> RunVerdict {
    var lists = self
    let misses = min(misses, lists.totals.skipped)
    lists.totals.skipped -= misses
    let known = totals.failed - invalidURLs
    lists.totals.failed -= known
    lists.totals.checked += misses + known + totals.blacklisted
    lists.totals.blacklisted = 0
    lists.standings.countingByKind = standings.countingByKind.filter { $0.key == .invalidURL }
    lists.standings.counting = lists.standings.countingByKind[.invalidURL] ?? 0
    return failOn.verdict(of: lists)
  }

  public var invalidURLs: UInt64 { failureGroups.filter { $0.kind == .invalidURL }.reduce(0) { $0 + $1.count } }

  /// How many failed and blacklisted entries aren't listed.
  public var failuresOmitted: UInt64 { totals.bad - min(totals.bad, UInt64(failures.count)) }
  public var urlsPerSecond: Double { perSecond(totals.done) }
  public var bytesPerSecond: Double { perSecond(traffic.receivedBytes) }

  func perSecond(_ amount: UInt64) -> Double {
    let seconds = end.duration.inSeconds
    return seconds > 0 ? Double(amount) / seconds : 0
  }
}

/// Bytes, requests and times of a run, without entries that shared the request of another one.
public struct Traffic: Sendable, Equatable {
  /// Bytes of bodies received from the network, failed attempts included.
  public var receivedBytes: UInt64 = 0
  public var cachedBytes: UInt64 = 0
  /// Bytes of the newly stored images as received.
  public var originalBytes: UInt64 = 0
  /// Bytes stored for them; an original that is kept beside its transformed image isn't counted.
  public var storedBytes: UInt64 = 0
  /// Requests, retries included, redirects not.
  public var attempts: UInt64 = 0
  public var retries: UInt64 = 0
  /// The total time that entries waited between attempts.
  public var waitedNanoseconds: UInt64 = 0
  public var transientFailures: UInt64 = 0
  /// Images that were good at the second look.
  public var recovered: UInt64 = 0
  /// The duration of transfers, without the waits between attempts.
  public var latency = LatencyHistogram()
  /// The shares of the outcomes in ``receivedBytes`` and ``latency``; empty if they are unknown.
  public var outcomes = TrafficByOutcome()
}

/// The traffic of each outcome; nil if it is unknown.
public struct TrafficByOutcome: Sendable, Equatable {
  // Indexed by outcome: each transferred entry is looked up here.
  private var values = [OutcomeTraffic?](repeating: nil, count: LoadOutcome.allCases.count)

  public init() {}

  public subscript(outcome: LoadOutcome) -> OutcomeTraffic? {
    get { values[Int(outcome.rawValue)] }
    set { values[Int(outcome.rawValue)] = newValue }
  }

  /// The outcomes with known traffic, in the order of their cases.
  public var known: [(outcome: LoadOutcome, traffic: OutcomeTraffic)] {
    LoadOutcome.allCases.compactMap { outcome in self[outcome].map { (outcome, $0) } }
  }

  /// Calls `body` with the traffic of an outcome, which is known from then on.
  mutating func update(_ outcome: LoadOutcome, _ body: (inout OutcomeTraffic) -> Void) {
    let index = Int(outcome.rawValue)
    if values[index] == nil { values[index] = OutcomeTraffic() }
    body(&values[index]!)
  }
}

public struct OutcomeTraffic: Sendable, Equatable {
  /// Bytes of bodies received, failed attempts included.
  public var receivedBytes: UInt64 = 0
  /// The duration of their transfers; those of cancelled entries aren't measured.
  public var latency = LatencyHistogram()
  /// How many of the entries shared the request of another one; only that one counts above.
  public var shared: UInt64 = 0
}

public struct FormatCount: Sendable, Equatable {
  public var format: ImageFormat
  public var count: UInt64

  /// The order of reports: the most frequent first.
  func isBefore(_ other: FormatCount) -> Bool { (other.count, format.rawValue) < (count, other.format.rawValue) }
}

public struct ManifestSummary: Sendable, Equatable {
  public var path = ""
  /// The absolute path of the file with its entries, which is the job file for entries in the job; nil if they aren't in a file.
  public var file: String?
  public var totals = OutcomeTotals()
}

public struct HostSummary: Sendable, Equatable {
  /// Host and port, if it isn't the scheme's own.
  public var host = ""
  public var totals = OutcomeTotals()
  public var receivedBytes: UInt64 = 0
  public var latency = LatencyHistogram()
  /// Hits and misses of remote caches, by edge if the job names edges; empty if they weren't checked.
  public var remoteCaches: [RemoteCacheCount] = []

  /// The order of reports: most entries first, then by name.
  func isBefore(_ other: HostSummary) -> Bool { (other.totals.urls, host) < (totals.urls, other.host) }
}

extension HostSummary {
  /// All, unchanged, fetched and bad entries, as tables have them.
  var counts: [UInt64] { [totals.urls, totals.unchanged, totals.fetched, totals.bad] }

  /// The median and the 99th percentile.
  var times: [String] { [0.5, 0.99].map { latency.percentile($0).map(Reports.latency) ?? "–" } }
}

extension FinishedReport {
  /// The lists, those with most failures first, then in their order.
  var manifestsByFailures: [ManifestSummary] {
    manifests.enumerated().sorted { ($1.element.totals.bad, $0.offset) < ($0.element.totals.bad, $1.offset) }.map(\.element)
  }

  /// The listed hosts, those with most failures first, then those with most entries.
  var hostsByFailures: [HostSummary] {
    hosts.sorted { ($1.totals.bad, $1.totals.urls, $0.host) < ($0.totals.bad, $0.totals.urls, $1.host) }
  }

  /// The host with most failed and blacklisted entries, and its number of entries, if that is known. A host that isn't among
  /// those with most entries may still be the worst; then its failures follow from the groups that name it.
  var worstHost: (host: String, bad: UInt64, urls: UInt64?)? {
    var unlisted: [String: UInt64] = [:]
    for group in failureGroups {
      for host in group.hosts { unlisted[host.host, default: 0] += host.count }
    }
    for host in hosts { unlisted[host.host] = nil }
    let listed = hostsByFailures.first.flatMap { $0.totals.bad > 0 ? $0 : nil }
    if let other = unlisted.max(by: { ($0.value, $1.key) < ($1.value, $0.key) }), other.value > listed?.totals.bad ?? 0 {
      return (other.key, other.value, nil)
    }
    return listed.map { ($0.host, $0.totals.bad, $0.totals.urls) }
  }
}

/// The job of a report, and its part of the job.
public struct JobIdentity: Sendable, Equatable {
  public var name: String
  /// The job file's path; nil if the job came from the command line alone.
  public var file: String?
  /// A sentence on its purpose; empty if there is none.
  public var description: String
  /// The part of the job's entries that the report covers; nil for all.
  public var shard: ReportedShard?
  /// 32 hexadecimal digits that follow from the settings that select the job's entries and judge them; nil if unknown.
  ///
  /// Reports of one job with different digests have different lists or different rules.
  public var digest: String?

  public init(name: String, file: String?, description: String = "", shard: ReportedShard? = nil, digest: String? = nil) {
    (self.name, self.file, self.description, self.shard, self.digest) = (name, file, description, shard, digest)
  }

  /// The name and the shard, for people: `homepage, shard 2 of 5`.
  public var title: String { shard.map { "\(name), \($0.phrase)" } ?? name }
}

/// One of the parts of a job's entries that separate runs handle.
public struct ReportedShard: Sendable, Hashable {
  /// From 1.
  public var index: Int
  public var count: Int
  /// The key that divides entries: `url` or `host`.
  public var rule: String

  /// The entries of all shards as the run read them; nil if it didn't read all of them, or if that is unknown.
  public var list: ReportedList?

  public init(index: Int, count: Int, by rule: String, list: ReportedList? = nil) {
    (self.index, self.count, self.rule, self.list) = (index, count, rule, list)
  }

  /// `shard 2 of 5`.
  public var phrase: String { "shard \(grouped(UInt64(clamping: index))) of \(grouped(UInt64(clamping: count)))" }
}

/// Shards with equal values have read the same lists.
public struct ReportedList: Sendable, Hashable {
  /// How many entries all shards have together, including invalid and filtered ones.
  public var entries: UInt64
  /// A number that follows from them and doesn't depend on their order.
  public var fingerprint: UInt64

  public init(entries: UInt64, fingerprint: UInt64) { (self.entries, self.fingerprint) = (entries, fingerprint) }
}
