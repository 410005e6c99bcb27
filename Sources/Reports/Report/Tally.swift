import Base

/// The counters of a run as one value, so that each entry takes one exclusive access only.
struct Tally {
  /// Each image once; see ``repeats``.
  var totals = OutcomeTotals()
  var repeats = OutcomeTotals()
  /// Nil if each entry counts.
  var seen: SeenImages?
  private(set) var isRepeat = false
  var traffic = Traffic()
  var manifests: [ManifestSummary] = []
  var hosts = HostTally()
  var failures = FailureLog()
  var warnings = WarningLog()
  /// By ``ReportedEntry/variant``.
  var variants = [RequestVariant.plain]
  var remoteCaches = RemoteCacheTable()
  var sameImages = SameImagesLog()
  var lint: LintLog?
  /// The rules that the last entry breaks.
  private(set) var broken = LintRuleSet()
  /// The first fault of this machine, which says why the run couldn't finish; nil if there was none.
  private(set) var fault: String?
  /// Nil: all failures count.
  var judge: FailureBaseline?
  var memory: RunMemory?
  /// When the first of the good entries expires; nil if none of them expires.
  private(set) var freshUntil: Timestamp?
  /// The first entries that failed in the earlier run and are good now, each with its position.
  private var fixed: [EntryKey: (position: UInt64, entry: ListedEntry)] = [:]
  private var formats = [UInt64](repeating: 0, count: ImageFormat.allCases.count)

  /// Downloaded and checked entries by format, the most frequent first.
  var formatCounts: [FormatCount] {
    zip(ImageFormat.allCases, formats).filter { $0.1 > 0 }
      .map { FormatCount(format: $0, count: $1) }
      .sorted { $0.isBefore($1) }
  }

  /// The difference from the earlier run so far; nil if there is none.
  var difference: BaselineDifference? {
    guard var difference = judge?.difference else { return nil }
    difference.fixedEntries = fixed.values.sorted { $0.position < $1.position }.map(\.entry)
    return difference
  }

  /// Counts an entry, and returns whether it counts in the verdict if it failed: as given unless it counts, else as the judge says.
  mutating func record(_ result: EntryResult, of entry: ReportedEntry, standing: FailureStanding) -> FailureStanding {
    let outcome = result.outcome
    isRepeat = entry.isRepeated || seen?.contains(result, ofImage: entry.imageKey) ?? false
    manifests[entry.manifest].totals.add(outcome)
    let host = hosts.index(of: entry.host)
    if isRepeat {
      repeats.add(outcome)
    } else {
      totals.add(outcome)
      if let host { hosts.update(host) { $0.totals.add(outcome) } }
    }
    if let moment = result.freshUntil { freshUntil = min(freshUntil ?? moment, moment) }
    var standing = standing
    var duplicate: SameImagesLog.Repetition?
    if judge != nil || memory.map({ !$0.isEmpty || outcome.isBad }) ?? false {
      let judged = self.standing(of: entry, result, given: standing)
      if standing == .counts { standing = judged }
    }
    switch outcome {
    case .hitMemory, .hitDisk, .revalidated:
      duplicate = sameImages.record(result, of: entry, host: host)
      if !result.isShared { traffic.cachedBytes += result.bytes }
    case .downloaded, .checked:
      duplicate = sameImages.record(result, of: entry, host: host)
      if !isRepeat, let format = result.image.format { formats[Int(format.rawValue)] += 1 }
    case .failed, .blacklisted: recordFailure(result, of: entry, host: host, standing)
    case .cancelled:
      if let failure = result.rare?.details.failure, failure.kind.isFaultOfMachine { fault = fault ?? failure.message }
    case .skipped: break
    }
    if let stored = result.newBytes, !result.isShared {
      traffic.originalBytes += result.bytes
      traffic.storedBytes += stored
    }
    if result.isShared, isRepeat {
      // It isn't among the entries of its outcome.
    } else if result.isShared {
      traffic.outcomes.update(outcome) { $0.shared += 1 }
    } else if result.attempts > 0 {
      recordTransfer(result, host: host)
    }
    if let status = result.remoteCache, let host, !result.isShared, !isRepeat {
      remoteCaches.record(status, host: host, edge: variants[entry.variant].edge)
    }
    if lint != nil {
      let isJudged = outcome.isGood && !isRepeat
      let manifest = manifests[entry.manifest].path
      let broken =
        isJudged ? lint?.record(result, of: entry, host: host, manifest: manifest, repeats: duplicate, in: sameImages) : nil
      self.broken = broken ?? LintRuleSet()
    }
    if result.rare?.details.isRecovered == true, !isRepeat { traffic.recovered += 1 }
    if let details = result.rare?.details, !details.warnings.isEmpty {
      warnings.record(details.warnings, of: entry, manifest: manifests[entry.manifest].path)
    }
    return standing
  }

  private mutating func recordFailure(_ result: EntryResult, of entry: ReportedEntry, host: Int?, _ standing: FailureStanding) {
    if let failure = result.rare?.details.failure, result.outcome == .failed {
      if failure.isTransient, !isRepeat { traffic.transientFailures += 1 }
      if failure.kind == .placeholder { sameImages.record(result, of: entry, host: host) }
    }
    let (manifest, variant) = (manifests[entry.manifest].path, variants[entry.variant])
    if isRepeat { return failures.recordRepeat(of: entry, manifest: manifest) }
    let history = memory.flatMap { $0.isEmpty ? nil : $0.badBefore(EntryKey(url: entry.url, variant: variant)) }
    failures.record(result, of: entry, host: host, manifest: manifest, variant: variant, standing: standing, history)
  }

  private mutating func standing(of entry: ReportedEntry, _ result: EntryResult, given: FailureStanding) -> FailureStanding {
    guard result.outcome.isGood || result.outcome.isBad else { return .counts }
    let variant = variants[entry.variant]
    let key = EntryKey(url: entry.url, variant: variant)
    func listed() -> ListedEntry {
      ListedEntry(url: entry.shownURL, variant: variant, manifest: manifests[entry.manifest].path, line: entry.line)
    }
    if result.outcome.isBad {
      let isEarly = memory?.noteBad(key, listed) ?? false
      let standing = judge?.standing(of: key) ?? .counts
      // Good by one list, bad by another.
      if standing == .known, !fixed.isEmpty { fixed[key] = nil }
      if standing == .counts, isEarly, result.failure?.isTransient == true { return .inGrace }
      if standing == .counts, given == .counts { memory?.noteCounting(key) }
      return standing
    }
    memory?.noteGood(key)
    if judge?.noteGood(key) == true, fixed.count < BaselineDifference.fixedEntryLimit { fixed[key] = (totals.urls, listed()) }
    return .counts
  }

  private mutating func recordTransfer(_ result: EntryResult, host: Int?) {
    traffic.receivedBytes += result.receivedBytes
    traffic.attempts += UInt64(result.attempts)
    traffic.retries += UInt64(result.attempts - 1)
    traffic.waitedNanoseconds += result.waitedNanoseconds
    if let host { hosts.update(host) { $0.receivedBytes += result.receivedBytes } }
    // To the microsecond, as in rows, so that counting the rows gives the same histogram.
    let duration = result.durationNanoseconds / 1000 * 1000
    // The run decides when a cancelled transfer ends, so its duration says nothing about the host.
    let isTimed = duration > 0 && result.outcome != .cancelled
    traffic.outcomes.update(result.outcome) { traffic in
      traffic.receivedBytes += result.receivedBytes
      if isTimed { traffic.latency.record(nanoseconds: duration) }
    }
    guard isTimed else { return }
    traffic.latency.record(nanoseconds: duration)
    if let host { hosts.update(host) { $0.latency.record(nanoseconds: duration) } }
  }
}

extension EntryResult {
  /// The bytes that this entry stored in the cache; nil if it stored nothing.
  var newBytes: UInt64? {
    switch outcome {
    case .downloaded: storedBytes ?? bytes
    case .hitDisk, .hitMemory, .revalidated: storedBytes
    case .checked, .failed, .blacklisted, .skipped, .cancelled: nil
    }
  }
}

/// Warnings of entries by their sentence, so that a thousand equal ones take one line.
struct WarningLog {
  /// The limit of listed sentences; entries with others are only counted.
  static let sentenceLimit = 50
  private static let urlLimit = 500

  private struct Occurrences {
    var order: Int
    var count: UInt64
    /// The URL and location of the first entry.
    var first: String
  }

  private var sentences: [String: Occurrences] = [:]
  private var others: UInt64 = 0

  mutating func record(_ warnings: [String], of entry: ReportedEntry, manifest: String) {
    for warning in warnings {
      let warning = groupingDigits(in: warning)
      if sentences[warning] != nil {
        sentences[warning]!.count += 1
      } else if sentences.count < Self.sentenceLimit {
        let url = entry.shownURL.shortened(to: Self.urlLimit)
        let first = "\(url) (\(place(manifest, entry.line)))"
        sentences[warning] = Occurrences(order: sentences.count, count: 1, first: first)
      } else {
        others += 1
      }
    }
  }

  /// The sentences in the order of their first entries, each with its count and its first entry.
  var lines: [String] {
    var lines = sentences.sorted { $0.value.order < $1.value.order }.map { sentence, occurrences in
      occurrences.count == 1
        ? "\(occurrences.first): \(sentence)"
        : "\(grouped(occurrences.count)) entries, first \(occurrences.first): \(sentence)"
    }
    if others > 0 { lines.append("\(counted(others, "more warning")) of other kinds") }
    return lines
  }
}
