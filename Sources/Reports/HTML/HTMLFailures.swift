import ImagePrimitives

extension HTMLPage {
  private static let groupLimit = 60
  private static let groupBytes = 250_000

  /// Failed and blacklisted entries by kind: a line each, which opens on hosts and first examples.
  mutating func writeFailures(_ report: FinishedReport) {
    let groups = report.failureGroups
    guard !groups.isEmpty else { return }
    let examples = FailureExamples(report)
    let largest = groups.map(\.count).max() ?? 1
    element("section", ["id": "failures"]) { page in
      page.element("div", ["class": "head"]) { page in
        page.element("h2", "Failures by kind")
        page.writeWorstHost(report)
      }
      if let standings = report.standings.phrase { page.element("p", ["class": "note"], standings) }
      let shown = page.rows(groups, limit: Self.groupLimit, bytes: Self.groupBytes) { page, group in
        page.writeGroup(group, largest: largest, examples)
      }
      let others = groups.dropFirst(shown)
      let count = others.reduce(0) { $0 + $1.count }
      page.omission(UInt64(others.count), "more kind", " with \(counted(count, "URL"))")
    }
  }

  private mutating func writeWorstHost(_ report: FinishedReport) {
    guard let worst = report.worstHost else { return }
    element("p", ["class": "worst"]) { page in
      page.text("worst host ")
      page.element("b", ["class": "host"]) { $0.text(worst.host, limit: 120) }
      page.text(": \(grouped(worst.bad)) bad")
      if let urls = worst.urls { page.text(" of \(grouped(urls)) (\(percent(worst.bad, of: urls)))") }
    }
  }

  private mutating func writeGroup(_ group: FailureGroup, largest: UInt64, _ examples: FailureExamples) {
    element("details", ["class": "kind"]) { page in
      page.element("summary") { page in
        page.element("span", ["class": "title"], group.title)
        page.element("b", grouped(group.count))
        page.element("svg", ["viewBox": "0 0 100 8", "preserveAspectRatio": "none", "aria-hidden": "true"]) { page in
          page.bar(nil, x: 0, y: 0, width: max(Double(group.count) / Double(largest) * 100, 1), height: 8)
        }
        page.element("span", ["class": "hosts"]) { $0.writeHosts(of: group) }
      }
      let shown = page.list("ol", group.examples, limit: 10, bytes: 80_000) { $0.writeExample($1, examples) }
      let more = group.count - min(group.count, UInt64(shown))
      page.omission(more, "more", plural: "more")
    }
  }

  private mutating func writeHosts(of group: FailureGroup) {
    for (index, host) in group.hosts.enumerated() {
      if index > 0 { text(", ") }
      element("bdi") { $0.text(host.host, limit: 120) }
      text(" \(grouped(host.count))")
    }
    if group.elsewhere > 0 { text("\(group.hosts.isEmpty ? "" : ", ")elsewhere \(grouped(group.elsewhere))") }
  }

  private mutating func writeExample(_ record: FailureRecord, _ examples: FailureExamples) {
    if let thumbnail = examples.thumbnail(of: record) { picture(thumbnail, description: "what came instead") }
    element("div") { page in
      page.url(record.url)
      page.element("p", ["class": "facts"]) { page in
        page.element("span", ["class": "place"]) { $0.text(record.location, limit: 200) }
        let attempts = record.attempts > 0 ? [counted(UInt64(record.attempts), "attempt")] : []
        for fact in attempts + record.facts { page.text(" · \(fact.shortened(to: 200))") }
      }
      if let message = record.failure?.message, !message.isEmpty {
        page.element("p", ["class": "message"]) { $0.text(message, limit: 400) }
      }
      if let line = examples.curlLine(of: record) { page.shellLine(line) }
    }
  }
}

extension HTMLPage {
  mutating func writeFailureTable(_ report: FinishedReport) {
    guard !report.failures.isEmpty else { return }
    let examples = FailureExamples(report)
    section("all-failures", "Every failure") { page in
      let titles = ["Kind", "URL", "Place", "What happened", "#Attempts"]
      let shown = page.table("Failures", titles, style: "failures", report.failures, limit: 1000, bytes: 1_100_000) {
        $0.writeRow($1, examples)
      }
      let left = report.totals.bad - min(report.totals.bad, UInt64(shown))
      page.omission(left, "more failure", " not listed here; a report of the form jsonl has every one")
    }
  }

  private mutating func writeRow(_ record: FailureRecord, _ examples: FailureExamples) {
    element("td", ["class": "kind"], FailureGroup.Key(record.failure).title)
    element("td") { page in
      page.url(record.url)
      if let line = examples.curlLine(of: record) {
        page.element("details", ["class": "curl"]) { page in
          page.element("summary", "curl")
          page.shellLine(line)
        }
      }
    }
    element("td", ["class": "place"]) { $0.text(record.location, limit: 200) }
    element("td") { page in
      page.element("span") { $0.text(record.failure?.message ?? "", limit: 400) }
      let facts = record.facts.joined(separator: ", ")
      if !facts.isEmpty { page.element("small") { $0.text(facts, limit: 300) } }
    }
    number(UInt64(record.attempts))
  }
}

/// What a page shows beside a failure: the line that repeats its request, and a picture of what came instead.
struct FailureExamples {
  private let requests: [RequestVariant: CurlCommand]
  private let pictures: [String: Thumbnail]

  init(_ report: FinishedReport) {
    requests = Dictionary(report.requests.map { ($0.variant, $0.curl) }) { first, _ in first }
    let failed = report.thumbnails.filter { $0.reason == .failed && $0.hasPicture }
    pictures = Dictionary(failed.map { ($0.url, $0) }) { first, _ in first }
  }

  /// A shell's line; nil if the request is unknown, there was none, or a page cannot hold the whole URL.
  func curlLine(of record: FailureRecord) -> String? {
    guard let request = requests[record.variant], record.url.utf8.count <= 2048 else { return nil }
    guard request.options.reduce(0, { $0 + $1.utf8.count }) <= 2048 else { return nil }
    return request.line(of: record)
  }

  func thumbnail(of record: FailureRecord) -> Thumbnail? { pictures[record.url] }
}

extension FailureRecord {
  /// What else a person may want to know of it but its attempts, in a few words each.
  var facts: [String] {
    var facts: [String] = []
    if let title = variant.title { facts.append(title) }
    if let failure, failure.isTransient { facts.append("may be temporary") }
    if isBlacklisted { facts.append(outcome == .blacklisted ? "blacklisted, not requested" : "blacklisted now") }
    if let remoteCache { facts.append("remote cache: \(remoteCache.rawValue)") }
    if let phrase = standing.phrase { facts.append(phrase) }
    return facts
  }
}
