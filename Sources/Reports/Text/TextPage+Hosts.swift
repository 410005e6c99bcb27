import ImagePrimitives

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
