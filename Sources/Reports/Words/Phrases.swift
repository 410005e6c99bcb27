import ImagePrimitives

extension FailureStanding {
  var phrase: String? { self == .known ? "known" : nil }

  var sentence: String? { self == .known ? "known: it failed before, too" : nil }
}

extension FailureStandings {
  /// What counts and why the others do not, such as `18 count in the verdict; 2 known: they failed before, too`; nil if all count.
  var phrase: String? {
    guard known > 0 else { return nil }
    return "\(grouped(counting)) \(counting == 1 ? "counts" : "count") in the verdict; "
      + "\(grouped(known)) known: \(known == 1 ? "it" : "they") failed before, too"
  }
}

extension Placeholder {
  /// What its host did: `gave one image for 12 URLs`.
  var findingPhrase: String { "gave one image for \(counted(urls, "URL"))" }

  /// What the image is, such as `png, 1 × 1, 68 B`.
  var imagePhrase: String { Reports.imagePhrase(format: format, width: width, height: height, bytes: bytes) }
}

extension RemoteCacheCount {
  /// Hits among the responses that say what the cache had, `80.0 %`; a dash if none does.
  var hitShare: String { known > 0 ? percent(hits, of: known) : "–" }

  /// `8 of 10 hit, 2 unknown`.
  var phrase: String {
    let counts = known > 0 ? "\(grouped(hits)) of \(grouped(known)) hit" : nil
    let silent = unknown > 0 ? "\(grouped(unknown)) unknown" : nil
    return [counts, silent].compactMap(\.self).joined(separator: ", ")
  }
}

extension FinishedReport {
  /// What the entries of an outcome cost, `71.2 MB, 12 ms median, 310 ms p99`; empty if that is unknown.
  func costs(of outcome: Outcome) -> String {
    guard let traffic = traffic.outcomes[outcome] else { return "" }
    let isTransfer = traffic.receivedBytes > 0 || traffic.latency.count > 0
    let bytes = isTransfer ? byteCount(Double(traffic.receivedBytes)) : nil
    return [bytes, traffic.latency.summary, sharedPhrase(of: outcome)].compactMap(\.self).joined(separator: ", ")
  }

  /// `12 shared a request`, where an outcome counts more entries than requests.
  func sharedPhrase(of outcome: Outcome) -> String? {
    guard let shared = traffic.outcomes[outcome]?.shared, shared > 0 else { return nil }
    return "\(grouped(shared)) shared a request"
  }

  /// `709 URLs/s, 3.6 MB/s`; nil if the run took no time.
  var speedPhrase: String? {
    guard end.duration > .zero else { return nil }
    let urls = "\(rate(urlsPerSecond).dropLast(2)) URLs/s"
    return traffic.receivedBytes > 0 ? "\(urls), \(byteCount(bytesPerSecond))/s" : urls
  }
}

extension Traffic {
  /// `3,042 (60 retries, 45.0 s waiting)`.
  var requestPhrase: String {
    guard retries > 0 else { return grouped(attempts) }
    let waited = elapsed(.nanoseconds(Int64(clamping: waitedNanoseconds)))
    return "\(grouped(attempts)) (\(counted(retries, "retry", plural: "retries")), \(waited) waiting)"
  }
}

extension CacheSummary {
  /// `1.1 GB of 2 GB`, or `1.1 GB` where there is no limit.
  var sizePhrase: String {
    byteCount(Double(bodyBytes)) + (maximumBytes.map { " of \(byteCount(Double($0)))" } ?? "")
  }

  /// What it holds, until when that is fresh, and what was removed.
  var clauses: [String] {
    var clauses = ["\(counted(entries, "image")), \(sizePhrase)"]
    if let moment = freshUntil, entries > 0 { clauses.append("fresh until \(moment.shortText)") }
    if expiredEntries > 0 { clauses.append("\(grouped(expiredEntries)) expired and removed") }
    if trimmedEntries > 0 { clauses.append("\(grouped(trimmedEntries)) trimmed") }
    if evictedFromThisRun > 0 { clauses.append("\(grouped(evictedFromThisRun)) of them from this run") }
    return clauses
  }
}

extension BlacklistSummary {
  /// `102 URLs, 87 new, 3 taken off`.
  var phrase: String {
    let takenOff = removed > 0 ? ", \(grouped(removed)) taken off" : ""
    return "\(counted(entries, "URL")), \(grouped(added)) new\(takenOff)"
  }
}

extension RunEnd {
  /// For how much of the run each part held up all else, `71 % per-host, 20 % cpu`; nil if that is unknown.
  var bottleneckPhrase: String? {
    let words = bottlenecks.compactMap { share in
      let percent = Int((min(1, share.fraction) * 100).rounded())
      return percent > 0 ? "\(percent) % \(share.name)" : nil
    }
    return words.isEmpty ? nil : words.joined(separator: ", ")
  }
}

extension FailureGroup {
  /// The word of its kind that `fail-on` and JSON use, with the status: `http-status 404`, `not-an-image`.
  var title: String { key.title }
}

extension FailureGroup.Key {
  var title: String {
    guard let kind else { return Outcome.blacklisted.name }
    return status.map { "\(kind.name) \($0)" } ?? kind.name
  }
}
