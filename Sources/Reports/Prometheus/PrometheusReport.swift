import Base

/// The metrics of a run in Prometheus' text format, for the textfile collector of the node exporter.
///
/// All are gauges of the last run, except the histogram, whose buckets never change. A job has the same series after every run, zeros
/// included, unless its file changes: the metrics of the cache and the blacklist exist if the job uses them. No sample has a timestamp,
/// since the collector rejects them; `prewarm_completion_timestamp_seconds` has the time. Give each job its own file with the extension
/// `.prom`; an incomplete file never has that extension. Series of a shard have its number as a label (`prewarm_shard`).
struct PrometheusReport: ReportForm {
  /// Upper bounds of the histogram in powers of two of a millisecond, from 1 ms to 131 s: bounds of ``LatencyHistogram``, so that its
  /// counts are exact.
  static let bucketExponents = 0...17

  func write(_ report: FinishedReport, to output: inout OutputBuffer) {
    var page = PrometheusPage(job: report.job)
    let (totals, traffic, end) = (report.totals, report.traffic, report.end)
    page.family("urls", "URLs in the last run, by outcome.") { page in
      for outcome in LoadOutcome.allCases { page.sample("urls", totals[outcome], label: ("outcome", outcome.name)) }
    }
    let failed = Dictionary(
      report.failureGroups.compactMap { group in group.kind.map { ($0, group.failed) } },
      uniquingKeysWith: +
    )
    page.family("failures", "URLs that failed in the last run, by kind, without those blacklisted before.") {
      page in
      for kind in FailureKind.allCases { page.sample("failures", failed[kind] ?? 0, label: ("kind", kind.name)) }
    }
    page.gauge("new_failures", "Bad URLs in the last run that aren't known from the baseline.", report.standings.counting)
    page.gauge("known_failures", "Bad URLs in the last run that are known from the baseline.", report.standings.known)
    page.gauge("received_bytes", "Body bytes received in the last run.", traffic.receivedBytes)
    page.gauge("cached_bytes", "Body bytes of cache hits in the last run.", traffic.cachedBytes)
    page.gauge("stored_bytes", "Bytes stored in the cache in the last run.", traffic.storedBytes)
    page.histogram("transfer_duration_seconds", "Duration of transfers in the last run.", traffic.latency)
    page.gauge("attempts", "Requests for images in the last run, including retries.", traffic.attempts)
    page.gauge("retries", "Retries in the last run.", traffic.retries)
    if let cache = end.cache {
      page.gauge("cache_entries", "Images in the cache.", cache.entries)
      page.gauge("cache_bytes", "Body bytes in the cache.", cache.bodyBytes)
      page.gauge("cache_disk_bytes", "Disk space of the cache in bytes.", cache.diskBytes)
    }
    if let blacklist = end.blacklist { page.gauge("blacklist_entries", "URLs on the blacklist.", blacklist.entries) }
    page.gauge("run_duration_seconds", "Duration of the last run.", seconds: end.duration.inSeconds)
    if let moment = end.finishedAt {
      let seconds = Double(moment.milliseconds) / 1000
      page.gauge("completion_timestamp_seconds", "Time at which the last run ended, in seconds since 1970.", seconds: seconds)
    }
    page.gauge("exit_status", "Exit status of the last run; 0 is success.", UInt64(report.exitStatus.rawValue))
    page.output.withUnsafeBytes { output.append($0) }
  }
}

/// Lines of the text format (Prometheus' documentation, "Exposition formats").
private struct PrometheusPage: ~Copyable {
  private(set) var output = OutputBuffer(capacity: 16_384)
  private let job: JobIdentity

  init(job: JobIdentity) { self.job = job }

  mutating func family(_ name: StaticString, _ help: StaticString, type: StaticString = "gauge", _ body: (inout Self) -> Void) {
    for (keyword, text) in [("HELP", help), ("TYPE", type)] as [(StaticString, StaticString)] {
      output.appendLiteral("# ")
      output.appendLiteral(keyword)
      output.appendLiteral(" prewarm_")
      output.appendLiteral(name)
      output.appendLiteral(" ")
      output.appendLiteral(text)
      output.appendLiteral("\n")
    }
    body(&self)
  }

  mutating func gauge(_ name: StaticString, _ help: StaticString, _ value: UInt64) {
    family(name, help) { $0.sample(name, value) }
  }

  mutating func gauge(_ name: StaticString, _ help: StaticString, seconds: Double) {
    family(name, help) { $0.sample(name, seconds: seconds) }
  }

  /// Buckets are cumulative.
  mutating func histogram(_ name: StaticString, _ help: StaticString, _ latency: LatencyHistogram) {
    family(name, help, type: "histogram") { page in
      for exponent in PrometheusReport.bucketExponents {
        let bound = Double(1 << exponent)
        let count = latency.buckets.reduce(0) { $1.upperBound <= bound * 1.001 ? $0 + $1.count : $0 }
        page.sample(name, suffix: "_bucket", count, label: ("le", "\(bound / 1000)"))
      }
      page.sample(name, suffix: "_bucket", latency.count, label: ("le", "+Inf"))
      page.sample(name, suffix: "_sum", seconds: Double(latency.sumNanoseconds) / 1e9)
      page.sample(name, suffix: "_count", latency.count)
    }
  }

  mutating func sample(
    _ name: StaticString,
    suffix: StaticString = "",
    _ value: UInt64,
    label: (StaticString, String)? = nil
  ) {
    start(name, suffix, label: label)
    output.append(decimal: value)
    output.appendLiteral("\n")
  }

  mutating func sample(_ name: StaticString, suffix: StaticString = "", seconds: Double) {
    start(name, suffix, label: nil)
    output.append(seconds, decimals: 6)
    output.appendLiteral("\n")
  }

  private mutating func start(_ name: StaticString, _ suffix: StaticString, label: (StaticString, String)?) {
    output.appendLiteral("prewarm_")
    output.appendLiteral(name)
    output.appendLiteral(suffix)
    output.appendLiteral("{prewarm_job=\"")
    appendLabelValue(job.name)
    if let shard = job.shard { output.append("\",prewarm_shard=\"\(shard.index)/\(shard.count)") }
    if let (label, value) = label {
      output.appendLiteral("\",")
      output.appendLiteral(label)
      output.appendLiteral("=\"")
      appendLabelValue(value)
    }
    output.appendLiteral("\"} ")
  }

  private mutating func appendLabelValue(_ value: String) {
    output.appendVisible(value) { byte in
      switch byte {
      case UInt8(ascii: "\\"): "\\\\"
      case UInt8(ascii: "\""): "\\\""
      default: nil
      }
    }
  }
}
