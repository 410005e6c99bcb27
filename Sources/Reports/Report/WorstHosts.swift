extension FinishedReport {
  /// The listed hosts, those with most failures first, then those with most entries.
  var hostsByFailures: [HostSummary] {
    hosts.sorted { ($1.totals.bad, $1.totals.urls, $0.host) < ($0.totals.bad, $0.totals.urls, $1.host) }
  }

  /// The host with most failed and blacklisted entries, and how many entries it has, where that is known.
  ///
  /// A host that is not among those with most entries may still be the worst: then the groups that name it tell its failures.
  var worstHost: (host: String, bad: UInt64, urls: UInt64?)? {
    var unlisted: [String: UInt64] = [:]
    for group in failureGroups {
      for host in group.hosts { unlisted[host.host, default: 0] += host.count }
    }
    for host in hosts { unlisted[host.host] = nil }
    let listed = hostsByFailures.first.flatMap { $0.totals.bad > 0 ? $0 : nil }
    if let other = unlisted.max(by: { ($0.value, $1.key) < ($1.value, $0.key) }), other.value > listed?.totals.bad ?? 0 {
      return (other.key, other.value, nil)
    }
    return listed.map { ($0.host, $0.totals.bad, $0.totals.urls) }
  }
}
