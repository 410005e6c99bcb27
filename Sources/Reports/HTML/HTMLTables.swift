import Base

extension HTMLPage {
  /// The hosts with most entries; those with most failures come first.
  mutating func writeHosts(_ report: FinishedReport) {
    guard !report.hosts.isEmpty else { return }
    let hosts = report.hostsByFailures
    let titles = ["Host", "#URLs", "#Bad", "#Share", report.totals.hitsTitle, "#Fetched", "#Received", "#Median", "#p99"]
    section("hosts", "Hosts") { page in
      let sorted = report.totals.bad > 0 ? 2 : 1
      let shown = page.table("Hosts", titles, style: report.totals.hitsStyle, sorted: sorted, hosts, limit: 1000, bytes: 400_000)
      { page, host in
        page.rowHeader(host.host, limit: 253)
        page.counts(of: host.totals)
        page.number(host.receivedBytes > 0 ? Double(host.receivedBytes) : nil, byteCount)
        page.number(host.latency.percentile(0.5), latency)
        page.number(host.latency.percentile(0.99), latency)
      }
      page.omission(UInt64(hosts.count - shown) + report.hostsOmitted, "more host")
    }
  }

  /// The outcomes per list; nothing if the run has one list only.
  mutating func writeLists(_ report: FinishedReport) {
    guard report.manifests.count > 1 else { return }
    section("lists", "Lists") { page in
      let titles = ["List", "#URLs", "#Bad", "#Share", report.totals.hitsTitle, "#Fetched"]
      let shown = page.table(
        "Lists",
        titles,
        style: report.totals.hitsStyle,
        report.manifestsByFailures,
        limit: 1000,
        bytes: 150_000
      ) {
        page,
        manifest in
        page.rowHeader(manifest.path, limit: 300)
        page.counts(of: manifest.totals)
      }
      page.omission(UInt64(report.manifests.count - shown), "more list")
    }
  }

  /// The hit ratios of remote caches by host and edge; nothing if the job doesn't check them.
  mutating func writeRemoteCaches(_ report: FinishedReport) {
    let counts = report.hosts.flatMap { host in host.remoteCaches.map { (host: host.host, count: $0) } }
    guard !counts.isEmpty else { return }
    section("remote-caches", "Remote caches") { page in
      let titles = ["Host", "Edge", "#Hit", "#Missed", "#Unknown", "#Hit ratio"]
      let shown = page.table("Remote caches", titles, counts, limit: 1000, bytes: 100_000) { page, row in
        page.rowHeader(row.host, limit: 253)
        page.element("td") { $0.text(row.count.edge ?? "–", limit: 100) }
        page.number(row.count.hits)
        page.number(row.count.misses)
        page.number(row.count.unknown)
        page.number(row.count.known > 0 ? Double(row.count.hits) / Double(row.count.known) : nil) { _ in row.count.hitShare }
      }
      page.omission(UInt64(counts.count - shown), "more", plural: "more")
    }
  }

  private mutating func counts(of totals: Totals) {
    number(totals.urls)
    number(totals.bad, isBad: true)
    number(totals.bad > 0 ? Double(totals.bad) / Double(totals.urls) * 1000 : nil) { _ in percent(totals.bad, of: totals.urls) }
    number(totals.hits + totals.revalidated)
    number(totals.downloaded + totals.checked)
  }
}

extension Totals {
  /// The title of a column whose hits include entries that the server revalidated with 304.
  fileprivate var hitsTitle: String { revalidated > 0 ? "#Hits and 304" : "#Hits" }

  /// The class of a table with that column, which is hidden if there are no hits.
  fileprivate var hitsStyle: String? { revalidated > 0 ? "with-304" : hits > 0 ? nil : "no-hits" }
}

extension HTMLPage {
  mutating func writeWarnings(_ report: FinishedReport) {
    guard !report.warnings.isEmpty else { return }
    section("warnings", "Warnings") { page in
      let shown = page.list("ul", style: "warnings", report.warnings, limit: 100, bytes: 60_000) { $0.text($1, limit: 500) }
      page.omission(UInt64(report.warnings.count - shown), "more warning")
    }
  }

  mutating func writeStores(_ end: RunEnd) {
    guard end.cache != nil || end.blacklist != nil else { return }
    section("cache", "Cache and blacklist", in: "Cache") { page in
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
    fact("Fresh until", cache.entries > 0 ? cache.freshUntil?.shortText : nil)
    fact("Folder", cache.directory)
    fact("Namespace", cache.namespace)
    fact("Expired and removed", count: cache.expiredEntries)
    fact("Trimmed", count: cache.trimmedEntries)
    fact("Trimmed from this run", count: cache.evictedFromThisRun)
  }

  mutating func writeJob(_ report: FinishedReport) {
    let (end, traffic) = (report.end, report.traffic)
    section("job", "The job as it ran", in: "Job") { page in
      page.element("dl", ["class": "details"]) { page in
        page.fact("Job", report.job.title)
        page.fact("File", report.job.file)
        page.fact("Started", report.startedAt?.iso8601)
        page.fact("Ended", end.finishedAt?.iso8601)
        page.fact("Took", elapsed(end.duration))
        page.fact("Requests", traffic.attempts > 0 ? traffic.requestPhrase : nil)
        page.fact("Received", traffic.receivedBytes > 0 ? byteCount(Double(traffic.receivedBytes)) : nil)
        page.fact("From the cache", traffic.cachedBytes > 0 ? byteCount(Double(traffic.cachedBytes)) : nil)
        let formats = report.formats.map { "\(grouped($0.count)) \($0.format.name)" }
        page.fact("Formats", formats.isEmpty ? nil : formats.joined(separator: ", "))
        page.fact("Bottleneck", report.isLong ? end.bottleneck : nil)
        page.fact("Time held up by", report.isLong ? end.bottleneckPhrase : nil)
        page.fact("Peak memory", end.peakMemoryBytes.map { byteCount(Double($0)) })
        page.fact("Unfinished by workers", count: end.outstanding)
        page.fact("Lists read", end.areManifestsRead ? nil : "not to the end")
        page.fact("Exit status", report.exitStatusWords)
        page.fact("Version", "prewarm \(report.version)")
      }
    }
  }

  private mutating func fact(_ name: String, _ value: String?) {
    guard let value else { return }
    element("div") { page in
      page.element("dt", name)
      page.element("dd") { $0.text(value, limit: 400) }
    }
  }

  private mutating func fact(_ name: String, count: UInt64) { fact(name, count > 0 ? grouped(count) : nil) }
}

extension FinishedReport {
  /// The number and its meaning.
  fileprivate var exitStatusWords: String {
    let meaning =
      switch exitStatus {
      case .withinLimits: "finished, within the limits of \(words.rules)"
      case .couldNotFinish: "couldn't finish"
      case .beyondLimits: "finished, beyond the limits of \(words.rules)"
      case .misused: "invalid job file or command line"
      case .interrupted: "interrupted by SIGINT"
      case .terminated: "interrupted by SIGTERM"
      }
    return "\(exitStatus.rawValue): \(meaning)"
  }
}
