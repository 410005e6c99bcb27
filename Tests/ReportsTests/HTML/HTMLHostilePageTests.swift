import Foundation
import Base
import TestSupport
import Testing

@testable import Reports

extension HTMLPageTests {
  private static let attacks = [
    "\"><script>document.title='injected';top.injected=1</script>", "</style><script>top.injected=1</script>",
    "]]><svg onload=top.injected=1>",
    "</title></script></textarea><img src=x onerror=top.injected=1>", "javascript:top.injected=1",
    "' onmouseover='top.injected=1",
    "data:text/html,<script>top.injected=1</script>", "<!-- --!><base href=//evil.example>",
    "a\u{0}b\u{1B}[2J\u{202E}gnp\u{2066}\u{FEFF}\u{7F}",
    "https://evil.example/\"onclick=\"top.injected=1\"x=\"<b>", "&lt;script&gt;&#x3C;script&#x3E;",
    "\n\r\n<meta http-equiv=refresh content=0>",
    "{{7*7}}${top.injected=1}`", "<plaintext><xmp>", "https://a.example/\u{FFFD}\u{E0001}",
  ]

  /// A run with that text in every place where text from outside may stand.
  private func report(of text: String) -> FinishedReport {
    let run = makeRun(
      job: JobIdentity(name: text, file: text),
      manifests: [text, text + "2"],
      variants: [RequestVariant(name: text, edge: text)]
    )
    var failed = EntryResult.failed(ImageFailure(.reset, message: text))
    failed.remoteCache = .miss
    (failed.receivedBytes, failed.durationNanoseconds) = (1000, 1_000_000)
    for line in 0..<8 { run.record(failed, url: text, host: text, line: UInt64(line), variant: line % 2) }
    let warned = EntryResult.Details(warnings: [text])
    run.record(.make(.downloaded, details: warned) { $0.format = .png }, url: text, host: text, manifest: 1)
    var report = run.finish(
      makeEnd {
        addStores(to: &$0)
        ($0.cache!.directory, $0.cache!.namespace) = (text, text)
        ($0.bottleneck, $0.breakage, $0.warnings) = (text, text, [text])
      }
    )
    let checksum = Checksum(high: 1, low: 2)
    report.requests = [
      ReportedRequest(curl: CurlCommand(options: [text])),
      ReportedRequest(variant: RequestVariant(name: text, edge: text), curl: CurlCommand(options: [text])),
    ]
    report.timeline = Timeline(step: .milliseconds(250), steps: [Timeline.Step(urls: 9, bad: 8, receivedBytes: 8000)])
    report.placeholders = [Placeholder(host: text, checksum: checksum, urls: 10, firstURL: text, format: .png, bytes: 9)]
    report.thumbnails = Thumbnail.Reason.allCases.map { reason in
      var thumbnail = Thumbnail(
        reason,
        url: text,
        picture: Fixtures.bytes("images/good/palette.png"),
        pictureFormat: .png,
        pictureWidth: 8,
        pictureHeight: 6,
        bytes: 9
      )
      (thumbnail.failure, thumbnail.checksum) = (ImageFailure(.dimensions, message: text), checksum)
      return thumbnail
    }
    return report
  }

  private struct Found: Decodable {
    var elements: [String: Int]
    var title: String
    var isInjected: Bool
    var handlers: Int
    var links: [String]
    var sources: [String]
    var hidden: Int
    var requests: Int
  }

  private static let find = """
    const elements = {}, answer = {handlers: 0, links: [], sources: [], elements};
    for (const element of all("*")) {
      const name = element.localName === "a" ? "span" : element.localName;
      elements[name] = (elements[name] ?? 0) + 1;
      for (const attribute of element.attributes) {
        if (attribute.name.startsWith("on") || attribute.name === "style") answer.handlers += 1;
      }
      if (element.localName === "a" && !element.getAttribute("href").startsWith("#")) answer.links.push(element.protocol);
      if (element.src) answer.sources.push(element.src.slice(0, 15));
      element.dispatchEvent(new Event("mouseover"));
    }
    await new Promise(done => setTimeout(done, 200));
    answer.title = page.title;
    answer.isInjected = "injected" in window || "injected" in frame.contentWindow;
    const hidden = /[\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u009f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff]/g;
    answer.hidden = (page.body.textContent.match(hidden) ?? []).length;
    const requests = frame.contentWindow.performance.getEntriesByType("resource");
    answer.requests = requests.filter(entry => !entry.name.startsWith("data:")).length;
    return answer;
    """

  @Test func `hostile text stays text everywhere: no elements, no handlers, only web links, nothing executed`() async throws {
    let pages = (["harmless"] + Self.attacks).map { HTMLReport().text(report(of: $0)) }
    let found: [Found] = try await Chromium().open(each: pages, Self.find)
    let harmless = found[0]
    #expect(harmless.elements["script"] == 1 && harmless.elements["style"] == 1 && harmless.elements["img"] == 12)
    for (attack, page) in zip(Self.attacks, found.dropFirst()) {
      // A page has a curl line only if it repeats the exact URL.
      var (expected, elements) = (harmless.elements, page.elements)
      for name in ["div", "code", "button", "details", "summary", "span"] { (expected[name], elements[name]) = (nil, nil) }
      #expect(elements == expected, "\(attack)")
      #expect(!page.isInjected && page.handlers == 0 && page.hidden == 0 && page.requests == 0, "\(attack): \(page)")
      #expect(
        page.title.hasPrefix(escapedForTerminal(attack.trimmingCharacters(in: .newlines)).prefix(5)) || attack.hasPrefix("\n"),
        "\(page.title)"
      )
      #expect(
        page.links.allSatisfy { $0 == "https:" } && page.sources.allSatisfy { $0 == "data:image/png;" },
        "\(attack): \(page)"
      )
      #expect(page.links.isEmpty || attack.hasPrefix("https://evil"), "\(attack)")
    }
  }

  private struct Defence: Decodable {
    var title: String
    var isInjected: Bool
    var color: String
    var isSorted: Bool
  }

  @Test func `the page's policy blocks injected scripts, styles and loads`() async throws {
    let attack = """
      <script>top.injected = 1; document.title = "injected"</script><img src="file:///x.png" onerror="top.injected = 1">
      <style>h1 { color: rgb(1, 2, 3) !important }</style><svg onload="top.injected = 1"></svg>
      <h1 style="color: rgb(1, 2, 3)">x</h1>
      """
    let page = HTMLReport().text(makeTroubledRun()).replacing("<main>", with: attack + "<main>")
    let defence: Defence = try await Chromium().open(
      page,
      """
      await new Promise(done => setTimeout(done, 200));
      return {title: page.title, isInjected: "injected" in window, color: getComputedStyle(page.querySelector("h1")).color,
        isSorted: all("thead th button").length > 0};
      """
    )
    #expect(
      defence.title.hasPrefix("homepage ") && !defence.isInjected && defence.color != "rgb(1, 2, 3)" && defence.isSorted,
      "\(defence)"
    )
  }
}
