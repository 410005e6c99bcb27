import Base
import Reports

/// A message for people: one line for the verdict, and some for failures. All text is visible and at most 28,000 bytes as JSON, which
/// is the limit of Teams.
struct NoticeText {
  static let listedFailures = 10
  /// In characters, of a URL and of a message.
  private static let partLimit = 200

  let title: String
  /// One for each listed failure, after the difference from the baseline.
  private(set) var lines: [String] = []
  let link: String?

  init(_ report: FinishedReport, link: BaseURL?) {
    title = "prewarm \(Self.visible(report.job.title)) \(Self.visible(report.headline.sentence, limit: 600))"
    self.link = link.map(\.shown)
    if let difference = report.differencePhrase { lines.append(Self.visible(difference)) }
    for record in report.failures.prefix(Self.listedFailures) {
      let variant = record.variant.title.map { " (\(Self.visible($0)))" } ?? ""
      let message = record.failure.map { ": \(Self.visible($0.message))" } ?? ""
      lines.append("\(Self.visible(record.url))\(variant)\(message)")
    }
    let more = report.totals.bad - min(report.totals.bad, UInt64(min(report.failures.count, Self.listedFailures)))
    if more > 0 { lines.append("… \(counted(more, "more bad URL"))") }
  }

  private static func visible(_ text: String, limit: Int = partLimit) -> String {
    escapedForTerminal(maskingCredentials(text)).shortened(to: limit)
  }
}

// MARK: Bodies

extension NoticeText {
  /// A message for an incoming webhook of Slack, at most 40,000 characters, which doesn't make Slack request the failing images.
  var slack: JSONTree {
    let lines = [title] + self.lines.map { "• \($0)" } + (link.map { [$0] } ?? [])
    // https://docs.slack.dev/messaging/formatting-message-text#escaping
    let text = lines.joined(separator: "\n").replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(
      ">",
      with: "&gt;"
    )
    return .object([("text", .string(text)), ("unfurl_links", .boolean(false)), ("unfurl_media", .boolean(false))])
  }

  /// An Adaptive Card in a message, as workflows of Teams take it. Its blocks have runs of text, in which nothing is Markdown.
  var teams: JSONTree {
    let blocks = ([title] + lines).enumerated().map { index, line in
      let run: [JSONTree.Member] = [("type", .string("TextRun")), ("text", .string(line))]
      let weight: [JSONTree.Member] = index == 0 ? [("weight", .string("Bolder"))] : []
      return JSONTree.object([("type", .string("RichTextBlock")), ("inlines", .array([.object(run + weight)]))])
    }
    let action: JSONTree? = link.map {
      .object([("type", .string("Action.OpenUrl")), ("title", .string("Report")), ("url", .string($0))])
    }
    let card: [JSONTree.Member] = [
      ("$schema", .string("http://adaptivecards.io/schemas/adaptive-card.json")), ("type", .string("AdaptiveCard")),
      ("version", .string("1.2")), ("body", .array(blocks)), ("actions", .array(action.map { [$0] } ?? [])),
    ]
    let attachment: [JSONTree.Member] = [
      ("contentType", .string("application/vnd.microsoft.card.adaptive")), ("content", .object(card)),
    ]
    return .object([("type", .string("message")), ("attachments", .array([.object(attachment)]))])
  }

  /// The text of an email.
  var plain: String {
    ([title, ""] + lines + (link.map { ["", $0] } ?? [])).map { "\($0)\r\n" }.joined()
  }

  /// The message of a webhook: members of the JSON report, of which `failures` has the first 10, shortened.
  static func webhook(_ report: FinishedReport, link: BaseURL?) -> JSONTree {
    var report = report
    report.failures = report.failures.prefix(listedFailures).map { record in
      var record = record
      record.url = record.url.shortened(to: partLimit)
      if let message = record.failure?.message { record.failure?.message = maskingCredentials(message).shortened(to: partLimit) }
      return record
    }
    let names: Set = [
      "prewarm", "job", "started_at", "finished_at", "exit_status", "breakage", "verdict", "totals", "failures",
      "failures_omitted",
    ]
    let head: [JSONTree.Member] = [
      ("schema", .string("prewarm.notification/1")), ("title", .string(NoticeText(report, link: link).title)),
    ]
    return .object(head + JSONReport.members(of: report, names) + (link.map { [("link", .string($0.shown))] } ?? []))
  }
}
