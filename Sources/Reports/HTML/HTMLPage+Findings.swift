import Base

/// Failed and blacklisted entries, each once, by kind and message: a line per group that opens on its entries. New ones come first.
extension HTMLPage {
  private static let groupLimit = 60
  /// Up to this many failures are visible without opening a group.
  private static let openLimit: UInt64 = 25

  var failures: Section? {
    let groups = Array(report.failureGroups.prefix(Self.groupLimit))
    guard !groups.isEmpty else { return nil }
    let lists = FailureLists(report, groups)
    let largest = groups.map(\.count).max() ?? 1
    // Without a baseline, all are new, which goes without saying.
    let firstKnown = report.baseline == nil ? nil : groups.firstIndex { $0.counting == 0 }
    let kinds = groups.enumerated().map { index, group -> HTML in
      let heading: HTML? = index == firstKnown ? #"<h3 class="known">Known from the baseline</h3>"# : nil
      return "\(heading)\(kind(group, lists.lists[index], share: Double(group.count) / Double(largest)))"
    }
    let others = report.failureGroups.dropFirst(groups.count)
    let count = others.reduce(0) { $0 + $1.count }
    let left = report.totals.bad - min(report.totals.bad, lists.count)
    return Section(
      "failures",
      title: "Failures",
      """
      <div class="head"><h2>Failures</h2>\(places)</div>\(counts(listed: lists.count))\(kinds)\
      \(HTML.omission(UInt64(others.count), "more kind", " with \(counted(count, "URL"))"))\
      \(HTML.omission(left, "more failure", " not listed here; a jsonl report lists all of them"))
      """
    )
  }

  /// The worst host, or those without a good entry, and the folders with many failures.
  private var places: HTML {
    let down = report.downHosts
    var hosts: HTML = ""
    if !down.isEmpty {
      let names = down.prefix(3).enumerated().map { index, host in
        """
        \(index == 0 ? "all URLs bad: " : ", ")<b class="host bad">\(host.host, limit: 120)</b> (\(grouped(host.totals.bad)))
        """ as HTML
      }
      let more = down.count > 3 ? " and of \(counted(UInt64(down.count - 3), "more host"))" : ""
      hosts = "\(names)\(more)"
    } else if let worst = report.worstHost {
      let share = worst.urls.map { " of \(grouped($0)) (\(percent(worst.bad, of: $0)))" } ?? ""
      hosts = #"worst host <b class="host">\#(worst.host, limit: 120)</b>: \#(grouped(worst.bad)) bad\#(share)"#
    }
    let folders = report.failureFolders.prefix(3).map { report.phrase(ofFolder: $0) { $0.shortened(to: 160) } }
    let most: HTML? = folders.isEmpty ? nil : #"<p class="worst">\#("most in " + folders.joined(separator: ", "))</p>"#
    return #"<p class="worst">\#(hosts)</p>\#(most)"#
  }

  /// The counts of all failures, from which the script makes its chips; so they agree with the sections, whatever is listed.
  private func counts(listed: UInt64) -> HTML {
    let hosts = report.hostsByFailures.filter { $0.totals.bad > 0 }
    let kinds = Dictionary(report.failureGroups.map { ($0.title, $0.count) }, uniquingKeysWith: +)
    let rows: [(String, [(String, UInt64, String?)])] = [
      ("Kind", kinds.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, $0.value, nil) }),
      ("Host", hosts.map { ($0.host, $0.totals.bad, percent($0.totals.bad, of: $0.totals.urls)) }),
      ("Folder", report.failureFolders.map { ($0.folder, $0.count, nil) }),
      ("List", report.manifestsByFailures.filter { $0.totals.bad > 0 }.map { ($0.path, $0.totals.bad, nil) }),
      ("Since", report.baseline == nil ? [] : [("new", report.standings.counting, nil), ("known", report.standings.known, nil)]),
    ]
    let items = rows.flatMap { name, values in
      values.prefix(100).filter { $0.1 > 0 }.map { value, count, note in
        """
        <li data-name="\(name)" data-value="\(value, limit: 120)" data-count="\(count)"\(attribute: "data-note", note)></li>
        """ as HTML
      }
    }
    return #"<ul id="counts" hidden="" data-all="\#(report.totals.bad)" data-listed="\#(listed)">\#(items)</ul>"#
  }

  private func kind(_ group: FailureGroup, _ list: FailureLists.List, share: Double) -> HTML {
    let isOneOfSeveral = report.failureGroups.contains { $0.title == group.title && $0.message != group.message }
    let isNew = report.baseline != nil && group.counting > 0
    let new = group.counting == group.count ? "new" : "\(grouped(group.counting)) new"
    var hosts = group.hosts.map { "<bdi>\($0.host, limit: 120)</bdi> \(grouped($0.count))" as HTML }
    if group.elsewhere > 0 { hosts.append("elsewhere \(grouped(group.elsewhere))") }
    let curls = list.curls.map { curl in
      """
      <details class="curl"><summary>curl</summary><div class="line"><code data-prefix="\(curl.prefix)" \
      data-variant="\(String(curl.variant))">\(curl.line)</code></div></details>
      """ as HTML
    }
    // The message distinguishes groups; elsewhere it would take the first screen.
    return """
      <details class="kind"\(attribute: "open", report.totals.bad <= Self.openLimit ? "" : nil)><summary><span class="name">\
      <span class="title">\(group.title)</span>\(isNew ? #"<span class="new">\#(new)</span>"# : nil)</span>\
      <b>\(grouped(group.count))</b><svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">\
      \(HTML.bar(nil, x: 0, y: 0, width: max(share * 100, 1), height: 8))</svg>\
      <span class="hosts">\(hosts.enumerated().map { "\($0 > 0 ? ", " : "")\($1)" as HTML })</span>\
      \(isOneOfSeveral ? group.message.map { HTML.message($0, in: "span") } : nil)</summary>\
      \(isOneOfSeveral ? nil : group.message.map { HTML.message($0) })\(curls)\(list.html)\
      \(HTML.omission(group.count - min(group.count, list.count), "more", plural: "more"))</details>
      """
  }
}

/// The items that a page lists of each group: row by row from all groups until a limit is reached, so that a large group doesn't
/// crowd out a small one.
private struct FailureLists {
  struct Item {
    var url: String
    var html: HTML
  }

  struct List {
    var new: [Item] = []
    var known: [Item] = []
    /// The curl line of the first item of each variant.
    var curls: [FailureExamples.Curl] = []
    var count: UInt64 { UInt64(new.count + known.count) }

    /// The entries that count, those of large folders in a part of their own that opens; then known ones.
    var html: HTML {
      var (parts, others) = ([HTML](), new)
      if new.count > flatLimit {
        let folders = FailureFolders(new.map(\.url), least: FailureFolders.least)
        parts = folders.largest.map { part($0.name, $0.members.map { new[$0] }) }
        others = folders.others.map { new[$0] }
      }
      let isFlat = new.isEmpty && known.count <= flatLimit
      return "\(parts)\(items(others))\(known.isEmpty ? nil : isFlat ? items(known) : part("known", known))"
    }

    private func part(_ title: String, _ members: [Item]) -> HTML {
      """
      <details class="part"><summary><span class="place">\(title, limit: 200)</span><b>\(grouped(UInt64(members.count)))</b></summary>\
      \(items(members))</details>
      """
    }

    private func items(_ items: [Item]) -> HTML? { items.isEmpty ? nil : "<ol>\(items.map(\.html))</ol>" }
  }

  /// More items are divided by folders.
  private static let flatLimit = 20
  /// 10,000 failures with URLs and paths of common lengths fit.
  private static let byteLimit = 4_150_000

  private let examples: FailureExamples
  private let namesLists: Bool
  private let hasBaseline: Bool
  private(set) var lists: [List] = []

  init(_ report: FinishedReport, _ groups: [FailureGroup]) {
    examples = FailureExamples(report)
    namesLists = report.manifests.count > 1
    hasBaseline = report.baseline != nil
    let known = report.knownFailures(of: groups)
    lists = known.map { _ in List() }
    var bytes = 0
    for row in 0..<(known.map(\.count).max() ?? 0) {
      for (index, records) in known.enumerated() where row < records.count {
        guard bytes < Self.byteLimit else { return }
        let (record, curl) = (records[row], examples.curl(of: records[row]))
        let item = Item(url: record.url, html: item(record, curl, groupMessage: groups[index].message))
        bytes += item.html.markup.utf8.count
        if record.standing == .known { lists[index].known.append(item) } else { lists[index].new.append(item) }
        if let curl, !lists[index].curls.contains(where: { $0.variant == curl.variant }) { lists[index].curls.append(curl) }
      }
    }
  }

  var count: UInt64 { lists.reduce(0) { $0 + $1.count } }

  /// An item with attributes by which the script filters and makes its curl line; short, since there may be thousands.
  private func item(_ record: FailureRecord, _ curl: FailureExamples.Curl?, groupMessage: String?) -> HTML {
    let picture = examples.pictures[record.url]
    let shown = record.url.shortened(to: HTML.urlLimit)
    // A quote stands for the URL in quotes.
    let word = curl.map { $0.word == shown ? nil : $0.word == "'\(shown)'" ? "'" : $0.word } ?? ""
    let isNew = hasBaseline && record.standing == .counts
    let message = record.failure.flatMap { $0.message.isEmpty || $0.message == groupMessage ? nil : HTML.message($0.message) }
    let attempts = record.attempts > 1 ? [counted(UInt64(record.attempts), "attempt")] : []
    let facts = [record.origin].compactMap(\.self) + attempts + record.facts
    return """
      <li\(class: picture == nil ? nil : "pictured")\(attribute: "data-host", record.url.hostAndPort?.shortened(to: 120))\
      \(attribute: "data-list", namesLists ? record.manifest.shortened(to: 120) : nil)\
      \(attribute: "data-since", record.standing.phrase)\
      \(attribute: "data-variant", curl.flatMap { $0.variant == 0 ? nil : String($0.variant) })\
      \(attribute: "data-word", word)>\(HTML.image(picture, description: "received instead"))\
      \(isNew ? #"<span class="new">new</span>"# : nil)\(HTML.url(record.url))\(message)\
      <p class="facts">\(HTML.place(record.manifest, line: record.line))\
      \(facts.map { " · \($0.shortened(to: 200))" }.joined())</p></li>
      """
  }
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
  let pictures: [String: Thumbnail]

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
}

extension FailureRecord {
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

/// The sections with pictures of images: the delivery, placeholders, and a contact sheet.
extension HTMLPage {
  private static let worstLimit = 20
  private static let examplesWithoutSaving = 2

  var lint: Section? {
    guard !report.lint.isEmpty else { return nil }
    let rules = report.lint.map { summary in
      let isBad = summary.severity == .fail && summary.count > 0
      return """
        <li><p><b\(class: isBad ? "bad" : nil)>\(summary.rule.name)</b> \(summary.phrase)\
        <small> \(summary.rule.reason)</small></p>\(hosts(of: summary))</li>
        """ as HTML
    }
    return Section("lint", "Delivery", #"<ul class="findings">\#(rules)</ul>\#(worstFindings)"#)
  }

  private func hosts(of summary: LintSummary) -> HTML? {
    guard !summary.hosts.isEmpty else { return nil }
    let items = HTML.rows(summary.hosts, limit: LintSummary.exampleLimit, bytes: 40_000) { host in
      """
      <li><span class="host">\(host.host, limit: 120)</span> \(host.phrase(summary.rule), limit: 400)\
      <p class="facts">first \(HTML.url(host.firstURL))</p></li>
      """
    }
    let more = summary.count - min(summary.count, summary.hosts.reduce(0) { $0 + $1.count })
    return #"<ul>\#(items.html)</ul>\#(HTML.omission(more, "more URL", " on other hosts"))"#
  }

  private var worstFindings: HTML? {
    // Beside those that save bytes, the first few of each rule.
    let all = report.lint.filter(\.hosts.isEmpty).flatMap { summary in
      summary.examples.enumerated().filter { $0.element.savedBytes > 0 || $0.offset < Self.examplesWithoutSaving }
        .map { (rule: summary.rule, example: $0.element) }
    }
    let worst = all.sorted { $1.example.savedBytes < $0.example.savedBytes }.prefix(Self.worstLimit)
    guard !worst.isEmpty else { return nil }
    let pictures = Dictionary(report.thumbnails.filter(\.hasPicture).map { ($0.url, $0) }) { first, _ in first }
    let items = HTML.rows(worst, limit: Self.worstLimit, bytes: 200_000) { rule, example in
      let saving = example.savedBytes > 0 ? " saves \(byteCount(Double(example.savedBytes)))" : ""
      return """
        <li>\(HTML.picture(pictures[example.url], description: rule.name))<div><p><b>\(rule.name)</b>\(saving)</p>\
        \(HTML.message(example.message))\(HTML.url(example.url))\
        <p class="facts">\(HTML.place(example.manifest, line: example.line))</p></div></li>
        """
    }
    return #"<h3>Worth fixing first</h3><ul class="placeholders">\#(items.html)</ul>"#
  }

  /// Placeholders, each with its picture, and how many URLs share their bytes with others.
  var sameImages: Section? {
    let duplicates = report.duplicates.flatMap { $0.bodies > 0 ? $0 : nil }
    guard !report.placeholders.isEmpty || duplicates != nil else { return nil }
    let note = duplicates.map { duplicates in
      let (bodies, urls) = (counted(duplicates.bodies, "image"), counted(duplicates.urls, "URL"))
      let least = duplicates.isComplete ? "" : "At least "
      return #"<p class="note">\#("\(least)\(bodies) came from more than one URL (\(urls) in total)")</p>"# as HTML
    }
    return Section("same-images", "Placeholders and duplicates", in: "Placeholders", "\(note)\(placeholders)")
  }

  private var placeholders: HTML? {
    guard !report.placeholders.isEmpty else { return nil }
    let pictures = Dictionary(
      report.thumbnails.compactMap { thumbnail in thumbnail.checksum.map { ($0, thumbnail) } },
      // Of two pictures of the same image, keep the one that could be decoded.
      uniquingKeysWith: { $0.hasPicture ? $0 : $1 }
    )
    let (items, shown) = HTML.rows(report.placeholders, limit: 50, bytes: 120_000) { placeholder in
      """
      <li>\(HTML.picture(pictures[placeholder.checksum], description: "the placeholder"))<div>\
      <p><b class="host">\(placeholder.host, limit: 120)</b> \(placeholder.findingPhrase)</p>\
      <p class="facts">\(placeholder.imagePhrase)</p>\(HTML.url(placeholder.firstURL))</div></li>
      """
    }
    let rest = HTML.omission(UInt64(report.placeholders.count - shown), "more placeholder")
    return #"<ul class="placeholders">\#(items)</ul>\#(rest)"#
  }

  /// Small pictures of received images, by the reason for which they are shown; those of good images say nothing where all is good.
  var contactSheet: Section? {
    let titles: [(Thumbnail.Reason, String)] = [(.failed, "Refused"), (.largest, "Largest"), (.latest, "Latest")]
    let groups = titles.map { reason, title in
      // Failures without a picture are in their list already.
      (title: title, thumbnails: report.thumbnails.filter { $0.reason == reason && (reason != .failed || $0.hasPicture) })
    }.filter { !$0.thumbnails.isEmpty }
    guard !report.isAllGood, !groups.isEmpty else { return nil }
    let parts = groups.map { group -> HTML in
      let (items, shown) = HTML.rows(group.thumbnails, limit: 60, bytes: 400_000 / titles.count) { "<li>\(sheetItem($0))</li>" }
      let rest = HTML.omission(UInt64(group.thumbnails.count - shown), "more picture")
      return #"<h3>\#(group.title)</h3><ul class="sheet">\#(items)</ul>\#(rest)"#
    }
    return Section("pictures", "Pictures", "\(parts)")
  }

  private func sheetItem(_ thumbnail: Thumbnail) -> HTML {
    let name = thumbnail.url.endOfPath
    let image = imagePhrase(format: thumbnail.format, width: thumbnail.width, height: thumbnail.height, bytes: thumbnail.bytes)
    let reason = thumbnail.failure.map { failure in
      let message = failure.message.isEmpty ? failure.kind.name : groupingDigits(in: failure.message)
      return #"<small class="bad">\#(message, limit: 200)</small>"# as HTML
    }
    return "\(HTML.picture(thumbnail, description: name))\(HTML.url(thumbnail.url, as: name))<small>\(image)</small>\(reason)"
  }
}

extension String {
  /// The last two parts of the path, since many images are called `1.jpg`.
  fileprivate var endOfPath: String {
    let path = prefix { $0 != "?" && $0 != "#" }
    let rest = path.firstRange(of: "://").map { path[$0.upperBound...] } ?? path
    let parts = rest.split(separator: "/")
    return parts.count > 1 ? parts.dropFirst().suffix(2).joined(separator: "/") : String(path)
  }
}
