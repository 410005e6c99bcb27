extension HTMLPage {
  private static let hostLimit = 1000
  private static let hostBytes = 400_000
  private static let manifestLimit = 1000
  private static let manifestBytes = 150_000
  private static let remoteCacheLimit = 1000
  private static let remoteCacheBytes = 100_000

  /// The hosts with most entries, those with most failures first.
  mutating func writeHosts(_ report: FinishedReport) {
    guard !report.hosts.isEmpty else { return }
    let hosts = report.hostsByFailures
    let titles = ["Host", "#URLs", "#Bad", "#Share", report.totals.hitsTitle, "#New", "#Received", "#Median", "#99 %"]
    section("hosts", "Hosts") { page in
      var shown = 0
      page.table("Hosts", titles, sorted: report.totals.bad > 0 ? 2 : 1) { page in
        shown = page.rows(hosts, limit: Self.hostLimit, bytes: Self.hostBytes) { page, host in
          page.element("tr") { page in
            page.rowHeader(host.host, limit: 253)
            page.counts(of: host.totals)
            page.number(host.receivedBytes > 0 ? Double(host.receivedBytes) : nil, byteCount)
            page.number(host.latency.percentile(0.5), latency)
            page.number(host.latency.percentile(0.99), latency)
          }
        }
      }
      page.omission(UInt64(hosts.count - shown) + report.hostsOmitted, "more host")
    }
  }

  /// What came of each manifest; nothing where one manifest is the whole run.
  mutating func writeManifests(_ report: FinishedReport) {
    guard report.manifests.count > 1 else { return }
    section("manifests", "Manifests") { page in
      var shown = 0
      page.table("Manifests", ["Manifest", "#URLs", "#Bad", "#Share", report.totals.hitsTitle, "#New"]) { page in
        shown = page.rows(report.manifests, limit: Self.manifestLimit, bytes: Self.manifestBytes) { page, manifest in
          page.element("tr") { page in
            page.rowHeader(manifest.path, limit: 300)
            page.counts(of: manifest.totals)
          }
        }
      }
      page.omission(UInt64(report.manifests.count - shown), "more manifest")
    }
  }

  /// How much the caches on the way had, by host and edge; nothing where they were not asked.
  mutating func writeRemoteCaches(_ report: FinishedReport) {
    let counts = report.hosts.flatMap { host in host.remoteCaches.map { (host: host.host, count: $0) } }
    guard !counts.isEmpty else { return }
    section("remote-caches", "Remote caches") { page in
      var shown = 0
      page.table("Remote caches", ["Host", "Edge", "#Hit", "#Missed", "#Unknown", "#Hit ratio"]) { page in
        shown = page.rows(counts, limit: Self.remoteCacheLimit, bytes: Self.remoteCacheBytes) { page, row in
          page.element("tr") { page in
            page.rowHeader(row.host, limit: 253)
            page.element("td") { $0.text(row.count.edge ?? "–", limit: 100) }
            page.number(row.count.hits)
            page.number(row.count.misses)
            page.number(row.count.unknown)
            let ratio = row.count.total > 0 ? Double(row.count.hits) / Double(row.count.total) : 0
            page.number(ratio * 1000) { _ in percent(row.count.hits, of: row.count.total) }
          }
        }
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
  /// The title of a column that counts what the server answered with 304 among the hits, where there is any.
  fileprivate var hitsTitle: String { revalidated > 0 ? "#Hits and 304" : "#Hits" }
}
