import Base

/// The report for a person: the verdict in one line, then the facts that require action, the most urgent first.
///
/// A run without findings takes one line. Otherwise outcomes come first, then failures by kind with their first URLs. Text from
/// outside is escaped, and cut to the width of a terminal.
public struct TextReport: ReportForm {
  public enum Order: Sendable, Hashable {
    /// The verdict comes first, as in a file.
    case verdictFirst
    /// Failures come first; the verdict is the last line, above the terminal's prompt.
    case failuresFirst
  }

  public enum Detail: Sendable, Hashable {
    /// The verdict and the failures of a run that failed or has counting failures; nothing for other runs.
    case failures
    case normal
    /// Also hosts, speed, the bottleneck, memory, and a curl line for each failure.
    case all
  }

  /// The minimum width of the layout; a narrower terminal wraps lines.
  static let minimumWidth = 20
  /// The width of the layout without a terminal.
  public static let defaultWidth = 80
  public static let defaultFailureLimit = 20

  public var width = defaultWidth
  /// Whether wider texts are cut, as on a terminal; pipes and files get complete texts.
  public var isCut = false
  /// Whether ANSI colours emphasise the words; no by default.
  public var hasColor = false
  public var order = Order.verdictFirst
  public var detail = Detail.normal
  public var failureLimit = defaultFailureLimit

  /// The same report for a file: 80 columns, uncut, without colours.
  var forFile: TextReport { TextReport(order: order, detail: detail == .all ? .all : .normal, failureLimit: failureLimit) }

  public func write(_ report: FinishedReport, to output: inout OutputBuffer) {
    if detail == .failures, report.exitStatus == .withinLimits, report.standings.counting == 0 { return }
    var findings = makePage()
    findings.writeFindings(report, order)
    var page = makePage()
    switch order {
    case .verdictFirst:
      page.writeHeadline(report)
      page.append(findings)
    case .failuresFirst:
      // The first part needs no blank line above it.
      page.append(String(findings.text.drop { $0 == "\n" }))
      if !page.text.isEmpty { page.line() }
      page.writeHeadline(report)
    }
    output.append(page.text)
  }

  private func makePage() -> TextPage {
    var layout = self
    layout.width = max(width, Self.minimumWidth)
    return TextPage(layout)
  }
}

extension TextPage {
  /// `homepage  FAILED  102 of 10,000 URLs are bad (limit 0)  8.1 s`, and the job's description below it unless all is well.
  fileprivate mutating func writeHeadline(_ report: FinishedReport) {
    let headline = report.headline
    let name = escapedForTerminal(report.job.title)
    let start = "\(name)  \(headline.word)  "
    let parts = [headline.detail, headline.time].compactMap(\.self).joined(separator: "  ")
    if isCut, columns(of: start + parts) > width {
      paragraph("", [start + parts], indent: 0, style: headline.style)
    } else {
      // A single line elsewhere, for grep.
      line(styled(start + parts, headline.style))
    }
    guard !report.job.description.isEmpty, !report.isAllGood || detail == .all else { return }
    paragraph("", [escapedForTerminal(report.job.description)], indent: 0, style: .detail)
  }

  /// Writes all but the verdict, with a blank line above each part.
  fileprivate mutating func writeFindings(_ report: FinishedReport, _ order: TextReport.Order) {
    if detail == .failures {
      writeFailures(report)
      return writeFooter { page in
        page.writePlaces(report)
        page.writeWarnings(report.warnings)
      }
    }
    let isWhole = !report.isAllGood || detail == .all
    if isWhole, order == .verdictFirst { writeOutcomes(report) }
    writeFailures(report)
    if isWhole, order == .failuresFirst { writeOutcomes(report) }
    if detail == .all {
      writeHosts(report)
      writeLists(report)
    }
    writePlaceholders(report)
    writeLint(report)
    writeRemoteCaches(report)
    writeFooter { page in
      page.writePlaces(report)
      page.writeWarnings(report.warnings)
      page.writeDifference(report)
      page.writeHistory(report)
      guard isWhole else { return }
      page.writeDuplicates(report.duplicates)
      page.writeCache(report.end)
      if page.detail == .all { page.writeSpeed(report) }
    }
  }

  private mutating func writeFooter(_ write: (inout TextPage) -> Void) {
    var footer = self
    footer.removeAll()
    write(&footer)
    guard !footer.text.isEmpty else { return }
    line()
    append(footer)
  }

  private mutating func writePlaces(_ report: FinishedReport) {
    for (index, sentence) in report.placeSentences(escapedForTerminal).enumerated() {
      paragraph(index == 0 ? "Where" : "", [sentence])
    }
  }

  private mutating func writeWarnings(_ warnings: [String]) {
    for (index, warning) in warnings.enumerated() {
      paragraph(index == 0 ? "Warnings" : "", [escapedForTerminal(warning)], style: .warning)
    }
  }

  /// Writes how the failures differ from those of the baseline, and the fixed URLs.
  private mutating func writeDifference(_ report: FinishedReport) {
    guard let baseline = report.baseline, let difference = report.differencePhrase else { return }
    paragraph("Baseline", [escapedForTerminal(difference)])
    let (shown, more) = baseline.fixedEntries()
    write("Fixed", shown.map(\.title), more: Int(clamping: more))
  }

  /// Writes what the last runs say: what recovered, what is flaky, and how many were bad.
  private mutating func writeHistory(_ report: FinishedReport) {
    for (label, titles) in report.historyLists {
      let shown = titles.prefix(10)
      write(label, Array(shown), more: titles.count - shown.count)
    }
    if let trend = report.trendPhrase, !report.isAllGood || detail == .all { paragraph("Trend", [trend]) }
  }

  private mutating func write(_ label: String, _ titles: [String], more: Int) {
    for (index, title) in titles.enumerated() {
      line((index == 0 ? label : "").padded(to: 11) + fitted(escapedForTerminal(title), to: 3 * width))
    }
    self.more(more, "           ")
  }

  private mutating func writeCache(_ end: RunEnd) {
    if let cache = end.cache { paragraph("Cache", cache.clauses) }
    if let blacklist = end.blacklist, blacklist.entries + blacklist.added + blacklist.removed > 0 {
      paragraph("Blacklist", [blacklist.phrase])
    }
  }

  private mutating func writeSpeed(_ report: FinishedReport) {
    let traffic = report.traffic
    if traffic.attempts > 0 { paragraph("Requests", [traffic.requestPhrase]) }
    if let latency = traffic.latency.summary { paragraph("Latency", [latency]) }
    if !report.formats.isEmpty { paragraph("Formats", report.formats.map { "\(grouped($0.count)) \($0.format.name)" }) }
    if let speed = report.speedPhrase { paragraph("Speed", [speed]) }
    if let bound = report.end.bottleneck { paragraph("Bottleneck", [escapedForTerminal(bound)]) }
    if let shares = report.end.bottleneckPhrase { paragraph("Time", [escapedForTerminal(shares)]) }
    if let memory = report.end.memoryPhrase { paragraph("Memory", [memory]) }
  }
}

extension LatencyHistogram {
  /// `12 ms median, 310 ms p99`; nil if nothing was measured.
  var summary: String? {
    guard let median = percentile(0.5), let late = percentile(0.99) else { return nil }
    return "\(latency(median)) median, \(latency(late)) p99"
  }
}

/// Lines of text for a terminal; colours don't count as columns.
struct TextPage {
  enum Style: String {
    case plain = ""
    case failure = "\u{1B}[31m"
    case warning = "\u{1B}[33m"
    case detail = "\u{1B}[2m"
  }

  private let layout: TextReport
  private(set) var text = ""

  init(_ layout: TextReport) { self.layout = layout }
  var width: Int { layout.width }
  var detail: TextReport.Detail { layout.detail }
  var failureLimit: Int { layout.failureLimit }
  private var hasColor: Bool { layout.hasColor }
  private var isCut: Bool { layout.isCut }

  /// Returns the text, cut to `width` if the page cuts texts.
  func fitted(_ text: String, to width: Int) -> String { isCut ? text.cut(to: max(width, 1)) : text }
  mutating func removeAll() { text = "" }

  func styled(_ text: String, _ style: Style) -> String {
    hasColor && style != .plain && !text.isEmpty ? style.rawValue + text + "\u{1B}[0m" : text
  }

  /// Ends a line; spaces at its end are dropped.
  mutating func line(_ line: String = "") {
    var line = line
    while line.last == " " { line.removeLast() }
    text += line + "\n"
  }

  /// Counts what a list omits, if it omits anything.
  mutating func more(_ count: Int, _ indent: String = "  ") {
    if count > 0 { line(styled("\(indent)… \(grouped(UInt64(count))) more", .detail)) }
  }

  mutating func append(_ other: TextPage) { text += other.text }
  mutating func append(_ other: String) { text += other }

  /// Writes clauses after a label, separated by commas, wrapped at the width and aligned after the label.
  mutating func paragraph(_ label: String, _ clauses: [String], indent: Int = 11, style: Style = .plain) {
    let words = clauses.joined(separator: ", ").split(separator: " ", omittingEmptySubsequences: false)
    var prefix = label.padded(to: indent)
    var current = ""
    for word in words where !(word.isEmpty && current.isEmpty) {
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
