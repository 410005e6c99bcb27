import ImagePrimitives

extension FinishedReport {
  /// Whether the run went to its end and nothing in it was bad or left out.
  var isAllGood: Bool { exitStatus == .withinLimits && totals.bad == 0 && totals.cancelled == 0 && end.areManifestsRead }

  /// The verdict in one sentence: what went wrong with the run as a whole first, then how much was done, then why it ends as it does.
  var headline: (text: String, style: TextPage.Style) {
    let name = escapedForTerminal(job.title)
    let duration = end.duration > .zero ? elapsed(end.duration) : "an unknown time"
    let urls = counted(totals.urls, "URL")
    if let interruption = end.interruption {
      let done = totals.urls - totals.cancelled
      let known = counted(totals.urls + end.outstanding, "URL")
      let bad = totals.bad > 0 ? ", \(badPhrase)" : ""
      let progress = "\(grouped(done)) of \(known) done in \(duration)\(bad)"
      return ("\(name): interrupted by \(interruption.signalName): \(progress), so exit status \(exitStatus.rawValue)", .failure)
    }
    if let breakage = end.breakage {
      let bad = totals.bad > 0 ? ", \(badPhrase)" : ""
      let sentence = escapedForTerminal(breakage)
      return ("\(name): \(sentence); \(urls) in \(duration)\(bad), so exit status \(exitStatus.rawValue)", .failure)
    }
    if !verdict.reasons.isEmpty {
      // Of a report that was read, they are in the words of others.
      let reasons = verdict.reasons.map { escapedForTerminal($0) }.joined(separator: "; ")
      let isUnfinished = end.isPastDeadline && failOn.unfinished
      // What is bad is part of its own reason.
      let bad = totals.bad > 0 && failOn.reason(.failures, in: self) == nil ? ", \(badPhrase)" : ""
      let done = "\(urls) in \(duration)\(bad)"
      let sentence = isUnfinished ? "\(reasons); \(done)" : "\(done)\(bad.isEmpty ? "," : ";") \(reasons)"
      return ("\(name): \(sentence), so exit status \(exitStatus.rawValue)", .failure)
    }
    if isAllGood { return ("\(name): \(urls) in \(duration), all good\(goodParts)", .plain) }
    let unfinished = totals.cancelled > 0 ? ", \(grouped(totals.cancelled)) not finished" : ""
    let allowed = standings.counting > 0 ? ", which \(words.key(.failures)) allows" : ""
    let bad = totals.bad > 0 ? ", \(badPhrase)\(allowed)" : ""
    let deadline = end.isPastDeadline ? "the deadline passed; " : ""
    return ("\(name): \(deadline)\(urls) in \(duration)\(unfinished)\(bad)", .warning)
  }

  /// `30 bad, 25 of them known`.
  var badPhrase: String {
    let bad = "\(grouped(totals.bad)) bad"
    let known = standings.known
    guard known > 0 else { return bad }
    if known == totals.bad { return known == 1 ? "\(bad), known" : "\(bad), all of them known" }
    return "\(bad), \(grouped(known)) of them known"
  }

  /// ` (7,000 hits, 3,000 downloaded)`.
  private var goodParts: String {
    let parts = [
      (totals.hits, counted(totals.hits, "hit")),
      (totals.downloaded, "\(grouped(totals.downloaded)) downloaded"),
      (totals.revalidated, "\(grouped(totals.revalidated)) revalidated"),
      (totals.checked, "\(grouped(totals.checked)) checked"),
      (totals.skipped, "\(grouped(totals.skipped)) skipped"),
    ].filter { $0.0 > 0 }.map { $0.1 }
    return parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))"
  }
}
