import ImagePrimitives

/// The lists of the JSON report.
extension JSONReport {
  func write(listsOf report: FinishedReport, _ json: inout JSONComposer) {
    json.array("manifests", report.manifests, .lines) { json, manifest in
      json.object { json in
        json.write("path", manifest.path)
        if let file = manifest.file { json.write("file", file) }
        json.write(partOf: manifest.totals)
      }
    }
    json.array("hosts", report.hosts, .lines) { json, host in
      json.object { json in
        json.write("host", host.host)
        json.write(partOf: host.totals)
        json.write("bytes", host.receivedBytes)
        json.object("latency_ms") { json in
          json.write(pointsOf: host.latency, [("p50", 0.5), ("p99", 0.99)])
        }
        if !host.remoteCaches.isEmpty { json.object("remote_cache") { $0.write(host.remoteCaches) } }
      }
    }
    json.write("hosts_omitted", report.hostsOmitted)
    json.array("failure_groups", report.failureGroups, .lines) { json, group in json.object { $0.write(group) } }
    json.array("failures", report.failures, .lines) { json, failure in json.object { $0.write(failure) } }
    json.write("failures_omitted", report.failuresOmitted)
    json.array("placeholders", report.placeholders, .lines) { json, placeholder in json.object { $0.write(placeholder) } }
    json.array("requests", report.requests, .lines) { json, request in
      json.object { json in
        json.write("variant", request.variant.name)
        json.write("edge", request.variant.edge)
        json.array("curl", ["curl"] + request.curl.options) { $0.element($1) }
      }
    }
  }
}

extension JSONComposer {
  /// What manifests and hosts tell of their totals.
  fileprivate mutating func write(partOf totals: Totals) {
    write("urls", totals.urls)
    write("hits", totals.hits)
    write("downloaded", totals.downloaded)
    write("failed", totals.failed)
    write("blacklisted", totals.blacklisted)
    // The others, so that all add up to `urls`; hits on disk are the rest of the hits.
    write("hit_memory", totals.hitMemory)
    write("revalidated", totals.revalidated)
    write("checked", totals.checked)
    write("skipped", totals.skipped)
    write("cancelled", totals.cancelled)
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
    if record.standing != .counts { write("standing", record.standing.name) }
    write("message", record.failure?.message)
  }

  fileprivate mutating func write(_ group: FailureGroup) {
    write("kind", group.kind?.name)
    write("status", group.status.map { UInt64(clamping: $0) })
    write("failed", group.failed)
    write("blacklisted", group.blacklisted)
    write("counting", group.counting)
    array("hosts", group.hosts) { json, host in
      json.object { json in
        json.write("host", host.host)
        json.write("count", host.count)
      }
    }
    write("elsewhere", group.elsewhere)
    array("examples", group.examples) { json, example in json.object { $0.write(example) } }
  }

  fileprivate mutating func write(_ placeholder: Placeholder) {
    write("host", placeholder.host)
    write("body_hash", placeholder.checksum.hexadecimal)
    write("urls", placeholder.urls)
    write("first_url", placeholder.firstURL)
    write("format", placeholder.format?.name)
    write("width", UInt64(placeholder.width))
    write("height", UInt64(placeholder.height))
    write("bytes", placeholder.bytes)
  }
}
