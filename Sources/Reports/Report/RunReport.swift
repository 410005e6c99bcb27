public import Base

/// The counters of a run in progress: each entry counts once, in bounded memory.
///
/// It keeps counters, a histogram, a bounded table of hosts and the first failures; the row of each entry goes to the journals at once.
/// The driver thread owns it. A hit costs no allocation.
public final class RunReport {
  static let reportedHostLimit = 1000

  /// What is known of the report before its entries.
  private let start: FinishedReport
  private let journals: [any ReportJournal]
  private let countsImagesOnce: Bool
  private var tally = Tally()
  private var timeline = TimelineRecorder()

  /// Creates a report without entries.
  ///
  /// - Parameters:
  ///   - manifests: paths as the job names them, in the order of ``ReportedEntry/manifest``.
  ///   - variants: without the plain one; ``ReportedEntry/variant`` numbers them from 1.
  ///   - startedAt: nil if that is unknown.
  ///   - judge: decides which failures count; nil: all count.
  ///   - memory: what is known of earlier runs; nil if there are none, as for rows.
  ///   - listsPlaceholders: whether to list images that at least ten URLs of a host share.
  ///   - countsImagesOnce: whether an image that several manifests name counts once.
  package init(
    version: String,
    job: JobIdentity,
    words: ReportWords,
    manifests: [String] = [],
    variants: [RequestVariant] = [],
    startedAt: Timestamp?,
    journals: [any ReportJournal] = [],
    judge: FailureBaseline? = nil,
    memory: RunMemory? = nil,
    listedFailures: Int = FailureRecord.listedLimit,
    listsPlaceholders: Bool = true,
    lint: Lint = Lint(),
    countsImagesOnce: Bool = false
  ) {
    var start = FinishedReport()
    (start.version, start.job, start.words, start.startedAt) = (version, job, words, startedAt)
    (self.start, self.journals, self.countsImagesOnce) = (start, journals, countsImagesOnce)
    for journal in journals { journal.begin() }
    setShard(job.shard?.label)
    for manifest in manifests { addManifest(manifest) }
    (tally.judge, tally.memory) = (judge, memory)
    tally.failures.listedLimit = max(listedFailures, FailureRecord.listedLimit)
    if !listsPlaceholders { tally.sameImages = SameImagesLog(listsPlaceholders: false) }
    if !lint.isOff { tally.lint = LintLog(lint, now: startedAt ?? TimeSource.system.wall()) }
    for variant in variants { addVariant(variant) }
  }

  /// Adds a manifest, such as a file that matches a glob, and returns its index; see ``ManifestSummary/file``.
  @discardableResult
  public func addManifest(_ path: String, file: String? = nil) -> Int {
    tally.manifests.append(ManifestSummary(path: path, file: file))
    if countsImagesOnce, tally.manifests.count > 1, tally.seen == nil { tally.seen = SeenImages() }
    for journal in journals { journal.addManifest(path, file: file) }
    return tally.manifests.count - 1
  }

  @discardableResult
  package func addVariant(_ variant: RequestVariant) -> Int {
    tally.variants.append(variant)
    for journal in journals { journal.addVariant(variant) }
    return tally.variants.count - 1
  }

  /// Names the shard of the next rows; nil if they are of a whole job.
  func setShard(_ label: String?) {
    for journal in journals { journal.setShard(label) }
  }

  /// Writes the end of a shard's rows, read from another report.
  func append(_ end: RowsEnd) {
    for journal in journals { journal.append(end) }
  }

  /// Counts the result of an entry and writes its row; must be called once for each entry, after its commit.
  ///
  /// An entry that failed by a fault of this machine counts as cancelled, since nothing is known about its URL; then the run couldn't
  /// finish.
  ///
  /// - Parameter standing: why a failed or blacklisted entry doesn't count, whatever the judge says.
  public func record(_ result: EntryResult, of entry: ReportedEntry, standing: FailureStanding = .counts) {
    if result.outcome == .failed, result.failure?.kind.isFaultOfMachine == true {
      var unfinished = result
      unfinished.outcome = .cancelled
      return record(unfinished, of: entry)
    }
    let standing = tally.record(result, of: entry, standing: standing)
    guard tally.lint != nil || tally.isRepeat else {
      for journal in journals { journal.append(result, of: entry, standing: standing) }
      return
    }
    var entry = entry
    (entry.broken, entry.isRepeated) = (tally.broken, tally.isRepeat)
    for journal in journals { journal.append(result, of: entry, standing: standing) }
  }

  /// Records the progress of the run for its timeline; the more calls, the finer.
  public func sample(elapsed: Duration) {
    timeline.sample(tally.totals, receivedBytes: tally.traffic.receivedBytes, elapsed: elapsed)
  }

  /// All entries so far, repeated ones included.
  public var totals: OutcomeTotals {
    var totals = tally.totals
    totals.add(tally.repeats)
    return totals
  }

  /// Whether images are identified for each entry, which then needs ``ReportedEntry/imageHash``.
  package var identifiesImages: Bool { tally.seen != nil }
  public var transientFailures: UInt64 { tally.traffic.transientFailures }

  /// Bytes of bodies received from the network so far.
  public var receivedBytes: UInt64 { tally.traffic.receivedBytes }

  /// The last failure so far, such as `http-status 404 https://img.example.com/old.jpg`; nil if there is none.
  package var lastFailure: String? { tally.failures.lastFailure }

  /// The most frequent reason so far why a host can't be reached; nil if all hosts can be.
  package var unreachable: FailureReason? { tally.failures.unreachable }

  /// When the first of the good entries so far expires; nil if none of them expires, or there are none.
  public var freshUntil: Timestamp? { tally.freshUntil }

  /// Flushes the journals; throws their first error since the start of the run.
  public func flushJournals() throws(ReportError) {
    var firstError: ReportError?
    for journal in journals {
      do { try journal.flush() } catch { firstError = firstError ?? error }
    }
    if let firstError { throw firstError }
  }

  /// Returns the report on the entries so far, judged by `failOn`.
  public func finish(_ end: RunEnd, failOn: FailOn = FailOn()) -> FinishedReport {
    var end = end
    end.breakage = end.breakage ?? tally.fault
    let hosts = tally.hosts.hosts.indices.map { index in
      let host = tally.hosts.hosts[index]
      return HostSummary(
        host: tally.hosts.name(index),
        totals: host.totals,
        receivedBytes: host.receivedBytes,
        latency: host.latency,
        remoteCaches: tally.remoteCaches.summary(ofHost: index)
      )
    }.sorted { $0.isBefore($1) }
    var report = start
    (report.end, report.failOn) = (end, failOn)
    (report.totals, report.repeats, report.traffic) = (tally.totals, tally.repeats, tally.traffic)
    report.formats = tally.formatCounts
    report.manifests = tally.manifests
    report.hosts = Array(hosts.prefix(Self.reportedHostLimit))
    report.hostsOmitted = UInt64(max(0, hosts.count - Self.reportedHostLimit)) + tally.hosts.entriesBeyondLimit
    report.failureGroups = tally.failures.summaries(hosts: tally.hosts)
    (report.failures, report.standings) = (tally.failures.listed, tally.failures.standings)
    report.baseline = tally.difference
    report.images.duplicates = tally.sameImages.duplicates
    report.images.placeholders = tally.sameImages.placeholders
    report.lint = tally.lint?.all(tally.hosts) ?? []
    report.warnings = end.warnings.map(groupingDigits) + tally.warnings.lines
    if timeline.timeline != nil {
      var timeline = timeline
      timeline.sample(tally.totals, receivedBytes: tally.traffic.receivedBytes, elapsed: end.duration)
      report.timeline = timeline.timeline
    }
    report.verdict = failOn.verdict(of: report)
    if let memory = tally.memory {
      let isWhole = end.areManifestsRead && end.breakage == nil && tally.totals.cancelled == 0
      report.lastRuns.hasNews = memory.hasNews
      report.lastRuns.history = memory.histories(isWhole: isWhole, startedAt: report.startedAt)
    }
    let trend = tally.memory?.trend.isEmpty == false ? tally.memory?.trend : tally.judge?.trend
    if let trend, !trend.isEmpty { report.trend = trend.suffix(TrendPoint.limit - 1) + [TrendPoint(report)] }
    return report
  }
}

/// One entry of a manifest, as reports name it; its bytes are valid during a call only.
public struct ReportedEntry {
  /// The URL as written, resolved against the manifest's base, with credentials masked; the text of an invalid line.
  public var url: UnsafeRawBufferPointer
  /// The index that ``RunReport/addManifest(_:)`` gave.
  public var manifest: Int
  /// The line in the manifest, from 1; 0 if it has none.
  public var line: UInt64
  public var priority: LoadPriority
  /// Host and port, if it isn't the scheme's own (`img.example.com:8443`); empty for an invalid line.
  public var host: UnsafeRawBufferPointer
  /// The variant of the request: 0 is the plain one, and n the one at index n - 1 of the variants of ``RunReport``.
  public var variant: Int
  /// Identifies its image, by `DuplicateIndex.hash`; nil: the URL without its fragment does.
  public var imageHash: UInt64?
  /// What its list says besides the URL; nil if that is all.
  package var note: EntryNote?
  /// Whether it names an image that an earlier entry has named, with the same result, so that it isn't counted.
  var isRepeated = false
  /// The rules about its delivery that it breaks.
  var broken = LintRuleSet()

  public init(
    url: UnsafeRawBufferPointer,
    manifest: Int,
    line: UInt64,
    priority: LoadPriority,
    host: UnsafeRawBufferPointer,
    variant: Int = 0,
    imageHash: UInt64? = nil
  ) {
    (self.url, self.manifest, self.line, self.priority, self.host) = (url, manifest, line, priority, host)
    (self.variant, self.imageHash) = (variant, imageHash)
  }
}
