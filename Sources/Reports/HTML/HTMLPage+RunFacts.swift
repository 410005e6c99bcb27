import ImagePrimitives

extension HTMLPage {
  private static let warningLimit = 100
  private static let warningBytes = 60_000

  /// Sentences on what was odd.
  mutating func writeWarnings(_ report: FinishedReport) {
    guard !report.warnings.isEmpty else { return }
    section("warnings", "Warnings") { page in
      var shown = 0
      page.element("ul", ["class": "warnings"]) { page in
        shown = page.rows(report.warnings, limit: Self.warningLimit, bytes: Self.warningBytes) { page, warning in
          page.element("li") { $0.text(warning, limit: 500) }
        }
      }
      page.omission(UInt64(report.warnings.count - shown), "more warning")
    }
  }

  /// The cache and the blacklist as the run left them.
  mutating func writeStores(_ end: RunEnd) {
    guard end.cache != nil || end.blacklist != nil else { return }
    section("cache", "Cache and blacklist") { page in
      page.element("dl", ["class": "details"]) { page in
        if let cache = end.cache { page.facts(of: cache) }
        if let blacklist = end.blacklist {
          page.fact("Blacklisted", blacklist.phrase)
        }
      }
    }
  }

  private mutating func facts(of cache: CacheSummary) {
    fact("Images", "\(grouped(cache.entries)), \(cache.sizePhrase)")
    fact("On disk", byteCount(Double(cache.diskBytes)))
    fact("All fresh until", cache.entries > 0 ? cache.freshUntil?.shortText : nil)
    fact("Folder", cache.directory)
    fact("Namespace", cache.namespace)
    fact("Expired and removed", count: cache.expiredEntries)
    fact("Trimmed", count: cache.trimmedEntries)
    fact("Of them from this run", count: cache.evictedFromThisRun)
  }

  /// The job as it ran.
  mutating func writeJob(_ report: FinishedReport) {
    let (end, traffic) = (report.end, report.traffic)
    section("job", "The job as it ran") { page in
      page.element("dl", ["class": "details"]) { page in
        page.fact("Job", report.job.title)
        page.fact("File", report.job.file)
        page.fact("Began", report.startedAt?.iso8601)
        page.fact("Ended", end.finishedAt?.iso8601)
        page.fact("Took", elapsed(end.duration))
        page.fact("Requests", traffic.attempts > 0 ? traffic.requestWords : nil)
        page.fact("Received", traffic.receivedBytes > 0 ? byteCount(Double(traffic.receivedBytes)) : nil)
        page.fact("From the cache", traffic.cachedBytes > 0 ? byteCount(Double(traffic.cachedBytes)) : nil)
        let formats = report.formats.map { "\(grouped($0.count)) \($0.format.name)" }
        page.fact("Formats", formats.isEmpty ? nil : formats.joined(separator: ", "))
        page.fact("Bounded by", end.boundedBy)
        page.fact("Of its time", end.boundWords)
        page.fact("Most memory", end.peakMemoryBytes.map { byteCount(Double($0)) })
        page.fact("Not finished by workers", count: end.outstanding)
        page.fact("Manifests read", end.areManifestsRead ? nil : "not to their end")
        page.fact("Exit status", report.exitStatus.words)
        page.fact("Version", "prewarm \(report.version)")
      }
    }
  }

  /// A name and what it is; nothing where that is not known.
  private mutating func fact(_ name: String, _ value: String?) {
    guard let value else { return }
    element("div") { page in
      page.element("dt", name)
      page.element("dd") { $0.text(value, limit: 400) }
    }
  }

  /// A name and a count; nothing where there are none.
  private mutating func fact(_ name: String, count: UInt64) { fact(name, count > 0 ? grouped(count) : nil) }
}

extension ExitStatus {
  /// The number and what it means.
  fileprivate var words: String {
    let meaning =
      switch self {
      case .withinLimits: "done, within fail-on"
      case .couldNotFinish: "it could not finish"
      case .beyondLimits: "done, but beyond fail-on"
      case .misused: "the job file or the command line is wrong"
      case .interrupted: "interrupted by SIGINT"
      case .terminated: "interrupted by SIGTERM"
      }
    return "\(rawValue): \(meaning)"
  }
}

extension Traffic {
  /// `3,042, 60 of them again, 45.0 s waited in all`.
  fileprivate var requestWords: String {
    guard retries > 0 else { return grouped(attempts) }
    let waited = elapsed(.nanoseconds(Int64(clamping: waitedNanoseconds)))
    return "\(grouped(attempts)), \(grouped(retries)) of them again, \(waited) waited in all"
  }
}
