import Base

/// The verdict on a run, the same in every form for people: a word, the reason, and the duration.
struct Headline {
  /// `OK`, `FAILED` or `INTERRUPTED`.
  var word: String
  /// The reason, such as `102 of 10,000 URLs are bad (limit 0)`.
  var detail: String
  /// The duration of the run; nil if ``detail`` has it, or it is unknown.
  var time: String?
  var style: TextPage.Style

  /// `FAILED: 102 of 10,000 URLs are bad (limit 0), 8.1 s`.
  var sentence: String { "\(word): \(detail)" + (time.map { ", \($0)" } ?? "") }
}

extension RunEnd {
  /// Before a number of entries that may be larger, since the lists weren't read to their end.
  var atLeast: String { areManifestsRead ? "" : "at least " }
}

extension FinishedReport {
  /// Whether the run finished without a bad entry.
  var isAllGood: Bool { exitStatus == .withinLimits && totals.bad == 0 && totals.cancelled == 0 && end.areManifestsRead }

  /// The verdict: first the errors of the run as a whole, then the broken rules.
  var headline: Headline {
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
      phrase += ", \(grouped(totals.bad - known)) new and \(grouped(known)) known"
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
    ].filter { $0.0 > 0 }.map { $0.1 }
    return parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))"
  }
}
