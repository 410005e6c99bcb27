import Base

/// What a page shows of a report, from its head to its foot.
struct HTMLPage {
  /// A part with a heading, which the table of contents names.
  struct Section {
    var id: String
    var title: String
    var content: HTML

    init(_ id: String, title: String, _ content: HTML) { (self.id, self.title, self.content) = (id, title, content) }

    /// A section with its title as heading; `contents` is the title in the table of contents.
    init(_ id: String, _ heading: String, in contents: String? = nil, _ content: HTML) {
      self.init(id, title: contents ?? heading, "<h2>\(heading)</h2>\(content)")
    }
  }

  let report: FinishedReport

  var document: HTML {
    let sections = [
      failures, warnings, trend, lint, contactSheet, sameImages, charts, hosts, lists, remoteCaches, stores, job,
    ].compactMap(\.self)
    // A short page needs no contents.
    let contents: HTML? =
      sections.count > 3
      ? #"<nav aria-label="Contents">\#(sections.map { ##"<a href="#\##($0.id)">\##($0.title)</a>"## as HTML })</nav>"# : nil
    let parts = sections.map { #"<section id="\#($0.id)">\#($0.content)</section>"# as HTML }
    return """
      <!DOCTYPE html>
      <html lang="en">\(head)<body><main>\(header)\(contents)\(parts)</main>\
      <script>\(HTML(verbatim: EmbeddedPart.script.source))</script></body></html>

      """
  }

  /// The policy comes first, so that it applies to everything after it: it allows only this page's own style and script, by their hashes,
  /// and pictures within it. Without the empty icon, browsers request one from the page's server.
  private var head: HTML {
    let policy = """
      default-src 'none'; style-src \(EmbeddedPart.style.policy); script-src \(EmbeddedPart.script.policy); img-src data:; \
      base-uri 'none'; form-action 'none'
      """
    return """
      <head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="\(policy)">\
      <meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">\
      <meta name="referrer" content="no-referrer"><meta name="robots" content="noindex, nofollow">\
      <meta name="generator" content="prewarm \(report.version)">\
      <title>\("\(report.job.title) \(report.headline.sentence)", limit: 200)</title>\
      <link rel="icon" href="data:,"><style>\(HTML(verbatim: EmbeddedPart.style.source))</style></head>
      """
  }

  // MARK: The first screen

  /// The verdict, the outcomes, four figures, and the difference from an earlier run.
  private var header: HTML {
    let headline = report.headline
    // A cross, a warning or a tick; the words beside it say the same.
    let (state, mark): (String, HTML) =
      switch headline.style {
      case .failure: ("bad", "M8 8l8 8M16 8l-8 8")
      case .warning: ("warn", "M12 6v7.5M12 17v.5")
      case .plain, .detail: ("good", "M7 12.5l3.5 3.5 6.5-7.5")
      }
    let facts = ["prewarm \(report.version)", report.startedAt?.shortText, report.job.file?.shortened(to: 120)]
    let about = report.job.description
    return """
      <header class="\(state)"><p class="over">\(facts.compactMap(\.self).joined(separator: " · "))</p>\
      <h1><svg class="mark" viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="12"/><path d="\(mark)"/></svg>\
      <span>\("\(report.job.title) \(headline.sentence)", limit: 600)</span></h1>\
      \(about.isEmpty ? nil : #"<p class="about">\#(about, limit: 600)</p>"#)\(difference)\(outcomes)\
      <div class="overview"><dl class="figures">\(figures)</dl>\(beside)</div></header>
      """
  }

  private var difference: HTML? {
    guard let baseline = report.baseline else { return history }
    let (new, fixed) = (report.standings.counting, grouped(baseline.fixed))
    let unseen = baseline.unseen > 0 ? ", \(grouped(baseline.unseen)) not seen in this run" : ""
    let since: HTML = """
      <p class="since">Since <span class="place">\(baseline.path, limit: 200)</span>: \
      <b\(class: new > 0 ? "bad" : nil)>\(grouped(new)) new</b>, \(grouped(report.standings.known)) known, \
      <b\(class: baseline.fixed > 0 ? "good" : nil)>\(fixed) fixed</b>\(unseen)</p>
      """
    let (shown, more) = baseline.fixedEntries(atMost: .max)
    return "\(since)\(shown.isEmpty ? nil : list("\(fixed) fixed", shown.map(\.title), more: more))\(history)"
  }

  private var history: HTML? {
    let lists = report.historyLists.map { label, titles in
      let shown = Array(titles.prefix(BaselineDifference.fixedEntryLimit))
      return list("\(grouped(UInt64(titles.count))) \(label.lowercased())", shown, more: UInt64(titles.count - shown.count))
    }
    return lists.isEmpty ? nil : "\(lists)"
  }

  private func list(_ summary: String, _ titles: [String], more: UInt64) -> HTML {
    let items = titles.map { #"<li><span class="url">\#($0, limit: 2000)</span></li>"# as HTML }
    let rest: HTML? = more > 0 ? "<li>… \(grouped(more)) more</li>" : nil
    return #"<details class="fixed"><summary>\#(summary)</summary><ul>\#(items)\#(rest)</ul></details>"#
  }

  private var outcomes: HTML? {
    let (totals, parts) = (report.totals, report.totals.outcomeParts)
    guard totals.urls > 0 else { return nil }
    var start = 0.0
    let bars = zip(parts, Self.barWidths(parts.map(\.count), whole: 1000, least: 5)).map { part, width in
      defer { start += width }
      return HTML.bar("o-\(part.style)", x: start, y: 0, width: width, height: 10)
    }
    let legend = parts.map { part in
      """
      <li><i class="o-\(part.style)"></i>\(part.name) <b>\(grouped(part.count))</b>\
      <span> \(percent(part.count, of: totals.urls))</span></li>
      """ as HTML
    }
    let title = parts.map { "\($0.name) \(grouped($0.count))" }.joined(separator: ", ")
    // The legend says the same, so the bar is a picture with a name.
    return """
      <svg class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img"><title>Outcomes: \(title)</title>\
      \(bars)</svg><ul class="legend">\(legend)</ul>
      """
  }

  /// Shares of `whole`, each wide enough to see.
  static func barWidths(_ counts: [UInt64], whole: Double, least: Double) -> [Double] {
    let sum = Double(counts.reduce(0, +))
    let widths = counts.map { max(Double($0) / sum * whole, least) }
    let scale = whole / widths.reduce(0, +)
    return widths.map { $0 * scale }
  }

  private var figures: [HTML] {
    let totals = report.totals
    let hosts = UInt64(report.hosts.count) + report.hostsOmitted
    let places = [counted(UInt64(report.manifests.count), "list"), hosts > 0 ? counted(hosts, "host") : nil]
    // An unchanged image of a refresh is as good as a hit.
    let (hits, fetched) = (totals.unchanged, totals.fetched)
    let hitParts = [
      percent(hits, of: totals.urls), totals.revalidated > 0 ? "\(grouped(totals.revalidated)) revalidated" : nil,
      fetched > 0 ? "\(grouped(fetched)) fetched" : nil,
    ]
    let blacklisted = totals.blacklisted > 0 ? "\(grouped(totals.blacklisted)) blacklisted" : nil
    let all: [(name: String, value: String, details: [String?], style: String?)?] = [
      ("URLs", grouped(totals.urls), places, nil),
      hits > 0 ? (totals.revalidated > 0 ? "hits+304" : "hits", grouped(hits), hitParts, nil) : nil,
      ("bad", grouped(totals.bad), [percent(totals.bad, of: totals.urls), blacklisted], totals.bad > 0 ? "bad" : nil),
      ("time", elapsed(report.end.duration), [report.isLong ? report.speedPhrase : nil], nil),
    ]
    return all.compactMap(\.self).map { figure in
      // Lines break only after commas, so that numbers keep their units.
      let details = figure.details.compactMap(\.self).joined(separator: ", ").split(separator: ", ")
      let small = details.map { $0.replacing(" ", with: "\u{A0}") }.joined(separator: ", ")
      return
        #"<div\#(class: figure.style)><dt>\#(figure.name)</dt><dd><b>\#(figure.value)</b><small>\#(small)</small></dd></div>"#
    }
  }

  private var beside: HTML? {
    Self.facts(
      "beside",
      [
        ("Cache", report.end.cache?.clauses.joined(separator: ", ")),
        ("Blacklist", report.end.blacklist.flatMap { $0.entries > 0 ? $0.phrase : nil }),
        ("Bottleneck", report.isLong ? report.end.bottleneck : nil),
      ]
    )
  }

  static func facts(_ style: String, _ facts: [(name: String, value: String?)]) -> HTML? {
    let known = facts.compactMap { name, value in value.map { "<div><dt>\(name)</dt><dd>\($0, limit: 400)</dd></div>" as HTML } }
    return known.isEmpty ? nil : #"<dl class="\#(style)">\#(known)</dl>"#
  }
}

extension FinishedReport {
  /// Whether the run was long enough for its speed to matter.
  var isLong: Bool { end.duration >= .seconds(2) }
}

extension OutcomeTotals {
  /// The outcomes that occurred, good ones first, each with the class that colours it.
  fileprivate var outcomeParts: [(name: String, style: String, count: UInt64)] {
    let isMixed = hitMemory > 0 && hitDisk > 0
    return [
      (isMixed ? "hits in memory" : "hits", "hit", hitMemory),
      (isMixed ? "hits on disk" : "hits", "disk", hitDisk),
      ("revalidated", "revalidated", revalidated),
      ("downloaded", "downloaded", downloaded),
      ("checked", "checked", checked),
      ("skipped", "skipped", skipped),
      ("cancelled", "cancelled", cancelled),
      ("blacklisted", "blacklisted", blacklisted),
      ("failed", "failed", failed),
    ].filter { $0.count > 0 }
  }
}

/// One self-contained page for a browser: the most important part comes first, and everything is visible without JavaScript. It
/// contains its own style, script and pictures, and its policy forbids any other (Content Security Policy Level 3, by hash). It
/// stays below 5 MB for 10,000 failures and below 6 MB for a run of any size: every list has a limit in rows and in bytes, and
/// counts the rest, which a report of rows has. Text from outside is escaped in one place, ``HTMLForm``.
struct HTMLReport: ReportForm {
  func write(_ report: FinishedReport, to output: inout OutputBuffer) { output.append(HTMLPage(report: report).document.markup) }
}

/// A file beside this one, which is a part of each page.
struct EmbeddedPart {
  /// One column, light and dark, for wide and narrow screens and for paper. No rule loads anything, and no element has a style attribute:
  /// the policy forbids both.
  static let style = EmbeddedPart(PackageResources.page_css)
  /// Sorts and filters tables, filters failures by chips, copies URLs and curl lines. It reads only the page and creates its controls
  /// itself, so that a page without JavaScript has no dead controls.
  static let script = EmbeddedPart(PackageResources.page_js)

  let source: String
  let policy: String

  private init(_ bytes: [UInt8]) {
    source = String(decoding: bytes, as: UTF8.self)
    policy = "'sha256-\(String(decoding: bytes.withUnsafeBytes { sha256(of: $0) }.base64, as: UTF8.self))'"
  }
}

extension HTMLPage {
  var warnings: Section? {
    guard !report.warnings.isEmpty else { return nil }
    let (items, shown) = HTML.rows(report.warnings, limit: 100, bytes: 60_000) { "<li>\($0, limit: 500)</li>" }
    let rest = HTML.omission(UInt64(report.warnings.count - shown), "more warning")
    return Section("warnings", "Warnings", #"<ul class="warnings">\#(items)</ul>\#(rest)"#)
  }

  var stores: Section? {
    let (cache, blacklist) = (report.end.cache, report.end.blacklist)
    guard cache != nil || blacklist != nil else { return nil }
    func count(_ path: KeyPath<CacheSummary, UInt64>) -> String? {
      cache.flatMap { $0[keyPath: path] > 0 ? grouped($0[keyPath: path]) : nil }
    }
    let facts = Self.facts(
      "details",
      [
        ("Images", cache.map { "\(grouped($0.entries)), \($0.sizePhrase)" }),
        ("On disk", cache.map { byteCount(Double($0.diskBytes)) }),
        ("Fresh until", cache.flatMap { $0.entries > 0 ? $0.freshUntil?.shortText : nil }),
        ("Folder", cache?.directory),
        ("Namespace", cache?.namespace),
        ("Expired and removed", count(\.expiredEntries)),
        ("Trimmed", count(\.trimmedEntries)),
        ("Trimmed from this run", count(\.evictedFromThisRun)),
        ("Blacklisted", blacklist?.phrase),
      ]
    )
    return facts.map { Section("cache", "Cache and blacklist", in: "Cache", $0) }
  }

  var job: Section? {
    let (end, traffic) = (report.end, report.traffic)
    let formats = report.formats.map { "\(grouped($0.count)) \($0.format.name)" }
    let facts = Self.facts(
      "details",
      [
        ("Job", report.job.title),
        ("File", report.job.file),
        ("Started", report.startedAt?.iso8601),
        ("Ended", end.finishedAt?.iso8601),
        ("Took", elapsed(end.duration)),
        ("Requests", traffic.attempts > 0 ? traffic.requestPhrase : nil),
        ("Received", traffic.receivedBytes > 0 ? byteCount(Double(traffic.receivedBytes)) : nil),
        ("From the cache", traffic.cachedBytes > 0 ? byteCount(Double(traffic.cachedBytes)) : nil),
        ("Formats", formats.isEmpty ? nil : formats.joined(separator: ", ")),
        ("Bottleneck", report.isLong ? end.bottleneck : nil),
        ("Time held up by", report.isLong ? end.bottleneckPhrase : nil),
        ("Peak memory", end.memoryPhrase),
        ("Unfinished by workers", end.outstanding > 0 ? grouped(end.outstanding) : nil),
        ("Lists read", end.areManifestsRead ? nil : "not to the end"),
        ("Exit status", report.exitStatusWords),
        ("Version", "prewarm \(report.version)"),
      ]
    )
    return facts.map { Section("job", "The job as it ran", in: "Job", $0) }
  }
}

extension FinishedReport {
  fileprivate var exitStatusWords: String {
    let meaning =
      switch exitStatus {
      case .withinLimits: "finished, within the limits of \(words.rules)"
      case .couldNotFinish: "couldn't finish"
      case .beyondLimits: "finished, beyond the limits of \(words.rules)"
      case .misused: "invalid job file or command line"
      case .interrupted: "interrupted by SIGINT"
      case .terminated: "interrupted by SIGTERM"
      }
    return "\(exitStatus.rawValue): \(meaning)"
  }
}

// MARK: Tables

private enum HTMLCell {
  /// A text from outside that names its row.
  case name(String, limit: Int)
  case text(String)
  /// A count; 0 appears as a dash.
  case count(UInt64, isBad: Bool = false)
  /// A measured value and its words, by which it is sorted; nil if it is unmeasured.
  case number(Double?, (Double) -> String)

  var html: HTML {
    switch self {
    case .name(let text, let limit): return #"<th scope="row">\#(text, limit: limit)</th>"#
    case .text(let text): return "<td>\(text, limit: 100)</td>"
    case .count(let count, let isBad):
      let style = isBad && count > 0 ? "n bad" : "n"
      return #"<td class="\#(style)" data-v="\#(count)">\#(count == 0 ? "–" : grouped(count))</td>"#
    case .number(let value, let words):
      let thousandths = value.map { String(UInt64(min(max($0 * 1000, 0), 1e18))) }
      return #"<td class="n"\#(attribute: "data-v", thousandths)>\#(value.map(words) ?? "–")</td>"#
    }
  }
}

extension HTMLPage {
  /// The hosts with most entries; those with most failures come first.
  var hosts: Section? {
    let titles = ["Host"] + countTitles + ["#Received", "#Median", "#p99"]
    let sorted = report.totals.bad > 0 ? 2 : 1
    let (rows, omitted) = (report.hostsByFailures, report.hostsOmitted)
    return table("hosts", "Hosts", titles, style: countStyle, sorted: sorted, rows, bytes: 400_000, more: omitted, "more host") {
      host in
      let times = [0.5, 0.99].map { HTMLCell.number(host.latency.percentile($0), latency) }
      let received = HTMLCell.number(host.receivedBytes > 0 ? Double(host.receivedBytes) : nil, byteCount)
      return [.name(host.host, limit: 253)] + counts(of: host.totals) + [received] + times
    }
  }

  /// The outcomes per list; nil if the run has one list only.
  var lists: Section? {
    guard report.manifests.count > 1 else { return nil }
    let (titles, rows) = (["List"] + countTitles, report.manifestsByFailures)
    return table("lists", "Lists", titles, style: countStyle, rows, bytes: 150_000, "more list") {
      [.name($0.path, limit: 300)] + counts(of: $0.totals)
    }
  }

  /// The hit ratios of remote caches by host and edge; nil if the job doesn't check them.
  var remoteCaches: Section? {
    let rows = report.hosts.flatMap { host in host.remoteCaches.map { (host: host.host, count: $0) } }
    let titles = ["Host", "Edge", "#Hit", "#Missed", "#Unknown", "#Hit ratio"]
    return table("remote-caches", "Remote caches", titles, rows, bytes: 100_000, "more", plural: "more") { host, count in
      let ratio = count.known > 0 ? Double(count.hits) / Double(count.known) : nil
      return [
        .name(host, limit: 253), .text(count.edge ?? "–"), .count(count.hits), .count(count.misses), .count(count.unknown),
        .number(ratio) { _ in count.hitShare },
      ]
    }
  }

  /// The titles of columns with counts, whose hits include entries that the server revalidated with 304.
  private var countTitles: [String] {
    ["#URLs", "#Bad", "#Share", report.totals.revalidated > 0 ? "#Hits and 304" : "#Hits", "#Fetched"]
  }

  /// The class of a table with these columns, of which that of hits is hidden if there are none.
  private var countStyle: String? { report.totals.revalidated > 0 ? "with-304" : report.totals.hits > 0 ? nil : "no-hits" }

  private func counts(of totals: OutcomeTotals) -> [HTMLCell] {
    let share = totals.bad > 0 ? Double(totals.bad) / Double(totals.urls) * 1000 : nil
    return [
      .count(totals.urls), .count(totals.bad, isBad: true), .number(share) { _ in percent(totals.bad, of: totals.urls) },
      .count(totals.unchanged), .count(totals.fetched),
    ]
  }

  /// A section with a table, whose frame scrolls instead of the page; nil if it has no rows. The script makes it sortable and filterable.
  ///
  /// - Parameters:
  ///   - titles: of its columns; a title that starts with `#` is of a column of numbers.
  ///   - sorted: the column by which the rows are sorted, descending.
  ///   - omitted: rows that the report omits already.
  private func table<Row>(
    _ id: String,
    _ name: String,
    _ titles: [String],
    style: String? = nil,
    sorted: Int? = nil,
    _ rows: [Row],
    bytes: Int,
    more omitted: UInt64 = 0,
    _ noun: String,
    plural: String? = nil,
    _ cells: (Row) -> [HTMLCell]
  ) -> Section? {
    guard !rows.isEmpty else { return nil }
    let heads = titles.enumerated().map { column, title -> HTML in
      let isNumber = title.hasPrefix("#")
      let order = column == sorted ? "descending" : nil
      return """
        <th scope="col"\(class: isNumber ? "n" : nil)\(attribute: "aria-sort", order)>\(isNumber ? String(title.dropFirst()) : title)</th>
        """
    }
    let (body, shown) = HTML.rows(rows, limit: 1000, bytes: bytes) { "<tr>\(cells($0).map(\.html))</tr>" }
    return Section(
      id,
      name,
      """
      <div class="frame" tabindex="0" role="region" aria-label="\(name)"><table\(class: style)><thead><tr>\(heads)</tr></thead>\
      <tbody>\(body)</tbody></table></div>\(HTML.omission(UInt64(rows.count - shown) + omitted, noun, plural: plural))
      """
    )
  }
}
