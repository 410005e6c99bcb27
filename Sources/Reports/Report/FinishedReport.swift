public import ImagePrimitives

/// Everything that a report tells of a run, as one value.
public struct FinishedReport: Sendable {
  /// The version of prewarm that ran.
  public var version: String
  /// The job that ran.
  public var job: JobIdentity
  /// When it began, by the calendar; nil where that is not known, as of rows alone.
  public var startedAt: Timestamp?
  /// How the run ended as a whole, the cache and the blacklist among it.
  public var end: RunEnd
  /// What `fail-on` says of it.
  public var verdict: RunVerdict
  /// The rules it was judged by.
  public var failOn: FailOn
  /// How many entries ended in which outcome.
  public var totals: Totals
  /// Bytes, requests and times.
  public var traffic: Traffic
  /// Fetched and good entries by format, most first.
  public var formats: [FormatCount]
  /// What came of each manifest, in their order.
  public var manifests: [ManifestSummary]
  /// The 1,000 hosts with most entries, descending, then by name.
  public var hosts: [HostSummary]
  /// How many hosts are not listed; beyond 65,536 hosts each entry of a further one counts as a host.
  public var hostsOmitted: UInt64
  /// Failed and blacklisted entries by kind and status, the largest group first.
  public var failureGroups: [FailureGroup]
  /// The first 1,000 failed and blacklisted entries.
  public var failures: [FailureRecord]
  /// How many failed and blacklisted entries count in the verdict, and why others do not.
  public var standings = FailureStandings()
  /// What repeats the request of an entry, by variant; empty where that is not known.
  public var requests: [ReportedRequest] = []
  /// How the run went over its time; nil where that was not noted.
  public var timeline: Timeline?
  /// URLs with the same bytes; nil where bodies were not compared.
  public var duplicates: Duplicates?
  /// Images that stand for many URLs of a host, the one with most URLs first.
  public var placeholders: [Placeholder] = []
  /// Small pictures of images that came, for the HTML report; the JSON report has none.
  public var thumbnails: [Thumbnail] = []
  /// Sentences on the run, and on entries gathered by sentence.
  public var warnings: [String]

  /// The status that the job ends with: a signal's, else 1 where it could not finish, else the verdict's.
  public var exitStatus: ExitStatus {
    switch end.interruption {
    case .interrupt: .interrupted
    case .terminate: .terminated
    case nil: end.breakage == nil ? verdict.exitStatus : .couldNotFinish
    }
  }

  /// How many failed and blacklisted entries are not listed.
  public var failuresOmitted: UInt64 { totals.bad - UInt64(failures.count) }

  /// Entries brought to an end a second; 0 where the run took no time.
  public var urlsPerSecond: Double { perSecond(totals.urls - totals.cancelled) }

  /// Received bytes a second; 0 where the run took no time.
  public var bytesPerSecond: Double { perSecond(traffic.receivedBytes) }

  func perSecond(_ amount: UInt64) -> Double {
    let seconds = end.duration.inSeconds
    return seconds > 0 ? Double(amount) / seconds : 0
  }
}

extension FinishedReport {
  /// A report that tells nothing but how the run ended and its totals so far, to be filled in.
  package init(version: String, job: JobIdentity, startedAt: Timestamp?, end: RunEnd, totals: Totals) {
    self.init(
      version: version,
      job: job,
      startedAt: startedAt,
      end: end,
      verdict: RunVerdict(reasons: []),
      failOn: FailOn(),
      totals: totals,
      traffic: Traffic(),
      formats: [],
      manifests: [],
      hosts: [],
      hostsOmitted: 0,
      failureGroups: [],
      failures: [],
      warnings: []
    )
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
  /// How many failures may heal by themselves.
  public var transientFailures: UInt64 = 0
  /// How long transfers took, waiting between attempts not counted.
  public var latency = LatencyHistogram()

  /// Counts of nothing.
  public init() {}
}

/// A format and how many images had it.
public struct FormatCount: Sendable, Equatable {
  /// The format that the bytes have.
  public var format: ImageFormat
  /// How many images had it.
  public var count: UInt64

  /// A format and a count.
  public init(format: ImageFormat, count: UInt64) {
    self.format = format
    self.count = count
  }

  /// The order of reports: most first.
  package func isBefore(_ other: FormatCount) -> Bool {
    (other.count, format.rawValue) < (count, other.format.rawValue)
  }
}

/// What came of one manifest.
public struct ManifestSummary: Sendable, Equatable {
  /// The path as the job names it.
  public var path: String
  /// The absolute path of the file in which its entries stand, the job file for those that stand there; nil where they stand in none.
  public var file: String?
  /// How its entries ended.
  public var totals = Totals()

  /// A manifest without entries so far.
  public init(path: String, file: String? = nil) {
    self.path = path
    self.file = file
  }
}

/// What came of one host.
public struct HostSummary: Sendable, Equatable {
  /// Host and port, where it is not the scheme's own.
  public var host: String
  /// How its entries ended.
  public var totals: Totals
  /// Bytes of bodies received.
  public var receivedBytes: UInt64
  /// How long its transfers took.
  public var latency: LatencyHistogram
  /// What caches on the way had, by edge where the job names edges; empty where they were not asked.
  public var remoteCaches: [RemoteCacheCount] = []

  /// A host of which nothing is known but its name.
  public init(host: String) {
    self.host = host
    totals = Totals()
    receivedBytes = 0
    latency = LatencyHistogram()
  }
}
