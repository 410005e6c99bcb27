import ImagePrimitives

/// The lists of the report.
extension JSONReportReader {
  static func manifest(_ json: JSONValue) throws(JSONProblem) -> ManifestSummary {
    var manifest = ManifestSummary(path: try json.required("path").string(), file: try json.string("file"))
    manifest.totals = try partialTotals(json)
    return manifest
  }

  static func host(_ json: JSONValue) throws(JSONProblem) -> HostSummary {
    var host = HostSummary(host: try json.required("host").string())
    host.totals = try partialTotals(json)
    host.receivedBytes = try json.count("bytes")
    host.latency = try json.value("latency_ms").map(latency) ?? LatencyHistogram()
    host.remoteCaches = try json.value("remote_cache").map(remoteCaches) ?? []
    return host
  }

  /// One count, or one an edge.
  private static func remoteCaches(_ json: JSONValue) throws(JSONProblem) -> [RemoteCacheCount] {
    let members = try json.members()
    var counts = members.contains { !$0.value.isObject } ? [try remoteCache(json, edge: nil)] : []
    for (edge, value) in members where value.isObject { counts.append(try remoteCache(value, edge: edge)) }
    return counts
  }

  private static func remoteCache(_ json: JSONValue, edge: String?) throws(JSONProblem) -> RemoteCacheCount {
    var count = RemoteCacheCount(edge: edge)
    // An edge may have such a name itself.
    func number(_ key: StaticString) throws(JSONProblem) -> UInt64 {
      guard let value = try json.value(key), !value.isObject else { return 0 }
      return try value.count()
    }
    count.hits = try number("hit")
    count.misses = try number("miss")
    count.unknown = try number("unknown")
    return count
  }

  static func failure(_ json: JSONValue) throws(JSONProblem) -> FailureRecord {
    guard let outcome = try json.named("outcome", { $0 == "failed" ? Outcome.failed : $0 == "blacklisted" ? .blacklisted : nil })
    else { throw json.problem("lacks outcome") }
    var record = FailureRecord(
      url: try json.required("url").string(),
      manifest: try json.string("manifest") ?? "",
      line: try json.count("line"),
      priority: try json.named("priority") { Priority(name: $0) } ?? .normal,
      outcome: outcome,
      failure: nil
    )
    if let kind = try json.named("kind", { FailureKind(name: $0) }) {
      record.failure = Failure(
        kind,
        status: try json.status(),
        isTransient: try json.boolean("transient") ?? false,
        message: try json.string("message") ?? ""
      )
    }
    record.variant = ReportedVariant(name: try json.string("variant"), edge: try json.string("edge"))
    record.attempts = UInt32(clamping: try json.count("attempts"))
    record.remoteCache = try json.named("remote_cache") { RemoteCacheStatus(rawValue: $0) }
    record.isBlacklisted = try json.boolean("blacklisted") ?? false
    record.standing = try json.named("standing") { FailureStanding(name: $0) } ?? .counts
    return record
  }

  static func failureGroup(_ json: JSONValue) throws(JSONProblem) -> FailureGroup {
    var group = FailureGroup(kind: try json.named("kind") { FailureKind(name: $0) }, status: try json.status())
    group.failed = try json.count("failed")
    group.blacklisted = try json.count("blacklisted")
    group.counting = try json.count("counting")
    group.hosts = try read(json, "hosts") { json throws(JSONProblem) in
      HostCount(host: try json.required("host").string(), count: try json.count("count"))
    }
    group.elsewhere = try json.count("elsewhere")
    group.examples = try read(json, "examples", failure)
    return group
  }

  static func placeholder(_ json: JSONValue) throws(JSONProblem) -> Placeholder {
    let hash = try json.required("body_hash")
    guard let checksum = Checksum(hexadecimal: try hash.bytes()) else { throw hash.problem("is no hash of 32 digits") }
    return Placeholder(
      host: try json.required("host").string(),
      checksum: checksum,
      urls: try json.count("urls"),
      firstURL: try json.string("first_url") ?? "",
      format: try json.named("format") { ImageFormat(name: $0) },
      width: UInt32(clamping: try json.count("width")),
      height: UInt32(clamping: try json.count("height")),
      bytes: try json.count("bytes")
    )
  }

  /// Those that people may repeat without a thought; of others reports have no lines.
  static func requests(_ json: JSONValue) throws(JSONProblem) -> [ReportedRequest] {
    try read(json, "requests") { json throws(JSONProblem) in
      ReportedRequest(
        variant: ReportedVariant(name: try json.string("variant"), edge: try json.string("edge")),
        curl: CurlCommand(options: Array(try strings(json.required("curl").elements()).dropFirst()))
      )
    }.filter { $0.curl.hasOurOptionsOnly }
  }

}
