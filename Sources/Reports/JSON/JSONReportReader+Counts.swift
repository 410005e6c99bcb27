import ImagePrimitives

/// What the report counts over the whole run.
extension JSONReportReader {
  static func totals(_ json: JSONValue) throws(JSONProblem) -> Totals {
    let totals = try totals(json, hitDisk: try json.count("hit_disk"))
    guard try json.required("urls").count() == totals.urls else { throw json.problem("do not add up to urls") }
    return totals
  }

  /// What manifests and hosts tell of their totals.
  static func partialTotals(_ json: JSONValue) throws(JSONProblem) -> Totals {
    let hits = try json.count("hits")
    let hitMemory = try json.count("hit_memory")
    guard hitMemory <= hits else { throw json.problem("has more hits in memory than hits") }
    var totals = try totals(json, hitDisk: hits - hitMemory)
    let urls = try json.count("urls")
    guard totals.urls <= urls else { throw json.problem("counts more than its urls") }
    // An older version did not tell these apart.
    totals.skipped += urls - totals.urls
    return totals
  }

  /// The counts of all outcomes, that of hits on disk as it is given.
  private static func totals(_ json: JSONValue, hitDisk: UInt64) throws(JSONProblem) -> Totals {
    var totals = Totals()
    totals.hitMemory = try json.count("hit_memory")
    totals.hitDisk = hitDisk
    totals.downloaded = try json.count("downloaded")
    totals.revalidated = try json.count("revalidated")
    totals.checked = try json.count("checked")
    totals.failed = try json.count("failed")
    totals.blacklisted = try json.count("blacklisted")
    totals.skipped = try json.count("skipped")
    totals.cancelled = try json.count("cancelled")
    return totals
  }

  static func traffic(_ json: JSONValue) throws(JSONProblem) -> Traffic {
    var traffic = Traffic()
    if let bytes = try json.value("bytes") {
      traffic.receivedBytes = try bytes.count("downloaded")
      traffic.cachedBytes = try bytes.count("from_cache")
      traffic.originalBytes = try bytes.count("original")
      traffic.storedBytes = try bytes.count("stored")
    }
    if let attempts = try json.value("attempts") {
      traffic.attempts = try attempts.count("total")
      traffic.retries = try attempts.count("retried")
      // Reports tell milliseconds.
      let waitedSeconds = try attempts.value("waited_seconds")?.number() ?? 0
      traffic.waitedNanoseconds = UInt64((min(waitedSeconds, 4e9) * 1000).rounded()) * 1_000_000
      traffic.transientFailures = try attempts.count("transient_failures")
    }
    traffic.latency = try json.value("latency_ms").map(latency) ?? LatencyHistogram()
    return traffic
  }

  static func latency(_ json: JSONValue) throws(JSONProblem) -> LatencyHistogram {
    var buckets: [(upperBound: Double, count: UInt64)] = []
    for bucket in try json.elements("buckets") {
      let pair = try bucket.elements()
      guard pair.count == 2 else { throw bucket.problem("is no pair of an upper bound and a count") }
      buckets.append((try pair[0].number(), try pair[1].count()))
    }
    // The scale has 113 buckets.
    guard buckets.count <= 1000 else { throw json.problem("has more buckets than the scale") }
    guard buckets.reduce(0, { $0 + $1.count }) <= JSONValue.maximumCount else {
      throw json.problem("counts more values than there can be")
    }
    return LatencyHistogram(
      buckets: buckets,
      maximumNanoseconds: try nanoseconds(json, "max"),
      sumNanoseconds: try nanoseconds(json, "sum")
    )
  }

  /// A number of milliseconds, of which reports tell microseconds.
  private static func nanoseconds(_ json: JSONValue, _ key: StaticString) throws(JSONProblem) -> UInt64 {
    UInt64(min((try json.value(key)?.number() ?? 0) * 1000, 4e15).rounded()) * 1000
  }

  static func formats(_ json: JSONValue?) throws(JSONProblem) -> [FormatCount] {
    var formats: [FormatCount] = []
    for (name, count) in try json?.members() ?? [] {
      guard let format = ImageFormat(name: name) else { throw count.problem("is no format that this version knows") }
      formats.append(FormatCount(format: format, count: try count.count()))
    }
    return formats
  }

  static func duplicates(_ json: JSONValue) throws(JSONProblem) -> Duplicates {
    Duplicates(
      bodies: try json.count("bodies"),
      urls: try json.count("urls"),
      isComplete: try json.boolean("complete") ?? true
    )
  }

  static func timeline(_ json: JSONValue) throws(JSONProblem) -> Timeline {
    let (urls, bad, bytes) = (try json.elements("urls"), try json.elements("bad"), try json.elements("bytes"))
    guard urls.count == bad.count, urls.count == bytes.count else { throw json.problem("has lists of different lengths") }
    var steps: [Timeline.Step] = []
    for index in urls.indices {
      steps.append(
        Timeline.Step(urls: try urls[index].count(), bad: try bad[index].count(), receivedBytes: try bytes[index].count())
      )
    }
    return Timeline(step: try json.required("step_seconds").seconds(), steps: steps)
  }
}
