import ImagePrimitives

extension Array {
  /// The elements joined that have the same key, in the order of the first of each.
  fileprivate func joined<Key: Hashable>(by key: (Element) -> Key, _ add: (inout Element, Element) -> Void) -> [Element] {
    var places: [Key: Int] = [:]
    var result: [Element] = []
    for element in self {
      if let place = places[key(element)] {
        add(&result[place], element)
      } else {
        places[key(element)] = result.count
        result.append(element)
      }
    }
    return result
  }
}

extension ManifestSummary {
  static func merged(_ manifests: [ManifestSummary]) -> [ManifestSummary] {
    manifests.joined(by: \.path) { manifest, other in
      manifest.totals.add(other.totals)
      if manifest.file != other.file { manifest.file = nil }
    }
  }
}

extension HostSummary {
  /// Those with most entries first, then by name, as in the report of one run.
  static func merged(_ hosts: [HostSummary]) -> [HostSummary] {
    hosts.joined(by: \.host) { host, other in
      host.totals.add(other.totals)
      host.receivedBytes += other.receivedBytes
      host.latency.merge(other.latency)
      host.remoteCaches = (host.remoteCaches + other.remoteCaches).joined(by: \.edge) { count, other in
        count.hits += other.hits
        count.misses += other.misses
        count.unknown += other.unknown
      }
    }.sorted { ($1.totals.urls, $0.host) < ($0.totals.urls, $1.host) }
  }
}

extension FailureGroup {
  /// The largest first, as in the report of one run. A host that only some of the reports name counts elsewhere for the others.
  static func merged(_ groups: [FailureGroup]) -> [FailureGroup] {
    groups.joined(by: \.key) { group, other in
      group.failed += other.failed
      group.blacklisted += other.blacklisted
      group.counting += other.counting
      group.elsewhere += other.elsewhere
      group.hosts = (group.hosts + other.hosts).joined(by: \.host) { $0.count += $1.count }
      group.examples = Array((group.examples + other.examples).prefix(exampleLimit))
    }.map { group in
      var group = group
      let hosts = group.hosts.sorted { ($1.count, $0.host) < ($0.count, $1.host) }
      group.hosts = Array(hosts.prefix(hostLimit))
      group.elsewhere += hosts.dropFirst(hostLimit).reduce(0) { $0 + $1.count }
      return group
    }.sorted { $0.isBefore($1) }
  }
}

extension Placeholder {
  private struct Key: Hashable {
    var host: String
    var checksum: Checksum
  }

  /// The one with most URLs first; `adding` makes one count of two. Runs may have met the same URLs, so that the largest is kept
  /// by default.
  static func merged(_ placeholders: [Placeholder], adding: (UInt64, UInt64) -> UInt64 = max) -> [Placeholder] {
    let joined = placeholders.joined(by: { Key(host: $0.host, checksum: $0.checksum) }) { placeholder, other in
      placeholder.urls = adding(placeholder.urls, other.urls)
    }
    return Array(joined.sorted { ($1.urls, $0.firstURL) < ($0.urls, $1.firstURL) }.prefix(listedLimit))
  }
}
