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
      ("blacklisted", totals.blacklisted, "known bad, not asked; prewarm blacklist list", .failure),
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
