import Base

/// The sections below the failures.
extension HTMLPage {
  var warnings: Section? {
    guard !report.warnings.isEmpty else { return nil }
    let (items, shown) = HTML.rows(report.warnings, limit: 100, bytes: 60_000) { "<li>\($0, limit: 500)</li>" }
    let rest = HTML.omission(UInt64(report.warnings.count - shown), "more warning")
    return Section("warnings", "Warnings", #"<ul class="warnings">\#(items)</ul>\#(rest)"#)
  }

  var stores: Section? {
    let (cache, blacklist) = (report.end.cache, report.end.blacklist)
    guard cache != nil || blacklist != nil else { return nil }
    func count(_ path: KeyPath<CacheSummary, UInt64>) -> String? {
      cache.flatMap { $0[keyPath: path] > 0 ? grouped($0[keyPath: path]) : nil }
    }
    let facts = Self.facts(
      "details",
      [
        ("Images", cache.map { "\(grouped($0.entries)), \($0.sizePhrase)" }),
        ("On disk", cache.map { byteCount(Double($0.diskBytes)) }),
        ("Fresh until", cache.flatMap { $0.entries > 0 ? $0.freshUntil?.shortText : nil }),
        ("Folder", cache?.directory),
        ("Namespace", cache?.namespace),
        ("Expired and removed", count(\.expiredEntries)),
        ("Trimmed", count(\.trimmedEntries)),
        ("Trimmed from this run", count(\.evictedFromThisRun)),
        ("Blacklisted", blacklist?.phrase),
      ]
    )
    return facts.map { Section("cache", "Cache and blacklist", in: "Cache", $0) }
  }

  var job: Section? {
    let (end, traffic) = (report.end, report.traffic)
    let formats = report.formats.map { "\(grouped($0.count)) \($0.format.name)" }
    let facts = Self.facts(
      "details",
      [
        ("Job", report.job.title),
        ("File", report.job.file),
        ("Started", report.startedAt?.iso8601),
        ("Ended", end.finishedAt?.iso8601),
        ("Took", elapsed(end.duration)),
        ("Requests", traffic.attempts > 0 ? traffic.requestPhrase : nil),
        ("Received", traffic.receivedBytes > 0 ? byteCount(Double(traffic.receivedBytes)) : nil),
        ("From the cache", traffic.cachedBytes > 0 ? byteCount(Double(traffic.cachedBytes)) : nil),
        ("Formats", formats.isEmpty ? nil : formats.joined(separator: ", ")),
        ("Bottleneck", report.isLong ? end.bottleneck : nil),
        ("Time held up by", report.isLong ? end.bottleneckPhrase : nil),
        ("Peak memory", end.peakMemoryBytes.map { byteCount(Double($0)) }),
        ("Unfinished by workers", end.outstanding > 0 ? grouped(end.outstanding) : nil),
        ("Lists read", end.areManifestsRead ? nil : "not to the end"),
        ("Exit status", report.exitStatusWords),
        ("Version", "prewarm \(report.version)"),
      ]
    )
    return facts.map { Section("job", "The job as it ran", in: "Job", $0) }
  }
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

// MARK: Tables

/// A cell of a table.
private enum HTMLCell {
  /// A text from outside that names its row.
  case name(String, limit: Int)
  case text(String)
  /// A count; 0 appears as a dash.
  case count(UInt64, isBad: Bool = false)
  /// A measured value and its words, by which it is sorted; nil if it is unmeasured.
  case number(Double?, (Double) -> String)

  var html: HTML {
    switch self {
    case .name(let text, let limit): return #"<th scope="row">\#(text, limit: limit)</th>"#
    case .text(let text): return "<td>\(text, limit: 100)</td>"
    case .count(let count, let isBad):
      let style = isBad && count > 0 ? "n bad" : "n"
      return #"<td class="\#(style)" data-v="\#(count)">\#(count == 0 ? "–" : grouped(count))</td>"#
    case .number(let value, let words):
      let thousandths = value.map { String(UInt64(min(max($0 * 1000, 0), 1e18))) }
      return #"<td class="n"\#(attribute: "data-v", thousandths)>\#(value.map(words) ?? "–")</td>"#
    }
  }
}

extension HTMLPage {
  /// The hosts with most entries; those with most failures come first.
  var hosts: Section? {
    let titles = ["Host"] + countTitles + ["#Received", "#Median", "#p99"]
    let sorted = report.totals.bad > 0 ? 2 : 1
    return table(
      "hosts",
      "Hosts",
      titles,
      style: countStyle,
      sorted: sorted,
      report.hostsByFailures,
      bytes: 400_000,
      more: report.hostsOmitted,
      "more host"
    ) {
      host in
      let times = [0.5, 0.99].map { HTMLCell.number(host.latency.percentile($0), latency) }
      let received = HTMLCell.number(host.receivedBytes > 0 ? Double(host.receivedBytes) : nil, byteCount)
      return [.name(host.host, limit: 253)] + counts(of: host.totals) + [received] + times
    }
  }

  /// The outcomes per list; nil if the run has one list only.
  var lists: Section? {
    guard report.manifests.count > 1 else { return nil }
    return table(
      "lists",
      "Lists",
      ["List"] + countTitles,
      style: countStyle,
      report.manifestsByFailures,
      bytes: 150_000,
      "more list"
    ) {
      [.name($0.path, limit: 300)] + counts(of: $0.totals)
    }
  }

  /// The hit ratios of remote caches by host and edge; nil if the job doesn't check them.
  var remoteCaches: Section? {
    let rows = report.hosts.flatMap { host in host.remoteCaches.map { (host: host.host, count: $0) } }
    let titles = ["Host", "Edge", "#Hit", "#Missed", "#Unknown", "#Hit ratio"]
    return table("remote-caches", "Remote caches", titles, rows, bytes: 100_000, "more", plural: "more") { host, count in
      let ratio = count.known > 0 ? Double(count.hits) / Double(count.known) : nil
      return [
        .name(host, limit: 253), .text(count.edge ?? "–"), .count(count.hits), .count(count.misses), .count(count.unknown),
        .number(ratio) { _ in count.hitShare },
      ]
    }
  }

  /// The titles of columns with counts, whose hits include entries that the server revalidated with 304.
  private var countTitles: [String] {
    ["#URLs", "#Bad", "#Share", report.totals.revalidated > 0 ? "#Hits and 304" : "#Hits", "#Fetched"]
  }

  /// The class of a table with these columns, of which that of hits is hidden if there are none.
  private var countStyle: String? { report.totals.revalidated > 0 ? "with-304" : report.totals.hits > 0 ? nil : "no-hits" }

  private func counts(of totals: OutcomeTotals) -> [HTMLCell] {
    let share = totals.bad > 0 ? Double(totals.bad) / Double(totals.urls) * 1000 : nil
    return [
      .count(totals.urls), .count(totals.bad, isBad: true), .number(share) { _ in percent(totals.bad, of: totals.urls) },
      .count(totals.hits + totals.revalidated), .count(totals.downloaded + totals.checked),
    ]
  }

  /// A section with a table, whose frame scrolls instead of the page; nil if it has no rows. The script makes it sortable and filterable.
  ///
  /// - Parameters:
  ///   - titles: of its columns; a title that starts with `#` is of a column of numbers.
  ///   - sorted: the column by which the rows are sorted, descending.
  ///   - omitted: rows that the report omits already.
  private func table<Row>(
    _ id: String,
    _ name: String,
    _ titles: [String],
    style: String? = nil,
    sorted: Int? = nil,
    _ rows: [Row],
    bytes: Int,
    more omitted: UInt64 = 0,
    _ noun: String,
    plural: String? = nil,
    _ cells: (Row) -> [HTMLCell]
  ) -> Section? {
    guard !rows.isEmpty else { return nil }
    let heads = titles.enumerated().map { column, title -> HTML in
      let isNumber = title.hasPrefix("#")
      let order = column == sorted ? "descending" : nil
      return """
        <th scope="col"\(class: isNumber ? "n" : nil)\(attribute: "aria-sort", order)>\(isNumber ? String(title.dropFirst()) : title)</th>
        """
    }
    let (body, shown) = HTML.rows(rows, limit: 1000, bytes: bytes) { "<tr>\(cells($0).map(\.html))</tr>" }
    return Section(
      id,
      name,
      """
      <div class="frame" tabindex="0" role="region" aria-label="\(name)"><table\(class: style)><thead><tr>\(heads)</tr></thead>\
      <tbody>\(body)</tbody></table></div>\(HTML.omission(UInt64(rows.count - shown) + omitted, noun, plural: plural))
      """
    )
  }
}
