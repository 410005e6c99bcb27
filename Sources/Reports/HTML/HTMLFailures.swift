import ImagePrimitives

extension HTMLPage {
  private static let groupLimit = 60
  /// Up to this many failures are visible without opening a group.
  private static let openLimit: UInt64 = 25

  /// Failed and blacklisted entries, each once, by kind: a line per kind that opens on its entries.
  mutating func writeFailures(_ report: FinishedReport) {
    let groups = report.failureGroups.prefix(Self.groupLimit)
    guard !groups.isEmpty else { return }
    let lists = FailureLists(report, groups: groups.count)
    let largest = groups.map(\.count).max() ?? 1
    let isOpen = report.totals.bad <= Self.openLimit
    section("failures", nil, in: "Failures") { page in
      page.element("div", ["class": "head"]) { page in
        page.element("h2", "Failures")
        page.writeWorstHost(report)
      }
      for (group, list) in zip(groups, lists.lists) { page.write(group, list, largest: largest, isOpen: isOpen) }
      let others = report.failureGroups.dropFirst(groups.count)
      let count = others.reduce(0) { $0 + $1.count }
      page.omission(UInt64(others.count), "more kind", " with \(counted(count, "URL"))")
      let left = report.totals.bad - min(report.totals.bad, lists.count)
      page.omission(left, "more failure", " not listed here; a jsonl report lists all of them")
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

  private mutating func write(_ group: FailureGroup, _ list: FailureLists.List, largest: UInt64, isOpen: Bool) {
    element("details", ["class": "kind", "open": isOpen ? "" : nil]) { page in
      page.element("summary") { page in
        page.element("span", ["class": "title"], group.title)
        page.element("b", grouped(group.count))
        page.element("svg", ["viewBox": "0 0 100 8", "preserveAspectRatio": "none", "aria-hidden": "true"]) { page in
          page.bar(nil, x: 0, y: 0, width: max(Double(group.count) / Double(largest) * 100, 1), height: 8)
        }
        page.element("span", ["class": "hosts"]) { $0.writeHosts(of: group) }
      }
      if let message = list.message { page.element("p", ["class": "message"]) { $0.text(message, limit: 400) } }
      page.element("ol") { $0.markup(verbatim: list.items) }
      page.omission(group.count - min(group.count, list.count), "more", plural: "more")
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

  /// An item with its host, list and standing as attributes, by which the script filters.
  fileprivate mutating func writeItem(_ record: FailureRecord, _ examples: FailureExamples, showsMessage: Bool) {
    let (host, list) = (record.url.hostAndPort, record.manifest.shortened(to: 120))
    element("li", ["data-host": host?.shortened(to: 120), "data-list": list, "data-since": record.standing.phrase]) { page in
      if let thumbnail = examples.thumbnail(of: record) { page.picture(thumbnail, description: "received instead") }
      page.element("div") { page in
        page.url(record.url)
        if showsMessage, let message = record.failure?.message, !message.isEmpty {
          page.element("p", ["class": "message"]) { $0.text(message, limit: 400) }
        }
        page.element("p", ["class": "facts"]) { page in
          page.element("span", ["class": "place"]) { $0.text(record.location, limit: 200) }
          let attempts = record.attempts > 0 ? [counted(UInt64(record.attempts), "attempt")] : []
          for fact in [record.origin].compactMap(\.self) + attempts + record.facts { page.text(" · \(fact.shortened(to: 200))") }
        }
        if let line = examples.curlLine(of: record) {
          page.element("details", ["class": "curl"]) { page in
            page.element("summary", "curl")
            page.shellLine(line)
          }
        }
      }
    }
  }
}

/// The items that a page lists of each group: row by row from all groups until a limit is reached, so that a large group doesn't
/// crowd out a small one.
private struct FailureLists {
  struct List {
    /// Their markup.
    var items = ""
    var count: UInt64 = 0
    /// The message that all of them share; nil if they differ.
    var message: String?
  }

  private static let limit: UInt64 = 1000
  private static let byteLimit = 1_250_000

  private(set) var lists: [List] = []

  init(_ report: FinishedReport, groups count: Int) {
    let examples = FailureExamples(report)
    let known = report.knownFailures(of: Array(report.failureGroups.prefix(count)))
    lists = known.map { List(message: $0[...].sharedMessage) }
    var scratch = HTMLPage()
    var bytes = 0
    for row in 0..<(known.map(\.count).max() ?? 0) {
      for (index, records) in known.enumerated() where row < records.count {
        guard self.count < Self.limit, bytes < Self.byteLimit else { return }
        scratch.writeItem(records[row], examples, showsMessage: lists[index].message == nil)
        let item = scratch.take()
        bytes += item.utf8.count
        lists[index].items += item
        lists[index].count += 1
      }
    }
  }

  var count: UInt64 { lists.reduce(0) { $0 + $1.count } }
}

/// The additions to a failure on a page: the line that repeats its request, and a picture of the received body.
struct FailureExamples {
  private let requests: [RequestVariant: CurlCommand]
  private let pictures: [String: Thumbnail]

  init(_ report: FinishedReport) {
    requests = Dictionary(report.requests.map { ($0.variant, $0.curl) }) { first, _ in first }
    let bad = report.thumbnails.filter { ($0.reason == .failed || $0.reason == .placeholder) && $0.hasPicture }
    pictures = Dictionary(bad.map { ($0.url, $0) }) { first, _ in first }
  }

  /// A line for a shell; nil if the request is unknown, there was none, or the URL is too long for a page.
  func curlLine(of record: FailureRecord) -> String? {
    guard let request = requests[record.variant], record.url.utf8.count <= 2048 else { return nil }
    guard request.options.reduce(0, { $0 + $1.utf8.count }) <= 2048 else { return nil }
    return request.line(of: record)
  }

  func thumbnail(of record: FailureRecord) -> Thumbnail? { pictures[record.url] }
}

extension FailureRecord {
  /// Further facts for a person, besides the attempts, in a few words each.
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

extension String {
  /// The host and port of a URL as it is shown, without user name and password; nil if it has no authority.
  fileprivate var hostAndPort: String? {
    guard let colon = firstIndex(of: ":"), self[colon...].hasPrefix("://") else { return nil }
    let authority = self[colon...].dropFirst(3).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? authority
    return host.isEmpty ? nil : String(host)
  }
}
