public import ImagePrimitives

/// All of a run's report, as one value.
public struct FinishedReport: Sendable {
  /// prewarm's own.
  public var version: String
  public var job: JobIdentity
  /// What sentences call rules and remedies.
  public var words = ReportWords.plain
  /// When it began, by the calendar; nil if that is unknown, as of rows alone.
  public var startedAt: Timestamp?
  /// How the run ended as a whole, the cache and the blacklist among it.
  public var end: RunEnd
  public var verdict = RunVerdict()
  /// The rules it was judged by.
  public var failOn = FailOn()
  public var totals: Totals
  public var traffic = Traffic()
  /// Fetched and good entries by format, most first.
  public var formats: [FormatCount] = []
  public var manifests: [ManifestSummary] = []
  /// The 1,000 hosts with most entries, descending, then by name.
  public var hosts: [HostSummary] = []
  /// How many hosts are not listed; beyond 65,536 hosts each entry of a further one counts as a host.
  public var hostsOmitted: UInt64 = 0
  /// Failed and blacklisted entries by kind and status, the largest group first.
  public var failureGroups: [FailureGroup] = []
  /// The first failed and blacklisted entries, of which a JSON report has 1,000.
  public var failures: [FailureRecord] = []
  public var standings = FailureStandings()
  /// What repeats the request of an entry, by variant; empty if that is unknown.
  public var requests: [ReportedRequest] = []
  /// How the run went over its time; nil if that was not noted.
  public var timeline: Timeline?
  /// URLs with the same bytes; nil if bodies were not compared.
  public var duplicates: Duplicates?
  /// Images that stand for many URLs of a host, the one with most URLs first.
  public var placeholders: [Placeholder] = []
  /// Small pictures of images that came, for the HTML report; the JSON report has none.
  public var thumbnails: [Thumbnail] = []
  /// Sentences on the run, and on entries gathered by sentence.
  public var warnings: [String] = []

  /// The status that the job ends with: a signal's, else 1 where it could not finish, else the verdict's.
  public var exitStatus: ExitStatus {
    switch end.interruption {
    case .interrupt: .interrupted
    case .terminate: .terminated
    case nil: end.breakage == nil ? verdict.exitStatus : .couldNotFinish
    }
  }

  /// The verdict on the lists alone, by the report of a run that fetched no image: on lines that aren't URLs, and on entries that are missing.
  ///
  /// - Parameter misses: how many of the skipped entries would have been fetched.
  public func verdictOnLists(fetching misses: UInt64) -> RunVerdict {
    var lists = self
    lists.totals.skipped -= misses
    lists.totals.checked += misses + totals.blacklisted
    lists.totals.blacklisted = 0
    lists.standings.countingByKind = standings.countingByKind.filter { $0.key == .invalidURL }
    lists.standings.counting = lists.standings.countingByKind[.invalidURL] ?? 0
    return failOn.verdict(of: lists)
  }

  /// How many failed and blacklisted entries are not listed.
  public var failuresOmitted: UInt64 { totals.bad - min(totals.bad, UInt64(failures.count)) }

  /// Entries brought to an end a second; 0 if the run took no time.
  public var urlsPerSecond: Double { perSecond(totals.done) }

  /// Received bytes a second; 0 if the run took no time.
  public var bytesPerSecond: Double { perSecond(traffic.receivedBytes) }

  func perSecond(_ amount: UInt64) -> Double {
    let seconds = end.duration.inSeconds
    return seconds > 0 ? Double(amount) / seconds : 0
  }
}

/// Bytes, requests and times of a run; a shared entry counts in none of them.
public struct Traffic: Sendable, Equatable {
  /// Bytes of bodies received from the network, failed attempts included.
  public var receivedBytes: UInt64 = 0
  /// Bytes of bodies that were hits.
  public var cachedBytes: UInt64 = 0
  /// Bytes of the images that something new was stored of, as they came.
  public var originalBytes: UInt64 = 0
  /// Bytes of what was stored of them; an original that is kept beside what was made of it is not counted.
  public var storedBytes: UInt64 = 0
  /// Requests, retries included, redirects not.
  public var attempts: UInt64 = 0
  /// Requests that were retries.
  public var retries: UInt64 = 0
  /// Time that entries waited between attempts, added up.
  public var waitedNanoseconds: UInt64 = 0
  /// Failures that may be temporary.
  public var transientFailures: UInt64 = 0
  /// How long transfers took, waiting between attempts not counted.
  public var latency = LatencyHistogram()
  /// What of ``receivedBytes`` and ``latency`` is of entries that ended so; empty if that is unknown.
  public var outcomes = TrafficByOutcome()
}

/// What the entries of each outcome cost; nil for outcomes of which nothing is known.
public struct TrafficByOutcome: Sendable, Equatable {
  // Indexed by outcome: each transferred entry is looked up here.
  private var values = [OutcomeTraffic?](repeating: nil, count: Outcome.allCases.count)

  /// Nothing known.
  public init() {}

  public subscript(outcome: Outcome) -> OutcomeTraffic? {
    get { values[Int(outcome.rawValue)] }
    set { values[Int(outcome.rawValue)] = newValue }
  }

  /// The outcomes of which something is known, in the order of their cases.
  public var known: [(outcome: Outcome, traffic: OutcomeTraffic)] {
    Outcome.allCases.compactMap { outcome in self[outcome].map { (outcome, $0) } }
  }

  /// Calls `body` with the traffic of an outcome, which is known from then on.
  mutating func update(_ outcome: Outcome, _ body: (inout OutcomeTraffic) -> Void) {
    let index = Int(outcome.rawValue)
    if values[index] == nil { values[index] = OutcomeTraffic() }
    body(&values[index]!)
  }
}

/// What the entries of one outcome cost.
public struct OutcomeTraffic: Sendable, Equatable {
  /// Bytes of bodies received, failed attempts included.
  public var receivedBytes: UInt64 = 0
  /// How long their transfers took; none is there of cancelled ones.
  public var latency = LatencyHistogram()
  /// How many of the entries shared the request of another one, which alone counts in the figures above.
  public var shared: UInt64 = 0
}

/// How many images had a format.
public struct FormatCount: Sendable, Equatable {
  public var format: ImageFormat
  public var count: UInt64

  /// The order of reports: most first.
  func isBefore(_ other: FormatCount) -> Bool {
    (other.count, format.rawValue) < (count, other.format.rawValue)
  }
}

/// What came of one manifest.
public struct ManifestSummary: Sendable, Equatable {
  /// The path as the job names it.
  public var path = ""
  /// The absolute path of the file that has its entries, the job file for those that are written there; nil if no file has them.
  public var file: String?
  public var totals = Totals()
}

/// What came of one host.
public struct HostSummary: Sendable, Equatable {
  /// Host and port, if it isn't the scheme's own.
  public var host = ""
  public var totals = Totals()
  /// Bytes of bodies received.
  public var receivedBytes: UInt64 = 0
  public var latency = LatencyHistogram()
  /// What caches on the way had, by edge if the job names edges; empty if they weren't asked.
  public var remoteCaches: [RemoteCacheCount] = []

  /// The order of reports: most entries first, then by name.
  func isBefore(_ other: HostSummary) -> Bool { (other.totals.urls, host) < (totals.urls, other.host) }
}

extension FinishedReport {
  /// The listed hosts, those with most failures first, then those with most entries.
  var hostsByFailures: [HostSummary] {
    hosts.sorted { ($1.totals.bad, $1.totals.urls, $0.host) < ($0.totals.bad, $0.totals.urls, $1.host) }
  }

  /// The host with most failed and blacklisted entries, and how many entries it has, where that is known.
  ///
  /// A host that is not among those with most entries may still be the worst: then the groups that name it tell its failures.
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
