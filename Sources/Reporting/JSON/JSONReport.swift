import ImagePrimitives

/// The JSON report, `prewarm.report/1`: its keys in a fixed order, a line for each of them and for each element of the long lists.
///
/// What is not known is null. `hit_ratio` is hits among all entries, 0 where there are none. `failures_by_kind` and
/// `failures_by_status` count what failed in this run, not what was blacklisted before. `bytes` and `attempts` count a shared transfer
/// once. `formats` counts what was fetched and good. Durations and rates are by the monotonic clock.
public struct JSONReport: ReportForm {
  /// A writer.
  public init() {}

  /// Appends the report and a line feed.
  public func write(_ report: FinishedReport, to output: inout OutputBuffer) {
    var json = JSONComposer(output: OutputBuffer(capacity: 65_536))
    json.object(.lines) { json in
      write(runOf: report, &json)
      write(countsOf: report, &json)
      write(cacheOf: report.end, &json)
      write(listsOf: report, &json)
      json.array("warnings", report.warnings) { $0.element($1) }
      json.write("peak_memory_bytes", report.end.peakMemoryBytes)
      json.write("bounded_by", report.end.boundedBy)
    }
    json.output.withUnsafeBytes { output.append($0) }
    output.appendLiteral("\n")
  }

  private func write(runOf report: FinishedReport, _ json: inout JSONComposer) {
    json.write("schema", "prewarm.report/1")
    json.write("prewarm", report.version)
    json.object("job") { json in
      json.write("name", report.job.name)
      json.write("file", report.job.file)
      json.writeNull("shard")
    }
    json.write("started_at", report.startedAt?.iso8601)
    json.write("finished_at", report.end.finishedAt?.iso8601)
    json.write("duration_seconds", report.end.duration.inSeconds, decimals: 3)
    json.write("interrupted", report.end.interruption != nil)
    json.write("manifests_read", report.end.areManifestsRead)
    json.write("exit_status", UInt64(report.exitStatus.rawValue))
  }

  private func write(countsOf report: FinishedReport, _ json: inout JSONComposer) {
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
    json.object("throughput") { json in
      json.write("urls_per_second", report.urlsPerSecond, decimals: 1)
      json.write("bytes_per_second", report.bytesPerSecond, decimals: 1)
    }
    json.object("latency_ms") { json in
      json.write("count", traffic.latency.count)
      for (key, fraction) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] as [(StaticString, Double)] {
        json.write(key, traffic.latency.percentile(fraction), decimals: 3)
      }
      json.write("max", traffic.latency.count > 0 ? traffic.latency.maximumMilliseconds : nil, decimals: 3)
      json.write(bucketsOf: traffic.latency)
    }
    json.object("attempts") { json in
      json.write("total", traffic.attempts)
      json.write("retried", traffic.retries)
      json.write("waited_seconds", Double(traffic.waitedNanoseconds) / 1e9, decimals: 3)
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

  private func write(cacheOf end: RunEnd, _ json: inout JSONComposer) {
    if let cache = end.cache {
      json.object("cache") { json in
        json.write("directory", cache.directory)
        json.write("namespace", cache.namespace)
        json.write("entries", cache.entries)
        json.write("body_bytes", cache.bodyBytes)
        json.write("disk_bytes", cache.diskBytes)
        json.write("max_bytes", cache.maximumBytes)
        json.write("trimmed_entries", cache.trimmedEntries)
        json.write("expired_entries", cache.expiredEntries)
        json.write("evicted_from_this_run", cache.evictedFromThisRun)
        json.write("fresh_until", cache.freshUntil?.iso8601Seconds)
      }
    } else {
      json.writeNull("cache")
    }
    if let blacklist = end.blacklist {
      json.object("blacklist") { json in
        json.write("entries", blacklist.entries)
        json.write("added", blacklist.added)
        json.write("removed", blacklist.removed)
      }
    } else {
      json.writeNull("blacklist")
    }
  }

  private func write(listsOf report: FinishedReport, _ json: inout JSONComposer) {
    json.array("manifests", report.manifests, .lines) { json, manifest in
      json.object { json in
        json.write("path", manifest.path)
        json.write(partOf: manifest.totals)
      }
    }
    json.array("hosts", report.hosts, .lines) { json, host in
      json.object { json in
        json.write("host", host.host)
        json.write(partOf: host.totals)
        json.write("bytes", host.receivedBytes)
        json.object("latency_ms") { json in
          json.write("p50", host.latency.percentile(0.5), decimals: 3)
          json.write("p99", host.latency.percentile(0.99), decimals: 3)
          json.write(bucketsOf: host.latency)
        }
        if !host.remoteCaches.isEmpty { json.object("remote_cache") { $0.write(host.remoteCaches) } }
      }
    }
    json.write("hosts_omitted", report.hostsOmitted)
    json.array("failures", report.failures, .lines) { json, failure in json.object { $0.write(failure) } }
    json.write("failures_omitted", report.failuresOmitted)
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

  /// What manifests and hosts tell of their totals.
  fileprivate mutating func write(partOf totals: Totals) {
    write("urls", totals.urls)
    write("hits", totals.hits)
    write("downloaded", totals.downloaded)
    write("failed", totals.failed)
    write("blacklisted", totals.blacklisted)
  }

  fileprivate mutating func write(bucketsOf latency: LatencyHistogram) {
    array("buckets", latency.buckets) { $0.element(bound: $1.upperBound, count: $1.count) }
  }

  /// By edge where there are edges.
  fileprivate mutating func write(_ counts: [RemoteCacheCount]) {
    for count in counts {
      if let edge = count.edge { object(key: edge) { $0.write(count) } } else { write(count) }
    }
  }

  private mutating func write(_ count: RemoteCacheCount) {
    write("hit", count.hits)
    write("miss", count.misses)
    if count.unknown > 0 { write("unknown", count.unknown) }
  }

  fileprivate mutating func write(_ record: FailureRecord) {
    write("url", record.url)
    write("manifest", record.manifest)
    write("line", record.line > 0 ? record.line : nil)
    write("priority", record.priority.name)
    if let variant = record.variant.name { write("variant", variant) }
    if let edge = record.variant.edge { write("edge", edge) }
    write("outcome", record.outcome.name)
    write("kind", record.failure?.kind.name)
    write("status", record.failure?.status.map { UInt64(clamping: $0) })
    write("transient", record.failure?.isTransient ?? false)
    write("attempts", UInt64(record.attempts))
    if let status = record.remoteCache { write("remote_cache", status.rawValue) }
    write("blacklisted", record.isBlacklisted)
    write("message", record.failure?.message)
  }
}
