import Base

extension HTMLPage {
  private static let groupLimit = 60
  /// Up to this many failures are visible without opening a group.
  private static let openLimit: UInt64 = 25

  /// Failed and blacklisted entries, each once, by kind and message: a line per group that opens on its entries. New ones come first.
  mutating func writeFailures(_ report: FinishedReport) {
    let groups = Array(report.failureGroups.prefix(Self.groupLimit))
    guard !groups.isEmpty else { return }
    let lists = FailureLists(report, groups)
    let largest = groups.map(\.count).max() ?? 1
    let isOpen = report.totals.bad <= Self.openLimit
    // Without a baseline, all are new, which goes without saying.
    let firstKnown = report.baseline == nil ? nil : groups.firstIndex { $0.counting == 0 }
    section("failures", nil, in: "Failures") { page in
      page.element("div", ["class": "head"]) { page in
        page.element("h2", "Failures")
        page.writePlaces(report)
      }
      page.writeCounts(report, listed: lists.count)
      for (index, group) in groups.enumerated() {
        if index == firstKnown { page.element("h3", ["class": "known"], "Known from the baseline") }
        page.write(group, lists.lists[index], report, largest: largest, isOpen: isOpen)
      }
      let others = report.failureGroups.dropFirst(groups.count)
      let count = others.reduce(0) { $0 + $1.count }
      page.omission(UInt64(others.count), "more kind", " with \(counted(count, "URL"))")
      let left = report.totals.bad - min(report.totals.bad, lists.count)
      page.omission(left, "more failure", " not listed here; a jsonl report lists all of them")
    }
  }

  /// The worst host, or those without a good entry, and the folders with many failures.
  private mutating func writePlaces(_ report: FinishedReport) {
    element("p", ["class": "worst"]) { page in
      let down = report.downHosts
      for (index, host) in down.prefix(3).enumerated() {
        page.text(index == 0 ? "all URLs bad: " : ", ")
        page.element("b", ["class": "host bad"]) { $0.text(host.host, limit: 120) }
        page.text(" (\(grouped(host.totals.bad)))")
      }
      if down.count > 3 { page.text(" and of \(counted(UInt64(down.count - 3), "more host"))") }
      guard down.isEmpty, let worst = report.worstHost else { return }
      page.text("worst host ")
      page.element("b", ["class": "host"]) { $0.text(worst.host, limit: 120) }
      page.text(": \(grouped(worst.bad)) bad")
      if let urls = worst.urls { page.text(" of \(grouped(urls)) (\(percent(worst.bad, of: urls)))") }
    }
    let folders = report.failureFolders.prefix(3)
    guard !folders.isEmpty else { return }
    element("p", ["class": "worst"]) { page in
      for (index, folder) in folders.enumerated() {
        page.text(index == 0 ? "most in " : ", ")
        page.text(report.phrase(ofFolder: folder) { $0.shortened(to: 160) })
      }
    }
  }

  /// The counts of all failures, from which the script makes its chips; so they agree with the sections, whatever is listed.
  private mutating func writeCounts(_ report: FinishedReport, listed: UInt64) {
    let hosts = report.hostsByFailures.filter { $0.totals.bad > 0 }
    let kinds = Dictionary(report.failureGroups.map { ($0.title, $0.count) }, uniquingKeysWith: +)
    let rows: [(StaticString, [(String, UInt64, String?)])] = [
      ("Kind", kinds.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, $0.value, nil) }),
      ("Host", hosts.map { ($0.host, $0.totals.bad, percent($0.totals.bad, of: $0.totals.urls)) }),
      ("Folder", report.failureFolders.map { ($0.folder, $0.count, nil) }),
      ("List", report.manifestsByFailures.filter { $0.totals.bad > 0 }.map { ($0.path, $0.totals.bad, nil) }),
      ("Since", report.baseline == nil ? [] : [("new", report.standings.counting, nil), ("known", report.standings.known, nil)]),
    ]
    element("ul", ["id": "counts", "hidden": "", "data-all": String(report.totals.bad), "data-listed": String(listed)]) { page in
      for (name, values) in rows {
        for (value, count, note) in values.prefix(100) where count > 0 {
          let attributes: Attributes = [
            "data-name": "\(name)", "data-value": value.shortened(to: 120), "data-count": String(count), "data-note": note,
          ]
          page.element("li", attributes, "")
        }
      }
    }
  }

  private mutating func write(
    _ group: FailureGroup,
    _ list: FailureLists.List,
    _ report: FinishedReport,
    largest: UInt64,
    isOpen: Bool
  ) {
    let isOneOfSeveral = report.failureGroups.contains { $0.title == group.title && $0.message != group.message }
    element("details", ["class": "kind", "open": isOpen ? "" : nil]) { page in
      page.element("summary") { page in
        page.element("span", ["class": "name"]) { page in
          page.element("span", ["class": "title"], group.title)
          if report.baseline != nil, group.counting > 0 {
            let isAll = group.counting == group.count
            page.element("span", ["class": "new"], isAll ? "new" : "\(grouped(group.counting)) new")
          }
        }
        page.element("b", grouped(group.count))
        page.element("svg", ["viewBox": "0 0 100 8", "preserveAspectRatio": "none", "aria-hidden": "true"]) { page in
          page.bar(nil, x: 0, y: 0, width: max(Double(group.count) / Double(largest) * 100, 1), height: 8)
        }
        page.element("span", ["class": "hosts"]) { $0.writeHosts(of: group) }
        // It distinguishes groups; elsewhere it would take the first screen.
        if isOneOfSeveral { page.writeMessage(of: group, "span") }
      }
      if !isOneOfSeveral { page.writeMessage(of: group, "p") }
      for curl in list.curls {
        page.element("details", ["class": "curl"]) { page in
          page.element("summary", "curl")
          page.shellLine(curl.line, prefix: curl.prefix, variant: String(curl.variant))
        }
      }
      page.write(list)
      page.omission(group.count - min(group.count, list.count), "more", plural: "more")
    }
  }

  private mutating func writeMessage(of group: FailureGroup, _ name: StaticString) {
    guard let message = group.message else { return }
    element(name, ["class": "message"]) { $0.text(message, limit: 400) }
  }

  /// The entries that count, those of large folders in a part of their own that opens; then known ones.
  private mutating func write(_ list: FailureLists.List) {
    if list.new.count <= FailureLists.flatLimit {
      writeItems(list.new.map(\.markup))
    } else {
      let folders = FailureFolders(list.new.map(\.url), least: FailureFolders.least)
      for folder in folders.largest { writePart(folder.name, folder.members.map { list.new[$0].markup }) }
      writeItems(folders.others.map { list.new[$0].markup })
    }
    guard !list.known.isEmpty else { return }
    if list.new.isEmpty, list.known.count <= FailureLists.flatLimit {
      writeItems(list.known.map(\.markup))
    } else {
      writePart("known", list.known.map(\.markup))
    }
  }

  private mutating func writePart(_ title: String, _ items: [String]) {
    element("details", ["class": "part"]) { page in
      page.element("summary") { page in
        page.element("span", ["class": "place"]) { $0.text(title, limit: 200) }
        page.element("b", grouped(UInt64(items.count)))
      }
      page.writeItems(items)
    }
  }

  private mutating func writeItems(_ items: [String]) {
    guard !items.isEmpty else { return }
    element("ol") { page in for item in items { page.markup(verbatim: item) } }
  }

  private mutating func writeHosts(of group: FailureGroup) {
    for (index, host) in group.hosts.enumerated() {
      if index > 0 { text(", ") }
      element("bdi") { $0.text(host.host, limit: 120) }
      text(" \(grouped(host.count))")
    }
    if group.elsewhere > 0 { text("\(group.hosts.isEmpty ? "" : ", ")elsewhere \(grouped(group.elsewhere))") }
  }

  /// An item with attributes by which the script filters and makes its curl line; short, since there may be thousands.
  fileprivate mutating func writeItem(_ record: FailureRecord, _ curl: FailureExamples.Curl?, _ lists: FailureLists) {
    let picture = lists.examples.thumbnail(of: record)
    let shown = record.url.shortened(to: Self.urlLimit)
    let attributes: Attributes = [
      "class": picture == nil ? nil : "pictured",
      "data-host": record.url.hostAndPort?.shortened(to: 120),
      "data-list": lists.namesLists ? record.manifest.shortened(to: 120) : nil,
      "data-since": record.standing.phrase,
      "data-variant": curl.flatMap { $0.variant == 0 ? nil : String($0.variant) },
      // A quote stands for the URL in quotes.
      "data-word": curl.map { $0.word == shown ? nil : $0.word == "'\(shown)'" ? "'" : $0.word } ?? "",
    ]
    element("li", attributes) { page in
      if let picture { page.picture(picture, description: "received instead") }
      if lists.hasBaseline, record.standing == .counts { page.element("span", ["class": "new"], "new") }
      page.url(record.url)
      if let message = record.failure?.message, !message.isEmpty, message != lists.message {
        page.element("p", ["class": "message"]) { $0.text(message, limit: 400) }
      }
      page.element("p", ["class": "facts"]) { page in
        page.place(record.manifest, line: record.line)
        let attempts = record.attempts > 1 ? [counted(UInt64(record.attempts), "attempt")] : []
        for fact in [record.origin].compactMap(\.self) + attempts + record.facts { page.text(" · \(fact.shortened(to: 200))") }
      }
    }
  }
}

/// The items that a page lists of each group: row by row from all groups until a limit is reached, so that a large group doesn't
/// crowd out a small one.
private struct FailureLists {
  struct Item {
    var url: String
    var markup: String
  }

  struct List {
    var new: [Item] = []
    var known: [Item] = []
    /// The curl line of the first item of each variant.
    var curls: [FailureExamples.Curl] = []
    var count: UInt64 { UInt64(new.count + known.count) }
  }

  /// More items are divided by folders.
  static let flatLimit = 20
  /// 10,000 failures with URLs and paths of common lengths fit.
  private static let byteLimit = 4_150_000

  let examples: FailureExamples
  let namesLists: Bool
  let hasBaseline: Bool
  /// The message of the current group.
  private(set) var message: String?
  private(set) var lists: [List] = []

  init(_ report: FinishedReport, _ groups: [FailureGroup]) {
    examples = FailureExamples(report)
    namesLists = report.manifests.count > 1
    hasBaseline = report.baseline != nil
    let known = report.knownFailures(of: groups)
    lists = known.map { _ in List() }
    var scratch = HTMLPage()
    var bytes = 0
    for row in 0..<(known.map(\.count).max() ?? 0) {
      for (index, records) in known.enumerated() where row < records.count {
        guard bytes < Self.byteLimit else { return }
        let (record, curl) = (records[row], examples.curl(of: records[row]))
        message = groups[index].message
        scratch.writeItem(record, curl, self)
        let item = Item(url: record.url, markup: scratch.take())
        bytes += item.markup.utf8.count
        if record.standing == .known { lists[index].known.append(item) } else { lists[index].new.append(item) }
        if let curl, !lists[index].curls.contains(where: { $0.variant == curl.variant }) { lists[index].curls.append(curl) }
      }
    }
  }

  var count: UInt64 { lists.reduce(0) { $0 + $1.count } }
}

/// The additions to a failure on a page: the line that repeats its request, and a picture of the received body.
struct FailureExamples {
  /// A line for a shell: the words before the URL, which are the same for all failures of a group, and those for the URL.
  struct Curl {
    var variant: Int
    var prefix: String
    var word: String
    var line: String { "\(prefix) \(word)" }
  }

  private let requests: [RequestVariant: (variant: Int, curl: CurlCommand)]
  private let pictures: [String: Thumbnail]

  init(_ report: FinishedReport) {
    requests = Dictionary(report.requests.enumerated().map { ($1.variant, ($0, $1.curl)) }) { first, _ in first }
    let bad = report.thumbnails.filter { ($0.reason == .failed || $0.reason == .placeholder) && $0.hasPicture }
    pictures = Dictionary(bad.map { ($0.url, $0) }) { first, _ in first }
  }

  /// Nil if the request is unknown, there was none, or the URL is too long for a page.
  func curl(of record: FailureRecord) -> Curl? {
    guard let request = requests[record.variant], record.url.utf8.count <= 2048 else { return nil }
    guard request.curl.options.reduce(0, { $0 + $1.utf8.count }) <= 2048 else { return nil }
    guard let line = request.curl.parts(of: record) else { return nil }
    return Curl(variant: request.variant, prefix: line.prefix, word: line.word)
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
