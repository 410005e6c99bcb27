import Base

/// The verdict on a run, the same in every form for people: a word, the reason, and the duration.
package struct Headline {
  /// `OK`, `FAILED` or `INTERRUPTED`.
  var word: String
  /// The reason, such as `102 of 10,000 URLs are bad (limit 0)`.
  var detail: String
  /// The duration of the run; nil if ``detail`` has it, or it is unknown.
  var time: String?
  var style: TextPage.Style

  /// `FAILED: 102 of 10,000 URLs are bad (limit 0), 8.1 s`.
  package var sentence: String { "\(word): \(detail)" + (time.map { ", \($0)" } ?? "") }
}

extension RunEnd {
  /// Before a number of entries that may be larger, since the lists weren't read to their end.
  var atLeast: String { areManifestsRead ? "" : "at least " }
}

extension FinishedReport {
  /// Whether the run finished without a bad entry.
  var isAllGood: Bool { exitStatus == .withinLimits && totals.bad == 0 && totals.cancelled == 0 && end.areManifestsRead }

  /// The verdict: first the errors of the run as a whole, then the broken rules.
  package var headline: Headline {
    let time = end.duration > .zero ? elapsed(end.duration) : nil
    func headline(_ word: String, _ parts: [String?], _ style: TextPage.Style) -> Headline {
      Headline(word: word, detail: parts.compactMap(\.self).joined(separator: "; "), time: time, style: style)
    }
    let bad = totals.bad > 0 ? badPhrase() : nil
    if let interruption = end.interruption {
      let known = counted(totals.urls + end.outstanding, "URL")
      return headline(
        "INTERRUPTED",
        ["\(grouped(totals.done)) of \(end.atLeast)\(known) done (\(interruption.signalName))", bad],
        .failure
      )
    }
    let unfinished = totals.cancelled > 0 ? "\(end.atLeast)\(counted(totals.cancelled, "URL")) not finished" : nil
    if let breakage = end.breakage {
      let rest = bad == nil && unfinished == nil ? counted(totals.urls, "URL") : nil
      return headline("FAILED", [escapedForTerminal(groupingDigits(in: breakage)), bad, unfinished, rest], .failure)
    }
    if !verdict.reasons.isEmpty {
      // The reasons of a report from a file are text from outside.
      let reasons = verdict.reasons.map { escapedForTerminal($0) }
      // The reasons of these rules include the bad entries.
      let isKnown = standings.counting == 0 && failOn.reason(.known, in: self) != nil
      let isSaid = bad == nil || isKnown || failOn.reason(.failures, in: self) != nil
      return headline("FAILED", reasons + [isSaid ? nil : bad], .failure)
    }
    if isAllGood {
      let duration = time.map { " in \($0)" } ?? ""
      return Headline(word: "OK", detail: counted(totals.urls, "URL") + duration + goodParts, time: nil, style: .plain)
    }
    let counting = standings.counting
    let margin = counting > 0 ? failOn.failures.margin(of: counting, in: totals.considered) : nil
    let parts = [end.isPastDeadline ? "the deadline passed" : nil, unfinished, totals.bad > 0 ? badPhrase(margin) : nil]
    return headline("OK", parts, .warning)
  }

  /// `30 of 10,000 URLs are bad, 5 new and 25 known (limit 0), 40 skipped`; the 10,000 are those to which percentages refer.
  func badPhrase(_ limit: String? = nil) -> String {
    var phrase = "\(grouped(totals.bad)) of \(counted(totals.considered, "URL")) \(totals.bad == 1 ? "is" : "are") bad"
    let known = standings.known
    if known > 0, known == totals.bad {
      phrase += known == 1 ? ", known" : ", all of them known"
    } else if known > 0 {
      phrase += ", \(grouped(standings.counting)) new and \(grouped(known)) known"
    }
    for (count, standing) in [(standings.inGrace, FailureStanding.inGrace), (standings.warned, .warned)] where count > 0 {
      phrase += ", \(grouped(count)) \(standing.phrase ?? "")"
    }
    if let limit { phrase += " (\(limit))" }
    if totals.skipped > 0 { phrase += ", \(grouped(totals.skipped)) skipped" }
    return repeats.urls > 0 ? "\(phrase), \(grouped(repeats.urls)) repeated" : phrase
  }

  /// ` (7,000 hits, 3,000 downloaded)`.
  private var goodParts: String {
    let parts = [
      (totals.hits, counted(totals.hits, "hit")),
      (totals.downloaded, "\(grouped(totals.downloaded)) downloaded"),
      (totals.revalidated, "\(grouped(totals.revalidated)) revalidated"),
      (totals.checked, "\(grouped(totals.checked)) checked"),
      (totals.skipped, "\(grouped(totals.skipped)) skipped"), (repeats.urls, "\(grouped(repeats.urls)) repeated"),
      (traffic.recovered, "\(grouped(traffic.recovered)) recovered"),
    ].filter { $0.0 > 0 }.map { $0.1 }
    return parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))"
  }
}

extension FailureStanding {
  var phrase: String? {
    switch self {
    case .counts: nil
    case .known: "known"
    case .inGrace: "in grace"
    case .warned: "warned"
    }
  }

  var sentence: String? {
    switch self {
    case .counts: nil
    case .known: "known: also failed in the baseline"
    case .inGrace: "in grace: may be temporary, and was good in the last run"
    case .warned: "warned: failures of its host don't count"
    }
  }
}

extension FinishedReport {
  /// How the failures differ from those of the baseline: `1 new, 3 known, 2 fixed since known.jsonl; 1 not seen`; nil if there is none.
  /// The path isn't escaped.
  package var differencePhrase: String? {
    guard let baseline else { return nil }
    let counts = "\(grouped(standings.counting)) new, \(grouped(standings.known)) known, \(grouped(baseline.fixed)) fixed"
    return "\(counts) since \(baseline.path)" + (baseline.unseen > 0 ? "; \(grouped(baseline.unseen)) not seen" : "")
  }
}

extension BaselineDifference {
  /// The first fixed entries, 10 by default, and the number of all others.
  func fixedEntries(atMost limit: Int = 10) -> (shown: ArraySlice<ListedEntry>, more: UInt64) {
    let shown = fixedEntries.prefix(limit)
    return (shown, fixed - min(fixed, UInt64(shown.count)))
  }
}

extension Placeholder {
  /// The host's behaviour: `returned one image for 12 URLs`.
  var findingPhrase: String { "returned one image for \(counted(urls, "URL"))" }

  /// The properties of the image, such as `png, 1 × 1, 68 B`.
  var imagePhrase: String { Reports.imagePhrase(format: format, width: width, height: height, bytes: bytes) }
}

extension RemoteCacheCount {
  /// The share of hits among the responses with a cache status, `80.0 %`; a dash if there are none.
  var hitShare: String { known > 0 ? percent(hits, of: known) : "–" }

  /// `8 of 10 hit, 2 unknown`.
  var phrase: String {
    let counts = known > 0 ? "\(grouped(hits)) of \(grouped(known)) hit" : nil
    let silent = unknown > 0 ? "\(grouped(unknown)) unknown" : nil
    return [counts, silent].compactMap(\.self).joined(separator: ", ")
  }
}

extension FinishedReport {
  /// The traffic of an outcome, `71.2 MB, 12 ms median, 310 ms p99`; empty if unknown.
  func costs(of outcome: LoadOutcome) -> String {
    guard let traffic = traffic.outcomes[outcome] else { return "" }
    let isTransfer = traffic.receivedBytes > 0 || traffic.latency.count > 0
    let bytes = isTransfer ? byteCount(Double(traffic.receivedBytes)) : nil
    return [bytes, traffic.latency.summary, sharedPhrase(of: outcome)].compactMap(\.self).joined(separator: ", ")
  }

  /// `12 shared a request`; nil if each entry of the outcome had its own.
  func sharedPhrase(of outcome: LoadOutcome) -> String? {
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
  /// `3,042 (60 retries, 45.0 s waiting, 3 URLs recovered)`.
  var requestPhrase: String {
    guard retries > 0 || recovered > 0 else { return grouped(attempts) }
    let waited = elapsed(.nanoseconds(Int64(clamping: waitedNanoseconds)))
    let phrases = [
      retries > 0 ? "\(counted(retries, "retry", plural: "retries")), \(waited) waiting" : nil,
      recovered > 0 ? "\(counted(recovered, "URL")) recovered" : nil,
    ]
    return "\(grouped(attempts)) (\(phrases.compactMap(\.self).joined(separator: ", ")))"
  }
}

extension CacheSummary {
  /// `1.1 GB of 2 GB`, or `1.1 GB` without a limit.
  var sizePhrase: String { byteCount(Double(bodyBytes)) + (maximumBytes.map { " of \(byteCount(Double($0)))" } ?? "") }

  /// Its content and freshness, and the removed entries.
  var clauses: [String] {
    var clauses = ["\(counted(entries, "image")), \(sizePhrase)"]
    if let moment = freshUntil, entries > 0 { clauses.append("first expires \(moment.shortText)") }
    if expiredEntries > 0 { clauses.append("\(grouped(expiredEntries)) expired and removed") }
    if trimmedEntries > 0 { clauses.append("\(grouped(trimmedEntries)) trimmed") }
    if evictedFromThisRun > 0 { clauses.append("\(grouped(evictedFromThisRun)) of them from this run") }
    return clauses
  }
}

extension BlacklistSummary {
  /// `102 URLs, 87 from this run, 3 removed`.
  var phrase: String {
    let removal = removed > 0 ? ", \(grouped(removed)) removed" : ""
    return "\(counted(entries, "URL")), \(grouped(added)) from this run\(removal)"
  }
}

extension RunEnd {
  /// The shares of the parts that were the bottleneck, `71 % per-host, 20 % cpu`; nil if unknown.
  var bottleneckPhrase: String? {
    let words = bottlenecks.compactMap { share in
      let percent = Int((min(1, share.fraction) * 100).rounded())
      return percent > 0 ? "\(percent) % \(share.name)" : nil
    }
    return words.isEmpty ? nil : words.joined(separator: ", ")
  }

  /// `55 MB, besides 120 MB of mapped files (reclaimable)`; nil if unknown.
  var memoryPhrase: String? {
    guard let own = peakMemoryBytes else { return nil }
    return byteCount(Double(own))
      + (mappedMemoryBytes.map { ", besides \(byteCount(Double($0))) of mapped files (reclaimable)" } ?? "")
  }
}

extension FailureGroup {
  /// The name of its kind as in `fail-on` and JSON, with the status: `http-status 404`, `not-an-image`.
  var title: String { key.title }
}

extension FailureGroup.Key {
  var title: String {
    guard let kind else { return LoadOutcome.blacklisted.name }
    return status.map { "\(kind.name) \($0)" } ?? kind.name
  }
}
