import Base

/// The sections with pictures of images: the delivery, placeholders, and a contact sheet.
extension HTMLPage {
  private static let worstLimit = 20
  private static let examplesWithoutSaving = 2

  /// The rules with findings, and the findings that save most bytes.
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

  /// A line per host, and its first URL.
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
