import ImagePrimitives

/// The report for a person: the verdict in one sentence, then what they need to act on it, the most urgent first.
///
/// A run in which all is well takes a line, with the cache and the speed below it. Failures of a few kinds stand each with its first
/// examples; of more kinds an overview comes first, so that a screen of 24 lines shows them all and the worst host. Text from outside
/// is escaped; URLs longer than three lines are cut, since the JSON report has them whole.
public struct TextReport: ReportForm {
  public enum Order: Sendable, Hashable {
    /// The verdict, as a run's report is read from its top.
    case verdictFirst
    /// The failures; the verdict is the last line, where the eye is when a command at a terminal has ended.
    case failuresFirst
  }

  /// The narrowest page that is laid out for; a narrower terminal breaks lines by itself.
  static let minimumWidth = 80

  /// Columns to lay out for; at least 80, which is the default.
  public var width: Int
  /// Whether ANSI colours underline what the words say; no by default.
  public var hasColor: Bool
  public var order: Order
  /// Whether all failures that are listed are shown (the first 1,000, and ten of each kind), not two of each kind, each with a curl line
  /// that makes its request again, and what the run's time went to; no by default.
  public var isVerbose: Bool
  /// Whether only failures are shown, and the verdict if the exit status isn't 0; no by default.
  public var isQuiet: Bool

  public init(
    width: Int = 80,
    hasColor: Bool = false,
    order: Order = .verdictFirst,
    isVerbose: Bool = false,
    isQuiet: Bool = false
  ) {
    self.width = width
    self.hasColor = hasColor
    self.order = order
    self.isVerbose = isVerbose
    self.isQuiet = isQuiet
  }

  /// The same for a file: 80 columns without colours.
  var forFile: TextReport { TextReport(order: order, isVerbose: isVerbose) }

  public func write(_ report: FinishedReport, to output: inout OutputBuffer) {
    if isQuiet { return writeQuietly(report, to: &output) }
    switch order {
    case .verdictFirst:
      var page = makePage()
      page.writeHeadline(report)
      if !report.isAllGood { page.writeOutcomes(report) }
      page.writeFindings(report)
      page.writeFooter(report)
      output.append(page.text)
    case .failuresFirst:
      var page = makePage()
      page.writeFindings(report)
      if !report.isAllGood { page.writeOutcomes(report) }
      page.writeFooter(report)
      if !report.isAllGood || report.hasFindings { page.line() }
      page.writeHeadline(report)
      // The blank line above the first part parts it from nothing.
      output.append(String(page.text.drop { $0 == "\n" }))
    }
  }

  private func writeQuietly(_ report: FinishedReport, to output: inout OutputBuffer) {
    var page = makePage()
    if report.totals.bad > 0 { page.writeFailures(report) }
    if report.exitStatus != .withinLimits {
      if !page.text.isEmpty { page.line() }
      page.writeHeadline(report)
    }
    output.append(String(page.text.drop { $0 == "\n" }))
  }

  private func makePage() -> TextPage {
    TextPage(width: max(width, Self.minimumWidth), hasColor: hasColor, isVerbose: isVerbose)
  }
}

extension FinishedReport {
  /// Whether there is more to tell than a line where all is well.
  fileprivate var hasFindings: Bool { asksRemoteCaches || !placeholders.isEmpty }
}

extension TextPage {
  fileprivate mutating func writeHeadline(_ report: FinishedReport) {
    let (headline, style) = report.headline
    paragraph("", [headline], indent: 0, style: style)
  }

  /// What was found at the URLs and their hosts.
  fileprivate mutating func writeFindings(_ report: FinishedReport) {
    if Self.needsOverview(report) {
      writeOverview(report)
      writeHosts(report, worstFirst: true)
      writeExamples(report)
    } else if !report.isAllGood {
      writeFailures(report)
      writeHosts(report)
    }
    writePlaceholders(report)
    writeRemoteCaches(report)
  }

  /// The paragraphs at the end; a blank line above them where the report is more than a line.
  fileprivate mutating func writeFooter(_ report: FinishedReport) {
    var footer = TextPage(width: width, hasColor: hasColor, isVerbose: isVerbose)
    footer.writeWarnings(report.warnings)
    footer.writeDuplicates(report.duplicates)
    footer.writeCache(report.end)
    footer.writeSpeed(report)
    let isMoreThanALine = !report.isAllGood || report.hasFindings
    if isMoreThanALine, !footer.text.isEmpty { line() }
    append(footer)
  }

  private mutating func writeWarnings(_ warnings: [String]) {
    for (index, warning) in warnings.enumerated() {
      paragraph(index == 0 ? "Warnings" : "", [escapedForTerminal(warning)], style: .warning)
    }
  }

  private mutating func writeCache(_ end: RunEnd) {
    if let cache = end.cache { paragraph("Cache", cache.clauses) }
    if let blacklist = end.blacklist, blacklist.entries + blacklist.added + blacklist.removed > 0 {
      paragraph("Blacklist", [blacklist.phrase])
    }
  }

  /// Hits alone say nothing of the speed of a network, so a run without a transfer has no such line but for who wants to know more.
  private mutating func writeSpeed(_ report: FinishedReport) {
    guard report.end.duration > .zero, report.traffic.attempts > 0 || isVerbose else { return }
    var clauses = [rate(report.urlsPerSecond)]
    if report.traffic.attempts > 0 { clauses[0] += ", \(byteCount(report.bytesPerSecond))/s" }
    if report.isAllGood, let summary = report.traffic.latency.summary { clauses[0] += ", " + summary }
    if let bound = report.end.bottleneck { clauses.append("bounded by \(escapedForTerminal(bound))") }
    paragraph("Speed", clauses)
    if isVerbose, let shares = report.end.bottleneckPhrase { paragraph("Time", [escapedForTerminal(shares)]) }
  }
}

extension LatencyHistogram {
  /// `12 ms median, 310 ms at 99 %`; nil if nothing was measured.
  var summary: String? {
    guard let median = percentile(0.5), let late = percentile(0.99) else { return nil }
    return "\(latency(median)) median, \(latency(late)) at 99 %"
  }
}

/// Lines of text for a terminal of some width: pieces with colours, whose columns are counted without them.
struct TextPage {
  /// What a colour underlines.
  enum Style: String {
    case plain = ""
    case failure = "\u{1B}[31m"
    case warning = "\u{1B}[33m"
    case detail = "\u{1B}[2m"
  }

  let width: Int
  let hasColor: Bool
  /// Whether all listed failures are shown, each with what makes its request again.
  let isVerbose: Bool
  private(set) var text = ""

  init(width: Int, hasColor: Bool, isVerbose: Bool = false) {
    self.width = width
    self.hasColor = hasColor
    self.isVerbose = isVerbose
  }

  func styled(_ text: String, _ style: Style) -> String {
    hasColor && style != .plain && !text.isEmpty ? style.rawValue + text + "\u{1B}[0m" : text
  }

  /// Ends a line; spaces at its end are dropped.
  mutating func line(_ line: String = "") {
    var line = line
    while line.last == " " { line.removeLast() }
    text += line + "\n"
  }

  mutating func append(_ other: TextPage) { text += other.text }

  /// Writes clauses after a label, separated by `; `, with line breaks between words where the width ends, aligned after the label.
  mutating func paragraph(_ label: String, _ clauses: [String], indent: Int = 11, style: Style = .plain) {
    let words = clauses.joined(separator: "; ").split(separator: " ")
    var prefix = label.padded(to: indent)
    var current = ""
    for word in words {
      if !current.isEmpty, indent + columns(of: current) + 1 + columns(of: String(word)) > width {
        line(prefix + styled(current, style))
        prefix = String(repeating: " ", count: indent)
        current = ""
      }
      current += current.isEmpty ? String(word) : " " + word
    }
    line(prefix + styled(current, style))
  }
}
