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
  private static let bucketExponents = 0...17

  func write(_ report: FinishedReport, to output: inout OutputBuffer) {
    var page = PrometheusPage(job: report.job)
    let (totals, traffic, end) = (report.totals, report.traffic, report.end)
    page.family("urls", "URLs in the last run, by outcome.")
    for outcome in LoadOutcome.allCases { page.sample("urls", totals[outcome], label: ("outcome", outcome.name)) }
    let failed = Dictionary(
      report.failureGroups.compactMap { group in group.kind.map { ($0, group.failed) } },
      uniquingKeysWith: +
    )
    page.family("failures", "URLs that failed in the last run, by kind, without those blacklisted before.")
    for kind in FailureKind.allCases { page.sample("failures", failed[kind] ?? 0, label: ("kind", kind.name)) }
    page.gauge("new_failures", "Bad URLs in the last run that aren't known from the baseline.", report.standings.counting)
    page.gauge("known_failures", "Bad URLs in the last run that are known from the baseline.", report.standings.known)
    page.gauge("received_bytes", "Body bytes received in the last run.", traffic.receivedBytes)
    page.gauge("cached_bytes", "Body bytes of cache hits in the last run.", traffic.cachedBytes)
    page.gauge("stored_bytes", "Bytes stored in the cache in the last run.", traffic.storedBytes)
    writeHistogram("transfer_duration_seconds", "Duration of transfers in the last run.", traffic.latency, to: &page)
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
    output.append(page.text)
  }

  /// Buckets are cumulative.
  private func writeHistogram(_ name: String, _ help: String, _ latency: LatencyHistogram, to page: inout PrometheusPage) {
    page.family(name, help, type: "histogram")
    for exponent in Self.bucketExponents {
      let bound = Double(1 << exponent)
      let count = latency.buckets.reduce(0) { $1.upperBound <= bound * 1.001 ? $0 + $1.count : $0 }
      page.sample("\(name)_bucket", count, label: ("le", "\(bound / 1000)"))
    }
    page.sample("\(name)_bucket", latency.count, label: ("le", "+Inf"))
    page.sample("\(name)_sum", seconds: Double(latency.sumNanoseconds) / 1e9)
    page.sample("\(name)_count", latency.count)
  }
}

/// Lines of the text format (Prometheus' documentation, "Exposition formats").
private struct PrometheusPage {
  private(set) var text = ""
  private let labels: String

  init(job: JobIdentity) {
    let shard = job.shard.map { ",prewarm_shard=\"\($0.label)\"" } ?? ""
    labels = "prewarm_job=\"\(Self.escaped(job.name))\"\(shard)"
  }

  mutating func family(_ name: String, _ help: String, type: String = "gauge") {
    text += "# HELP prewarm_\(name) \(help)\n# TYPE prewarm_\(name) \(type)\n"
  }

  mutating func gauge(_ name: String, _ help: String, _ value: UInt64) {
    family(name, help)
    sample(name, value)
  }

  mutating func gauge(_ name: String, _ help: String, seconds: Double) {
    family(name, help)
    sample(name, seconds: seconds)
  }

  mutating func sample(_ name: String, _ value: UInt64, label: (name: String, value: String)? = nil) {
    let label = label.map { ",\($0.name)=\"\(Self.escaped($0.value))\"" } ?? ""
    text += "prewarm_\(name){\(labels)\(label)} \(value)\n"
  }

  mutating func sample(_ name: String, seconds: Double) {
    var digits = OutputBuffer(capacity: 64)
    digits.append(seconds, decimals: 6)
    text += "prewarm_\(name){\(labels)} \(digits.text)\n"
  }

  private static func escaped(_ value: String) -> String {
    var output = OutputBuffer(capacity: value.utf8.count + 16)
    output.appendVisible(value) { byte in
      switch byte {
      case UInt8(ascii: "\\"): "\\\\"
      case UInt8(ascii: "\""): "\\\""
      default: nil
      }
    }
    return output.text
  }
}
