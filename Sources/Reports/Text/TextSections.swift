import ImagePrimitives

extension TextPage {
  /// A line for each outcome that occurred: count, share, and what it means here.
  mutating func writeOutcomes(_ report: FinishedReport) {
    let totals = report.totals
    guard totals.urls > 0 else { return }
    let rows: [(name: String, count: UInt64, detail: String, style: Style)] = [
      ("hits", totals.hits, hitDetail(totals), .plain),
      ("downloaded", totals.downloaded, transferDetail(report, totals.downloaded), .plain),
      ("revalidated", totals.revalidated, "the server says that the cached ones are still right", .plain),
      ("checked", totals.checked, transferDetail(report, totals.checked), .plain),
      ("failed", totals.failed, transientDetail(report), .failure),
      ("blacklisted", totals.blacklisted, "known bad, not asked; \(report.words.blacklistAdvice)", .failure),
      ("skipped", totals.skipped, "filtered out, or not cached and not asked for", .plain),
      ("cancelled", totals.cancelled, "read, but not finished; run again to go on", .warning),
    ].filter { $0.count > 0 }
    let countWidth = max(5, rows.map { grouped($0.count).count }.max() ?? 0)
    line()
    for row in rows {
      let count = grouped(row.count).rightAligned(to: countWidth)
      let share = percent(row.count, of: totals.urls).rightAligned(to: 7)
      line("  \(row.name.padded(to: 11))  \(styled(count, row.style))  \(share)   \(styled(row.detail, .detail))")
    }
    writeRequests(report)
  }

  private func hitDetail(_ totals: Totals) -> String {
    switch (totals.hitMemory, totals.hitDisk) {
    case (0, _): "on disk"
    case (_, 0): "in memory"
    default: "\(grouped(totals.hitMemory)) in memory, \(grouped(totals.hitDisk)) on disk"
    }
  }

  private func transferDetail(_ report: FinishedReport, _ count: UInt64) -> String {
    let rate = report.end.duration > .zero ? rate(report.perSecond(count)) : nil
    let parts = [byteCount(Double(report.traffic.receivedBytes)), rate, report.traffic.latency.summary]
    return parts.compactMap { $0 }.joined(separator: ", ")
  }

  private func transientDetail(_ report: FinishedReport) -> String {
    let transient = report.traffic.transientFailures
    return transient == 0 ? "" : "\(grouped(transient)) may heal by \(transient == 1 ? "itself" : "themselves")"
  }

  /// What retries cost, and the formats of what was fetched.
  private mutating func writeRequests(_ report: FinishedReport) {
    var parts: [String] = []
    if report.traffic.retries > 0 {
      // Those that a host has asked for are no retries in a job's sense.
      let repeated = "\(grouped(report.traffic.retries)) of them again"
      let waited = elapsed(.nanoseconds(Int64(clamping: report.traffic.waitedNanoseconds)))
      parts.append("\(counted(report.traffic.attempts, "request")), \(repeated), \(waited) waited in all")
    }
    if report.formats.count > 1 {
      parts.append(report.formats.map { "\(grouped($0.count)) \($0.format.name)" }.joined(separator: ", "))
    }
    guard !parts.isEmpty else { return }
    line()
    paragraph(" ", parts, indent: 2, style: .detail)
  }
}

extension TextPage {
  private static let hostRowLimit = 10

  /// The hosts with most entries, or those with most failures: what came of them, and how fast they were.
  mutating func writeHosts(_ report: FinishedReport, worstFirst: Bool = false) {
    guard !report.hosts.isEmpty else { return }
    let shown = Array((worstFirst ? report.hostsByFailures : report.hosts).prefix(Self.hostRowLimit))
    let titles = ["urls", report.totals.revalidated > 0 ? "hits+304" : "hits", "new", "bad", "median", "99 %"]
    let rows = shown.map(cells)
    let widths = titles.indices.map { index in max(7, columns(of: titles[index]), rows.map { columns(of: $0[index]) }.max() ?? 0)
    }
    let numbers = widths.reduce(0) { $0 + $1 + 2 }
    let names = shown.map { "  " + escapedForTerminal($0.host) }
    let nameWidth = min(max(names.map { columns(of: $0) }.max() ?? 0, 10), max(20, width - numbers))
    func join(_ cells: [String], _ style: (Int) -> Style) -> String {
      cells.indices.map { "  " + styled(cells[$0].rightAligned(to: widths[$0]), style($0)) }.joined()
    }
    line()
    line("Hosts".padded(to: nameWidth) + join(titles) { _ in .plain })
    for (name, row) in zip(names, rows) {
      line(name.cut(to: nameWidth).padded(to: nameWidth) + join(row) { $0 == 3 && row[3] != "–" ? .failure : .plain })
    }
    let others = UInt64(report.hosts.count - shown.count) + report.hostsOmitted
    if others > 0 { line(styled("  … \(counted(others, "more host"))", .detail)) }
  }

  private func cells(_ host: HostSummary) -> [String] {
    func count(_ value: UInt64) -> String { value == 0 ? "–" : grouped(value) }
    func time(_ fraction: Double) -> String { host.latency.percentile(fraction).map(latency) ?? "–" }
    return [
      count(host.totals.urls),
      count(host.totals.hits + host.totals.revalidated),
      count(host.totals.downloaded + host.totals.checked),
      count(host.totals.bad),
      time(0.5),
      time(0.99),
    ]
  }
}

extension FinishedReport {
  /// Whether caches on the way were asked what they have.
  var asksRemoteCaches: Bool { hosts.contains { !$0.remoteCaches.isEmpty } }
}

extension TextPage {
  private static let remoteCacheRowLimit = 10

  /// How much the caches on the way had, by host and edge; nothing if they were not asked.
  mutating func writeRemoteCaches(_ report: FinishedReport) {
    let rows = report.hosts.flatMap { host in
      host.remoteCaches.map { count in (name: ([host.host] + (count.edge.map { [$0] } ?? [])).joined(separator: ", "), count) }
    }
    guard !rows.isEmpty else { return }
    let shown = rows.prefix(Self.remoteCacheRowLimit).map { (name: "  " + escapedForTerminal($0.name), count: $0.1) }
    let nameWidth = min(max(18, shown.map { columns(of: $0.name) }.max() ?? 0), width - 46)
    line()
    line("Remote caches")
    for row in shown {
      let (count, name) = (row.count, row.name.cut(to: nameWidth).padded(to: nameWidth))
      var parts = ["\(grouped(count.hits)) of \(grouped(count.total)) hit"]
      if count.misses > 0 { parts.append("\(grouped(count.misses)) missed") }
      if count.unknown > 0 { parts.append("\(grouped(count.unknown)) unknown") }
      line(
        name + "  " + percent(count.hits, of: count.total).rightAligned(to: 7) + "  "
          + styled(parts.joined(separator: ", "), .detail)
      )
    }
    let others = rows.count - shown.count
    if others > 0 { line(styled("  … \(grouped(UInt64(others))) more", .detail)) }
  }
}

extension TextPage {
  private static let placeholderLimit = 10

  /// Images that stand for many URLs of a host: how many, what each is, and the first URL that got it.
  mutating func writePlaceholders(_ report: FinishedReport) {
    guard !report.placeholders.isEmpty else { return }
    let shown = report.placeholders.prefix(Self.placeholderLimit)
    let countWidth = max(5, shown.map { grouped($0.urls).count }.max() ?? 0)
    let images = shown.map(\.imagePhrase)
    let imageWidth = images.map { columns(of: $0) }.max() ?? 0
    line()
    line("Placeholders: one image for many URLs of a host")
    for (placeholder, image) in zip(shown, images) {
      let start = "  \(grouped(placeholder.urls).rightAligned(to: countWidth)) x  \(image.padded(to: imageWidth))  "
      let url = escapedForTerminal(placeholder.firstURL).cut(to: 3 * width)
      if columns(of: start + url) <= width {
        line(start + url)
      } else {
        line(start + escapedForTerminal(placeholder.host).cut(to: width - columns(of: start)))
        line("    \(url)")
      }
    }
    let others = report.placeholders.count - shown.count
    if others > 0 { line(styled("  … \(grouped(UInt64(others))) more", .detail)) }
  }

  /// How many URLs gave bytes that another one gave, too.
  mutating func writeDuplicates(_ duplicates: Duplicates?) {
    guard let duplicates, duplicates.bodies > 0 else { return }
    let least = duplicates.isComplete ? "" : "at least "
    paragraph("Duplicates", ["\(least)\(counted(duplicates.bodies, "image")) from \(counted(duplicates.urls, "URL"))"])
  }
}
