import Base

/// One self-contained page for a browser: the most important part comes first, and everything is visible without JavaScript.
///
/// It contains its own style, script and pictures, and its policy forbids any other (Content Security Policy Level 3, by hash).
/// It stays below 5 MB for 10,000 failures and below 6 MB for a run of any size: every list has a limit in rows and in bytes, and counts the rest, which a report
/// of rows has. Text from outside is escaped in one place, `OutputBuffer.appendHTML`.
struct HTMLReport: ReportForm {
  func write(_ report: FinishedReport, to output: inout OutputBuffer) {
    var sections = HTMLPage()
    sections.writeSections(report)
    var page = HTMLPage()
    page.markup("<!DOCTYPE html>\n")
    page.element("html", ["lang": "en"]) { page in
      page.writeHead(report)
      page.element("body") { page in
        page.element("main") { page in
          page.writeVerdict(report)
          page.writeContents(sections.contents)
          page.append(sections)
        }
        page.element("script") { $0.markup(verbatim: EmbeddedPart.script.source) }
      }
    }
    page.markup("\n")
    page.output.withUnsafeBytes { output.append($0) }
  }
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
  /// Its hash as the page's policy names it.
  let policy: String

  private init(_ bytes: [UInt8]) {
    source = String(decoding: bytes, as: UTF8.self)
    policy = "'sha256-\(String(decoding: bytes.withUnsafeBytes { sha256(of: $0) }.base64, as: UTF8.self))'"
  }
}

extension HTMLPage {
  fileprivate mutating func writeSections(_ report: FinishedReport) {
    writeFailures(report)
    writeWarnings(report)
    writeTrend(report)
    writeLint(report)
    writeContactSheet(report)
    writeSameImages(report)
    writeCharts(report)
    writeHosts(report)
    writeLists(report)
    writeRemoteCaches(report)
    writeStores(report.end)
    writeJob(report)
  }

  /// Writes the table of contents; nothing for a short page.
  fileprivate mutating func writeContents(_ contents: [Content]) {
    guard contents.count > 3 else { return }
    element("nav", ["aria-label": "Contents"]) { page in
      for content in contents { page.element("a", ["href": "#\(content.id)"], content.title) }
    }
  }

  fileprivate mutating func writeHead(_ report: FinishedReport) {
    element("head") { page in
      page.open("meta", ["charset": "utf-8"])
      // First, so that it applies to everything after it.
      page.open("meta", ["http-equiv": "Content-Security-Policy", "content": HTMLPage.securityPolicy])
      page.open("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
      page.open("meta", ["name": "color-scheme", "content": "light dark"])
      page.open("meta", ["name": "referrer", "content": "no-referrer"])
      page.open("meta", ["name": "robots", "content": "noindex, nofollow"])
      page.open("meta", ["name": "generator", "content": "prewarm \(report.version)"])
      page.element("title") { $0.text("\(report.job.title) \(report.headline.sentence)", limit: 200) }
      // Without it, browsers request an icon from the page's server.
      page.open("link", ["rel": "icon", "href": "data:,"])
      page.element("style") { $0.markup(verbatim: EmbeddedPart.style.source) }
    }
  }

  /// Allows only this page's own style and script, by their hashes, and pictures within it.
  private static var securityPolicy: String {
    "default-src 'none'; style-src \(EmbeddedPart.style.policy); script-src \(EmbeddedPart.script.policy); img-src data:; "
      + "base-uri 'none'; form-action 'none'"
  }
}

extension HTMLPage {
  /// The upper half of the first screen: the verdict, the outcomes, four figures, and the difference from an earlier run.
  mutating func writeVerdict(_ report: FinishedReport) {
    let headline = report.headline
    let style = headline.style
    let state: StaticString = style == .failure ? "bad" : style == .warning ? "warn" : "good"
    element("header", ["class": "\(state)"]) { page in
      page.element("p", ["class": "over"]) { page in
        page.text("prewarm \(report.version)")
        if let moment = report.startedAt { page.text(" · \(moment.shortText)") }
        if let file = report.job.file { page.text(" · "); page.text(file, limit: 120) }
      }
      page.element("h1") { page in
        page.verdictMark(style)
        page.element("span") { $0.text("\(report.job.title) \(headline.sentence)", limit: 600) }
      }
      if !report.job.description.isEmpty {
        page.element("p", ["class": "about"]) { $0.text(report.job.description, limit: 600) }
      }
      page.writeDifference(report)
      page.writeOutcomeBar(report.totals)
      page.element("div", ["class": "overview"]) { page in
        page.writeFigures(report)
        page.writeBeside(report)
      }
    }
  }

  /// A tick, a warning or a cross; the words beside it say the same.
  private mutating func verdictMark(_ style: TextPage.Style) {
    markup("<svg class=\"mark\" viewBox=\"0 0 24 24\" aria-hidden=\"true\"><circle cx=\"12\" cy=\"12\" r=\"12\"/>")
    switch style {
    case .failure: markup("<path d=\"M8 8l8 8M16 8l-8 8\"/></svg>")
    case .warning: markup("<path d=\"M12 6v7.5M12 17v.5\"/></svg>")
    case .plain, .detail: markup("<path d=\"M7 12.5l3.5 3.5 6.5-7.5\"/></svg>")
    }
  }

  private mutating func writeOutcomeBar(_ totals: Totals) {
    guard totals.urls > 0 else { return }
    let parts = totals.outcomeParts
    // The legend below says the same, so the bar is a picture with a name.
    element("svg", ["class": "bar", "viewBox": "0 0 1000 10", "preserveAspectRatio": "none", "role": "img"]) { page in
      page.element("title", "Outcomes: " + parts.map { "\($0.name) \(grouped($0.count))" }.joined(separator: ", "))
      var start = 0.0
      for (part, width) in zip(parts, Self.barWidths(parts.map(\.count), whole: 1000, least: 5)) {
        page.bar("o-\(part.style)", x: start, y: 0, width: width, height: 10)
        start += width
      }
    }
    element("ul", ["class": "legend"]) { page in
      for part in parts {
        page.element("li") { page in
          page.element("i", ["class": "o-\(part.style)"], "")
          page.text("\(part.name) ")
          page.element("b", grouped(part.count))
          page.element("span", " \(percent(part.count, of: totals.urls))")
        }
      }
    }
  }

  /// Shares of `whole`, each wide enough to see.
  static func barWidths(_ counts: [UInt64], whole: Double, least: Double) -> [Double] {
    let sum = Double(counts.reduce(0, +))
    let widths = counts.map { max(Double($0) / sum * whole, least) }
    let scale = whole / widths.reduce(0, +)
    return widths.map { $0 * scale }
  }

  private mutating func writeFigures(_ report: FinishedReport) {
    let totals = report.totals
    element("dl", ["class": "figures"]) { page in
      var places = [counted(UInt64(report.manifests.count), "list")]
      let hosts = UInt64(report.hosts.count) + report.hostsOmitted
      if hosts > 0 { places.append(counted(hosts, "host")) }
      page.figure("URLs", grouped(totals.urls), places.joined(separator: ", "))
      let fetched = totals.downloaded + totals.checked
      // An unchanged image of a refresh is as good as a hit.
      let hits = totals.hits + totals.revalidated
      let parts = [
        percent(hits, of: totals.urls), totals.revalidated > 0 ? "\(grouped(totals.revalidated)) revalidated" : nil,
        fetched > 0 ? "\(grouped(fetched)) fetched" : nil,
      ]
      if hits > 0 {
        page.figure(totals.revalidated > 0 ? "hits+304" : "hits", grouped(hits), parts.compactMap(\.self).joined(separator: ", "))
      }
      let blacklisted = totals.blacklisted > 0 ? "\(grouped(totals.blacklisted)) blacklisted" : nil
      let bad = [percent(totals.bad, of: totals.urls), blacklisted].compactMap(\.self).joined(separator: ", ")
      page.figure("bad", grouped(totals.bad), bad, isBad: totals.bad > 0)
      page.figure("time", elapsed(report.end.duration), report.isLong ? report.speedPhrase ?? "" : "")
    }
  }

  /// The cache and the bottleneck, a line each.
  private mutating func writeBeside(_ report: FinishedReport) {
    let blacklist = report.end.blacklist.flatMap { $0.entries > 0 ? $0.phrase : nil }
    let facts = [
      ("Cache", report.end.cache?.clauses.joined(separator: ", ")), ("Blacklist", blacklist),
      ("Bottleneck", report.isLong ? report.end.bottleneck : nil),
    ]
    guard facts.contains(where: { $0.1 != nil }) else { return }
    element("dl", ["class": "beside"]) { page in
      for (name, value) in facts {
        guard let value else { continue }
        page.element("div") { page in
          page.element("dt", name)
          page.element("dd") { $0.text(value, limit: 400) }
        }
      }
    }
  }

  /// How the failures differ from those of the run that is the baseline.
  private mutating func writeDifference(_ report: FinishedReport) {
    guard let baseline = report.baseline else { return }
    element("p", ["class": "since"]) { page in
      page.text("Since ")
      page.element("span", ["class": "place"]) { $0.text(baseline.path, limit: 200) }
      page.text(": ")
      page.element("b", ["class": report.standings.counting > 0 ? "bad" : nil], "\(grouped(report.standings.counting)) new")
      page.text(", \(grouped(report.standings.known)) known, ")
      page.element("b", ["class": baseline.fixed > 0 ? "good" : nil], "\(grouped(baseline.fixed)) fixed")
      if baseline.unseen > 0 { page.text(", \(grouped(baseline.unseen)) not seen in this run") }
    }
    let (shown, more) = baseline.fixedEntries(atMost: .max)
    guard !shown.isEmpty else { return }
    element("details", ["class": "fixed"]) { page in
      page.element("summary", "\(grouped(baseline.fixed)) fixed")
      page.element("ul") { page in
        for entry in shown {
          page.element("li") { page in page.element("span", ["class": "url"]) { $0.text(entry.title, limit: 2000) } }
        }
        if more > 0 { page.element("li", "… \(grouped(more)) more") }
      }
    }
  }

  private mutating func figure(_ name: String, _ value: String, _ detail: String, isBad: Bool = false) {
    element("div", ["class": isBad ? "bad" : nil]) { page in
      page.element("dt", name)
      page.element("dd") { page in
        page.element("b", value)
        page.element("small", detail.brokenAtCommas)
      }
    }
  }
}

extension FinishedReport {
  /// Whether the run was long enough for its speed to matter.
  var isLong: Bool { end.duration >= .seconds(2) }
}

extension String {
  /// Lines break only after commas, so that numbers keep their units.
  fileprivate var brokenAtCommas: String {
    split(separator: ", ").map { $0.replacing(" ", with: "\u{A0}") }.joined(separator: ", ")
  }
}

extension Totals {
  /// The outcomes that occurred, good ones first, each with the class that colours it.
  fileprivate var outcomeParts: [(name: String, style: StaticString, count: UInt64)] {
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
