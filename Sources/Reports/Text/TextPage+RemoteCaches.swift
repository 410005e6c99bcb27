extension FinishedReport {
  /// Whether caches on the way were asked what they have.
  var asksRemoteCaches: Bool { hosts.contains { !$0.remoteCaches.isEmpty } }
}

extension TextPage {
  private static let remoteCacheRowLimit = 10

  /// How much the caches on the way had, by host and edge; nothing where they were not asked.
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
