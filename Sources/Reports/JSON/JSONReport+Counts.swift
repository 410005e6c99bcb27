import ImagePrimitives

/// The sections that count.

extension Totals: JSONSection {
  mutating func code<Fields: JSONFields & ~Copyable>(_ json: inout Fields) throws(Fields.Failure) {
    var urls = urls
    try json.field("urls", &urls, isRequired: true)
    try json.field("hit_memory", &hitMemory)
    try json.field("hit_disk", &hitDisk)
    try json.field("downloaded", &downloaded)
    try json.field("revalidated", &revalidated)
    try json.field("checked", &checked)
    try json.field("failed", &failed)
    try json.field("blacklisted", &blacklisted)
    try json.field("skipped", &skipped)
    try json.field("cancelled", &cancelled)
    try json.check(urls == self.urls, "do not add up to urls")
  }

  /// What manifests and hosts tell of their totals: hits on disk are the rest of the hits.
  mutating func codePart<Fields: JSONFields & ~Copyable>(_ json: inout Fields) throws(Fields.Failure) {
    var (urls, hits) = (urls, hits)
    try json.field("urls", &urls)
    try json.field("hits", &hits)
    try json.field("downloaded", &downloaded)
    try json.field("failed", &failed)
    try json.field("blacklisted", &blacklisted)
    try json.field("hit_memory", &hitMemory)
    try json.field("revalidated", &revalidated)
    try json.field("checked", &checked)
    try json.field("skipped", &skipped)
    try json.field("cancelled", &cancelled)
    guard Fields.isReading else { return }
    try json.check(hitMemory <= hits, "has more hits in memory than hits")
    hitDisk = hits - hitMemory
    try json.check(self.urls <= urls, "counts more than its urls")
    try json.check(self.urls == urls, "counts fewer than its urls")
  }
}

struct TrafficBytes: JSONFieldGroup {
  var traffic: Traffic

  mutating func code<Fields: JSONFields & ~Copyable>(_ json: inout Fields) throws(Fields.Failure) {
    try json.field("downloaded", &traffic.receivedBytes)
    try json.field("from_cache", &traffic.cachedBytes)
    try json.field("original", &traffic.originalBytes)
    try json.field("stored", &traffic.storedBytes)
  }
}

struct TrafficAttempts: JSONFieldGroup {
  var traffic: Traffic

  mutating func code<Fields: JSONFields & ~Copyable>(_ json: inout Fields) throws(Fields.Failure) {
    try json.field("total", &traffic.attempts)
    try json.field("retried", &traffic.retries)
    try json.field("waited_seconds", &traffic.waitedNanoseconds) { nanoseconds in
      JSONNumber(Double(nanoseconds) / 1e9, decimals: 3)
    } from: { number in
      UInt64((min(number.value, 4e9) * 1000).rounded()) * 1_000_000
    }
    try json.field("transient_failures", &traffic.transientFailures)
  }
}

/// Some points of a distribution for people, then all that it takes to make it again.
struct LatencyFields: JSONSection {
  enum Owner { case run, host }

  var histogram = LatencyHistogram()
  var owner = Owner.run

  init() {}
  init(_ histogram: LatencyHistogram, of owner: Owner) { (self.histogram, self.owner) = (histogram, owner) }

  mutating func code<Fields: JSONFields & ~Copyable>(_ json: inout Fields) throws(Fields.Failure) {
    if owner == .run { json.derived("count", histogram.count) }
    json.derived("p50", percentile(0.5))
    if owner == .run { json.derived("p90", percentile(0.9)) }
    json.derived("p99", percentile(0.99))
    var maximum: JSONNumber? = histogram.count > 0 ? JSONNumber(histogram.maximumMilliseconds, decimals: 3) : nil
    var sum = JSONNumber(Double(histogram.sumNanoseconds / 1000) / 1000, decimals: 3)
    var buckets = histogram.buckets.map { LatencyBucket(upperBound: $0.upperBound, count: $0.count) }
    try json.field("max", &maximum)
    try json.field("sum", &sum)
    try json.list("buckets", &buckets)
    guard Fields.isReading else { return }
    // The scale has 113 buckets.
    try json.check(buckets.count <= 1000, "has more buckets than the scale")
    try json.check(buckets.reduce(0) { $0 + $1.count } <= JSONValue.maximumCount, "counts more values than there can be")
    histogram = LatencyHistogram(
      buckets: buckets.map { ($0.upperBound, $0.count) },
      maximumNanoseconds: nanoseconds(maximum?.value ?? 0),
      sumNanoseconds: nanoseconds(sum.value)
    )
  }

  private func percentile(_ fraction: Double) -> JSONNumber? {
    histogram.percentile(fraction).map { JSONNumber($0, decimals: 3) }
  }

  private func nanoseconds(_ milliseconds: Double) -> UInt64 { UInt64(min(milliseconds * 1000, 4e15).rounded()) * 1000 }
}

private struct LatencyBucket: JSONCodable {
  var upperBound: Double
  var count: UInt64

  init(upperBound: Double, count: UInt64) { (self.upperBound, self.count) = (upperBound, count) }

  init(json: JSONValue) throws(JSONError) {
    let pair = try json.elements()
    guard pair.count == 2 else { throw json.problem("is no pair of an upper bound and a count") }
    (upperBound, count) = (try pair[0].number(), try pair[1].count())
  }

  func write(to json: inout JSONWriter) {
    json.array([0, 1]) { $1 == 0 ? $0.value(upperBound, decimals: upperBound < 1 ? 4 : 2) : $0.value(count) }
  }
}

extension Duplicates: JSONSection {
  init() { self.init(bodies: 0) }

  mutating func code<Fields: JSONFields & ~Copyable>(_ json: inout Fields) throws(Fields.Failure) {
    try json.field("bodies", &bodies)
    try json.field("urls", &urls)
    try json.field("complete", &isComplete, isOmitted: true, as: { $0 ? nil : $0 }, from: { $0 ?? true })
  }
}

extension Timeline: JSONSection {
  init() { self.init(step: .zero, steps: []) }

  mutating func code<Fields: JSONFields & ~Copyable>(_ json: inout Fields) throws(Fields.Failure) {
    var (urls, bad, bytes) = (steps.map(\.urls), steps.map(\.bad), steps.map(\.receivedBytes))
    try json.field("step_seconds", &step, isRequired: true, as: { JSONNumber(seconds: $0) }, from: \.seconds)
    try json.list("urls", &urls)
    try json.list("bad", &bad)
    try json.list("bytes", &bytes)
    try json.check(urls.count == bad.count && urls.count == bytes.count, "has lists of different lengths")
    steps = urls.indices.map { Step(urls: urls[$0], bad: bad[$0], receivedBytes: bytes[$0]) }
  }
}
