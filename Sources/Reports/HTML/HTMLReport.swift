/// One page for a browser that needs nothing else: what a person needs first stands first, and all is there without JavaScript.
///
/// It holds its own style, script and pictures, and forbids itself to load or run anything else (Content Security Policy Level 3,
/// by hash). However large the run, it stays below 3 MB: every list has a limit in rows and in bytes, and tells by count what it
/// left out; a report of rows has that. Text from outside is escaped in one place, `OutputBuffer.appendHTML`.
public struct HTMLReport: ReportForm {
  /// A writer.
  public init() {}

  /// Appends the page.
  public func write(_ report: FinishedReport, to output: inout OutputBuffer) {
    var page = HTMLPage()
    page.markup("<!DOCTYPE html>\n")
    page.element("html", ["lang": "en"]) { page in
      page.writeHead(report)
      page.element("body") { page in
        page.element("main") { page in
          page.writeVerdict(report)
          page.writeFailures(report)
          page.writeFailureTable(report)
          page.writeCharts(report)
          page.writeHosts(report)
          page.writeManifests(report)
          page.writeSameImages(report)
          page.writeRemoteCaches(report)
          page.writeContactSheet(report)
          page.writeWarnings(report)
          page.writeStores(report.end)
          page.writeJob(report)
        }
        page.element("script") { $0.markup(verbatim: HTMLScript.source) }
      }
    }
    page.markup("\n")
    page.output.withUnsafeBytes { output.append($0) }
  }
}

extension HTMLPage {
  fileprivate mutating func writeHead(_ report: FinishedReport) {
    element("head") { page in
      page.open("meta", ["charset": "utf-8"])
      // First of all, so that it holds for all that follows.
      page.open("meta", ["http-equiv": "Content-Security-Policy", "content": HTMLPage.securityPolicy])
      page.open("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
      page.open("meta", ["name": "color-scheme", "content": "light dark"])
      page.open("meta", ["name": "referrer", "content": "no-referrer"])
      page.open("meta", ["name": "robots", "content": "noindex, nofollow"])
      page.open("meta", ["name": "generator", "content": "prewarm \(report.version)"])
      page.element("title") { $0.text(report.headline.text, limit: 200) }
      // Without it browsers ask the server of the page for one.
      page.open("link", ["rel": "icon", "href": "data:,"])
      page.element("style") { $0.markup(verbatim: HTMLStyle.source) }
    }
  }

  /// Nothing but this page's own style and script, by their hashes, and pictures that stand in it.
  private static var securityPolicy: String {
    "default-src 'none'; style-src 'sha256-\(HTMLStyle.sha256)'; script-src 'sha256-\(HTMLScript.sha256)'; img-src data:; "
      + "base-uri 'none'; form-action 'none'"
  }
}
