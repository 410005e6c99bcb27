import Base
import Glibc
import ImageCaching
import ImageDownloading
import ImageManaging
import Lists
import Reports

/// One execution of a prepared job over a shared manager, as the prefetcher sees it: entries in, results out to the report.
///
/// It stores nothing per entry; the entry comes back with its result.
final class JobExecution: PrefetchDelegate {
  private let prepared: PreparedJob
  private let runner: JobRunner
  private let start: MonotonicInstant
  private let waitsBefore: BottleneckTimes
  /// Decides which URLs are the same image.
  private let context: LoadContext
  private let report: RunReport
  private let sheet: ContactSheet?
  private let meter: ProgressMeter
  private let progress: (any JobProgress)?
  private let isDryRun: Bool
  /// Called with the URL of every entry that a dry run would fetch; nil in other runs, and if nothing would be fetched.
  private let onMiss: ((UnsafeRawBufferPointer) -> Void)?
  private let variants: Int
  private let wayCount: Int
  /// Nil if all hosts have the same.
  private var hosts: HostSettings?
  private let jobFile: String?
  /// The number of lists that the report knows; sitemaps of an index are added as they are named.
  private var knownManifests = 0
  /// Whether any entry passed include and exclude; bad lines count.
  private var hasEntries = false
  private var network = NetworkFault()
  private var isEndingEarly = false
  /// Nil if entries have one look only.
  private var secondLook: SecondLook?
  private var blacklistAdded: UInt64 = 0
  private var blacklistRemoved: UInt64 = 0
  private var memory = MemoryUse()

  private var job: Job { prepared.job }
  private var manager: ImageManager { runner.manager }
  private var reader: any EntrySource { prepared.lists.source }
  private var elapsed: Duration { runner.time.monotonic().since(start) }

  /// Starts an execution: from now on the manager's downloader uses the limits of the job.
  ///
  /// - Parameter onMiss: receives what a dry run would fetch; nil if it isn't one.
  init(_ prepared: PreparedJob, by runner: JobRunner, progress: (any JobProgress)?, onMiss: ((UnsafeRawBufferPointer) -> Void)?) {
    (self.prepared, self.runner, self.progress) = (prepared, runner, progress)
    let (job, manager) = (prepared.job, runner.manager)
    isDryRun = onMiss != nil
    // In mode `only`, nothing would be fetched.
    self.onMiss = job.cache.mode == .only ? nil : onMiss
    jobFile = job.absoluteFile
    var files = OpenFileBudget()
    sheet = onMiss == nil ? job.makeContactSheet(manager.configuration, openFiles: files.limit) : nil
    files.reserved = (sheet?.openFiles ?? 0) + (job.decodesImages ? OpenFileBudget.decoders : 0)
    let startedAt = runner.time.wall()
    start = runner.time.monotonic()
    meter = ProgressMeter(jobName: job.identity.title, start: start)
    var options = job.loadOptions(isDryRun: isDryRun)
    (options.readOnly, options.memory) = (prepared.readOnlyCaches, job.cache.memory.map(runner.memoryLayer))
    (options.coders, options.observer) = (manager.configuration.coders, sheet)
    context = LoadContext(cache: prepared.cache, download: job.downloadOptions, options: options, startedAt: startedAt)
    if let warning = files.warning(concurrency: job.prefetch.limits.concurrency) { context.recordWarning(warning) }
    let requestVariants = job.requestVariants
    (variants, wayCount, hosts) = (requestVariants.count, job.wayCount, HostSettings(job))
    report = RunReport(
      version: runner.version,
      job: job.identity,
      words: .job(file: job.file),
      variants: requestVariants,
      startedAt: startedAt,
      journals: prepared.reports.journals,
      judge: prepared.reports.baseline,
      memory: isDryRun ? nil : prepared.reports.memory,
      listedFailures: prepared.reports.listedFailures,
      listsPlaceholders: job.verify.placeholders != .ignore,
      lint: isDryRun ? Lint() : job.appliedLint,
      countsImagesOnce: true
    )
    waitsBefore = manager.downloader.pipeline.times
    if !isDryRun, job.cache.mode != .only, job.request.recheck != nil { secondLook = SecondLook(of: self) }
    begin(limitedTo: files.transfers)
  }

  private func begin(limitedTo transfers: Int) {
    var limits = job.downloadLimits
    limits.concurrency = min(limits.concurrency, transfers)
    manager.downloader.setJobLimits(limits)
    // Cookies are kept for one job.
    manager.downloader.clearCookies()
    // Another job may reach hosts that were down in another way.
    manager.downloader.forgetFailures()
    addManifests()
  }

  /// Loads all entries until the control stops it, and returns the report.
  func run() -> FinishedReport {
    var again: PrefetchRun.Summary?
    let summary = prepared.lists.fetching(with: manager.downloader) {
      let prefetch = PrefetchRun(manager: manager, context: context, deadline: job.prefetch.deadline, time: runner.time)
      let summary = runner.control.running(prefetch) { prefetch.run(self) }
      again = lookAgain(mayRequest: summary.cacheError == nil && !summary.deadlinePassed)
      context.endLookUps()
      memory.sample()
      return summary
    }
    progress?.end()
    var end = RunEnd(finishedAt: context.startedAt, duration: .zero)
    end.interruption = runner.control.interruption
    end.isPastDeadline = summary.deadlinePassed
    end.areManifestsRead = summary.sourceEnded
    end.isEmpty = summary.sourceEnded && !hasEntries && !reader.othersHaveEntries
    end.breakage =
      (summary.cacheError ?? again?.cacheError).map(\.jobSentence) ?? network.sentence ?? summary.sourceError.map(sentence)
    let isWhole = end.areManifestsRead && end.breakage == nil && report.totals.cancelled + report.transientFailures == 0
    if !isDryRun { trim(isWhole: isWhole) }
    let bottleneck = RunBottleneck(
      manager.downloader.pipeline.times.since(waitsBefore),
      peakRunning: manager.downloader.statistics.peakRunning,
      unreachable: report.unreachable,
      job: job,
      duration: elapsed
    )
    (end.bottleneck, end.bottlenecks) = (bottleneck.sentence, bottleneck.shares)
    (end.peakMemoryBytes, end.mappedMemoryBytes) = (memory.own, memory.mapped)
    do throws(CacheError) {
      try describeCache(&end)
    } catch {
      end.breakage = end.breakage ?? error.jobSentence
    }
    end.warnings = prepared.reports.warnings + prepared.lists.warnings + context.warnings
    prepared.reports.flushJournals(of: report, &end)
    end.finishedAt = runner.time.wall()
    end.duration = elapsed
    var finished = report.finish(end, failOn: job.appliedLimits)
    if let sheet {
      let isInterrupted = end.interruption != nil
      finished.thumbnails = sheet.finish(finished.placeholders, isInterrupted: isInterrupted, clock: runner.pictureClock)
    }
    finished.requests = job.reportedRequests
    finished.job.shard?.list = reader.listFingerprint.map { ReportedList(entries: $0.entries, fingerprint: $0.sum) }
    return finished
  }

  /// Requests once more what may have failed temporarily, unless the run ends early.
  private func lookAgain(mayRequest: Bool) -> PrefetchRun.Summary? {
    guard let secondLook, secondLook.count > 0, let pause = job.request.recheck else { return nil }
    defer { secondLook.end() }
    let left = job.prefetch.deadline.map { $0 - elapsed }
    // Without any response there is no network, or no name server.
    guard mayRequest, !isEndingEarly, network.sentence == nil, runner.control.signal == nil, pause < left ?? .unlimited else {
      return nil
    }
    let urls = counted(secondLook.count, "URL")
    progress?.note("\(job.identity.title): \(urls) may have failed temporarily; requested again in \(pause.text)")
    // By new connections, and also from hosts that were given up.
    manager.downloader.forgetFailures()
    let prefetch = PrefetchRun(manager: manager, context: context, delay: pause, deadline: left, time: runner.time)
    return runner.control.running(prefetch) { prefetch.run(secondLook) }
  }

  private func sentence(of error: any Error) -> String {
    (error as? ListError).map { "\(job.namingOptions(in: $0))" } ?? jobSentence(of: error)
  }
}

// MARK: The prefetcher's delegate
extension JobExecution {
  var sourceDescriptor: Int32? { reader.waitDescriptor }

  func read(_ batch: inout EntryBatch, maximum: Int) throws -> PrefetchSourceState {
    // Entries before an error are returned first, and the error by the next call.
    let state = try reader.nextAvailable(&batch, maximum: max(1, maximum / max(1, variants)))
    addManifests()
    if variants > 0 || hosts != nil || batch.entries.contains(where: { $0.state != .good }) { batch = requested(batch) }
    hasEntries = hasEntries || !batch.entries.isEmpty
    switch state {
    case .more: return .open
    case .waiting: return .blocked
    case .end: return .ended
    }
  }

  private func addManifests() {
    while knownManifests < reader.listNames.count {
      let file = reader.file(ofManifest: knownManifests, jobFile: jobFile)
      report.addManifest(reader.listNames[knownManifests], file: file)
      knownManifests += 1
    }
  }

  /// The valid entries of a batch, each in all of its variants; the others end here.
  private func requested(_ batch: EntryBatch) -> EntryBatch {
    var good = EntryBatch()
    good.bytes = batch.bytes
    good.entries.reserveCapacity(batch.entries.count * max(1, variants))
    for (index, var entry) in batch.entries.enumerated() {
      switch entry.state {
      case .good where variants == 0:
        entry.variant = hosts?(batch.bytes[entry.hostRange], isSecure: entry.parts.isSecure).firstWay ?? 0
        good.append(entry, owner: batch.owner(index))
      case .good:
        let first = hosts?(batch.bytes[entry.hostRange], isSecure: entry.parts.isSecure).firstWay ?? 0
        for variant in 1...UInt16(variants) {
          entry.variant = first + variant
          good.append(entry, owner: batch.owner(index))
        }
      case .filtered: record(EntryResult(.skipped), of: batch.entry(index))
      case .invalid(let message):
        hasEntries = true
        let sentence = batch.messages[Int(message)]
        let failure = ImageFailure(.invalidURL, message: jobFile == nil ? Job.namingOptions(sentence) : sentence)
        record(EntryResult(.failed, failure: failure), of: batch.entry(index))
      }
    }
    return good
  }

  func finished(_ entry: Entry, _ completion: LoadCompletion) {
    network.note(completion.result)
    // This machine can't store images or reach hosts, so going on is pointless.
    if completion.result.failure?.kind == .cacheWrite || network.isCertain {
      isEndingEarly = true
      runner.control.endRun()
    }
    if let secondLook, secondLook.takes(entry, completion.result) { return }
    conclude(entry, completion)
  }

  /// Records what counts.
  func conclude(_ entry: Entry, _ completion: LoadCompletion) {
    if completion.joinedBlacklist { blacklistAdded += 1 }
    if completion.leftBlacklist { blacklistRemoved += 1 }
    if let onMiss, completion.result.outcome == .skipped { entry.withShownURL(onMiss) }
    record(expected(blamed(completion.result), of: entry), of: entry)
  }

  /// The result, with the blame on this machine if it has no network.
  private func blamed(_ result: EntryResult) -> EntryResult {
    guard network.isCertain, let sentence = network.sentence, result.failure?.unreachableReason != nil else { return result }
    var result = result
    result.details = EntryResult(.failed, failure: ImageFailure(.internal, message: sentence)).details
    return result
  }

  /// The result, as failed if its list expects another image.
  private func expected(_ result: EntryResult, of entry: Entry) -> EntryResult {
    // A dry run fetches nothing.
    guard onMiss == nil, result.outcome.isGood, let expectation = entry.note?.expectation else { return result }
    guard let failure = expectation.failure(of: result) else { return result }
    var result = result
    result.outcome = .failed
    (result.details.failure, result.details.isBlacklisted) = (failure, false)
    return result
  }

  func progressed() {
    report.sample(elapsed: elapsed)
    let now = runner.time.monotonic()
    guard meter.isDue(now: now) else { return }
    if memory.sample() { prepared.cache?.releasePages() }
    progress?.show(
      meter.snapshot(
        totals: report.totals,
        receivedBytes: report.receivedBytes,
        expected: reader.expectedEntries.map { $0 * max(1, variants) },
        note: manager.downloader.statistics.pauseNote,
        lastFailure: report.lastFailure,
        now: now
      )
    )
  }

  /// Whether a failure of the entry counts.
  private func standing(_ result: EntryResult, of entry: Entry) -> FailureStanding {
    guard result.outcome == .failed || result.outcome == .blacklisted, entry.parts != .empty else { return .counts }
    return hosts?(entry.text[entry.hostRange], isSecure: entry.parts.isSecure).isWarning == true ? .warned : .counts
  }

  private func record(_ result: EntryResult, of entry: Entry) {
    var imageHash: UInt64?
    let isIdentified = result.bodyIdentity != nil || report.identifiesImages
    if isIdentified, entry.parts != .empty { imageHash = entry.withRequestURL { context.imageHash(of: $0, parts: entry.parts) } }
    entry.withShownURL { url in
      entry.text.withUnsafeBytes { text in
        var reported = ReportedEntry(
          url: url,
          manifest: Int(entry.source),
          line: entry.line,
          priority: entry.priority,
          host: UnsafeRawBufferPointer(rebasing: text[entry.hostRange]),
          variant: Int(entry.variant) % wayCount,
          imageHash: imageHash
        )
        reported.note = entry.note
        report.record(result, of: reported, standing: standing(result, of: entry))
      }
    }
  }
}

// MARK: The cache after the run
extension JobExecution {
  /// Brings the cache within its limits; expired images are evicted first. Unless each image was requested successfully or is
  /// permanently bad, they are kept as long as there is room, since an outage must not empty the cache.
  private func trim(isWhole: Bool) {
    guard let cache = prepared.writableCache else { return }
    manager.finishTrimming()
    do throws(CacheError) {
      let result = try cache.trim(
        protecting: context.startedAt,
        used: context.used,
        keepsExpired: !isWhole,
        ageEnd: context.runStart
      )
      context.recordTrim(result)
      let evicted = context.trimmed
      let needed = try evicted.evictedProtected > 0 ? cache.totals().bodyBytes + evicted.evictedProtectedBytes : nil
      try cache.keep(sufficientSize: needed)
    } catch {
      context.recordWarning("cannot trim the cache: \(error.jobSentence)")
    }
  }

  /// Adds the cache and its blacklist as they are now, if there is one.
  private func describeCache(_ end: inout RunEnd) throws(CacheError) {
    guard let cache = prepared.cache else { return }
    let totals = try cache.totals()
    var summary = CacheSummary(
      directory: job.cache.disk.directory,
      namespace: job.cache.disk.namespace,
      entries: UInt64(clamping: totals.entries),
      bodyBytes: UInt64(clamping: totals.bodyBytes),
      diskBytes: UInt64(clamping: try cache.diskBytes())
    )
    summary.maximumBytes = job.cache.disk.maxBodyBytes.map { UInt64(clamping: $0) }
    let trimmed = context.trimmed
    summary.trimmedEntries = UInt64(clamping: trimmed.trimmed)
    summary.expiredEntries = UInt64(clamping: trimmed.expired)
    summary.evictedFromThisRun = UInt64(clamping: trimmed.evictedProtected)
    // All others went first, so the rest are images of this run.
    if trimmed.evictedProtected > 0 {
      summary.sufficientBytes = summary.bodyBytes + UInt64(clamping: trimmed.evictedProtectedBytes)
    }
    summary.freshUntil = report.freshUntil
    end.cache = summary
    let blacklisted = UInt64(clamping: totals.blacklistEntries)
    end.blacklist = BlacklistSummary(entries: blacklisted, added: blacklistAdded, removed: blacklistRemoved)
  }
}

/// The most memory that this process has had, by `/proc/self/status`, in bytes; 0 if the system doesn't report it.
struct MemoryUse {
  /// Anonymous and shared pages (`RssAnon` and `RssShmem`).
  private(set) var own: UInt64 = 0
  /// Pages of files (`RssFile`), above all of the index, which LMDB maps.
  private(set) var mapped: UInt64 = 0
  /// Mapped bytes beyond which the cache's pages are released; the program's own take some 20 MB.
  private static let mappedLimit: UInt64 = 64 << 20
  /// Limits what releases cost to about 2 % of the time: mapping released pages again takes 70 µs per MB.
  private static let releasedBytesPerSample: UInt64 = 32 << 20
  /// Samples until the next release.
  private var pause: UInt64 = 0

  /// Taken every 100 ms. Returns whether to release the cache's mapped pages.
  @discardableResult
  mutating func sample() -> Bool {
    let lines = readText("/proc/self/status")?.split(separator: "\n") ?? []
    func bytes(_ key: String) -> UInt64 {
      let fields = lines.first { $0.hasPrefix(key) }?.split(whereSeparator: \.isWhitespace)
      return fields.flatMap { UInt64($0[1]) }.map { $0 * 1024 } ?? 0
    }
    own = max(own, bytes("RssAnon:") + bytes("RssShmem:"))
    let mappedNow = bytes("RssFile:")
    mapped = max(mapped, mappedNow)
    if pause > 0 { pause -= 1 }
    guard pause == 0, mappedNow > Self.mappedLimit else { return false }
    pause = mappedNow / Self.releasedBytesPerSample
    return true
  }
}

/// The number of simultaneous transfers that the limit of open files allows (getrlimit(2), RLIMIT_NOFILE).
///
/// A job with a higher concurrency runs with fewer transfers and a warning: failures for lack of a descriptor would say
/// nothing about the images.
struct OpenFileBudget {
  /// Reports, lists, the cache, epoll and other files that are opened once, with some reserve.
  private static let fixed = 40
  /// A socket, a large body being written, and a kept connection or a name being resolved.
  private static let perTransfer = 3
  /// For each thread that decodes in a process apart: its sockets, the image and the pixels.
  static let decoders = 4 * sysconf(Int32(_SC_NPROCESSORS_ONLN))

  let limit: Int
  /// Descriptors that others keep open while the job runs.
  var reserved = 0

  init(limit: Int) { self.limit = limit }

  init() {
    var limit = rlimit()
    let isKnown = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
    self.limit = isKnown ? Int(clamping: limit.rlim_cur) : 1024
  }

  /// The number of transfers that the limit allows. A quarter of the files is reserved for large bodies waiting for their commit.
  var transfers: Int { max(1, (limit - limit / 4 - Self.fixed - reserved) / Self.perTransfer) }

  /// The warning for a job that wants more; nil if the limit suffices.
  func warning(concurrency: Int) -> String? {
    guard concurrency > transfers else { return nil }
    return
      "the limit of \(limit) open files allows only \(transfers) of \(concurrency) simultaneous transfers; raise it (ulimit -n), or lower "
      + "prefetch.concurrency"
  }
}
