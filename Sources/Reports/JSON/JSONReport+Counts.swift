import ImagePrimitives

/// What the JSON report counts over the whole run.
extension JSONReport {
  func write(countsOf report: FinishedReport, _ json: inout JSONComposer) {
    let traffic = report.traffic
    json.object("totals") { $0.write(report.totals) }
    json.write("hit_ratio", report.totals.hitRatio, decimals: 4)
    write(failureCountsOf: report, &json)
    json.object("bytes") { json in
      json.write("downloaded", traffic.receivedBytes)
      json.write("from_cache", traffic.cachedBytes)
      json.write("original", traffic.originalBytes)
      json.write("stored", traffic.storedBytes)
    }
    write(duplicates: report.duplicates, &json)
    json.object("throughput") { json in
      json.write("urls_per_second", report.urlsPerSecond, decimals: 1)
      json.write("bytes_per_second", report.bytesPerSecond, decimals: 1)
    }
    json.object("latency_ms") { json in
      json.write("count", traffic.latency.count)
      json.write(pointsOf: traffic.latency, [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)])
    }
    json.object("attempts") { json in
      json.write("total", traffic.attempts)
      json.write("retried", traffic.retries)
      json.write("waited_seconds", Double(traffic.waitedNanoseconds) / 1e9, decimals: 3)
      json.write("transient_failures", traffic.transientFailures)
    }
    json.object("formats") { json in
      for format in report.formats { json.write(key: format.format.name, format.count) }
    }
  }

  private func write(failureCountsOf report: FinishedReport, _ json: inout JSONComposer) {
    var kinds: [String: UInt64] = [:]
    var statuses: [Int: UInt64] = [:]
    for group in report.failureGroups where group.failed > 0 {
      if let kind = group.kind { kinds[kind.name, default: 0] += group.failed }
      if let status = group.status { statuses[status, default: 0] += group.failed }
    }
    json.object("failures_by_kind") { json in
      for (kind, count) in kinds.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) { json.write(key: kind, count) }
    }
    json.object("failures_by_status") { json in
      for (status, count) in statuses.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
        json.write(key: String(status), count)
      }
    }
  }

  private func write(duplicates: Duplicates?, _ json: inout JSONComposer) {
    guard let duplicates else { return json.writeNull("duplicates") }
    json.object("duplicates") { json in
      json.write("bodies", duplicates.bodies)
      json.write("urls", duplicates.urls)
      if !duplicates.isComplete { json.write("complete", false) }
    }
  }

  func write(timeline: Timeline?, _ json: inout JSONComposer) {
    guard let timeline else { return json.writeNull("timeline") }
    json.object("timeline") { json in
      json.write("step_seconds", timeline.step.inSeconds, decimals: 9)
      json.array("urls", timeline.steps) { $0.element($1.urls) }
      json.array("bad", timeline.steps) { $0.element($1.bad) }
      json.array("bytes", timeline.steps) { $0.element($1.receivedBytes) }
    }
  }
}

extension JSONComposer {
  fileprivate mutating func write(_ totals: Totals) {
    write("urls", totals.urls)
    write("hit_memory", totals.hitMemory)
    write("hit_disk", totals.hitDisk)
    write("downloaded", totals.downloaded)
    write("revalidated", totals.revalidated)
    write("checked", totals.checked)
    write("failed", totals.failed)
    write("blacklisted", totals.blacklisted)
    write("skipped", totals.skipped)
    write("cancelled", totals.cancelled)
  }

  /// Some points of a distribution, then all that it takes to make it again.
  mutating func write(pointsOf latency: LatencyHistogram, _ points: [(key: StaticString, fraction: Double)]) {
    for (key, fraction) in points { write(key, latency.percentile(fraction), decimals: 3) }
    write("max", latency.count > 0 ? latency.maximumMilliseconds : nil, decimals: 3)
    write("sum", Double(latency.sumNanoseconds / 1000) / 1000, decimals: 3)
    array("buckets", latency.buckets) { $0.element(bound: $1.upperBound, count: $1.count) }
  }
}
