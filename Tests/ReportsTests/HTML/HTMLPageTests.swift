import ImagePrimitives
import TestSupport
import Testing

@testable import Reports

/// One after another: each starts a browser.
@Suite(.serialized) struct HTMLPageTests {
  private static let report = makeLargeRun()
  private static let page = HTMLReport().text(report)

  private struct Content: Decodable {
    var title: String
    var headline: String
    var outcomes: [[String]]
    var figures: [[String]]
    var kinds: [[String]]
    var failures: [[String]]
    var hosts: [[String]]
    var manifests: [[String]]
    var pictures: Int
    var broken: Int
    var controls: Int
    var links: Int
    var sortable: Int
  }

  /// What a person reads off the page, from its DOM.
  private static let readContent = """
    const texts = (root, selector) => [...root.querySelectorAll(selector)].map(element => element.textContent.trim());
    const rows = section => all(section + " tbody tr").map(row => [...row.cells].map(cell =>
      cell.querySelector("a.url, span.url, .place, span")?.textContent ?? cell.textContent));
    await Promise.all(all("img").map(image => { image.loading = "eager"; return image.decode().catch(() => {}); }));
    return {
      title: page.title,
      headline: page.querySelector("h1").textContent,
      outcomes: all(".legend li").map(item => [item.childNodes[1].textContent.trim(), item.querySelector("b").textContent]),
      figures: all(".figures > div").map(figure => [...texts(figure, "dt"), ...texts(figure, "b")]),
      kinds: all("details.kind > summary").map(kind => [".title", "b", ".hosts"].map(part => texts(kind, part)[0])),
      failures: rows("#all-failures"), hosts: rows("#hosts"), manifests: rows("#manifests"),
      pictures: all("img").length, broken: all("img").filter(image => image.naturalWidth === 0).length,
      controls: all("button, input").length, links: all("a.url").length, sortable: all("thead th button").length,
    };
    """

  private func expectContent(_ content: Content, of report: FinishedReport) {
    let totals = report.totals
    let headline = "\(report.job.title): \(report.headline.sentence)"
    #expect(content.title == headline && content.headline == headline)
    let outcomes = [
      ("hits", totals.hitDisk), ("downloaded", totals.downloaded), ("blacklisted", totals.blacklisted), ("failed", totals.failed),
    ]
    #expect(content.outcomes == outcomes.map { [$0, grouped($1)] })
    #expect(
      content.figures == [
        ["URLs", grouped(totals.urls)], ["hits", grouped(totals.hits)], ["bad", grouped(totals.bad)], ["time", "41.2 s"],
      ]
    )
    #expect(content.kinds.map { [$0[0], $0[1]] } == report.failureGroups.map { [$0.title, grouped($0.count)] })
    #expect(content.kinds.map { $0[2].hasPrefix("\(LargeRun.hosts[5]) ") } == Array(repeating: true, count: 12))
    #expect(content.failures.count == 1000)
    #expect(content.failures.map { $0[1] } == report.failures.map(\.url))
    #expect(content.failures.map { $0[2] } == report.failures.map { "\($0.manifest):\($0.line)" })
    #expect(content.failures.map { $0[3] } == report.failures.map { $0.failure!.message })
    #expect(content.failures.map { $0[4] } == report.failures.map { $0.attempts == 0 ? "–" : String($0.attempts) })
    let hosts = report.hosts.map { host -> [String] in
      let totals = host.totals
      return [host.host, grouped(totals.urls), grouped(totals.bad), percent(totals.bad, of: totals.urls), grouped(totals.hits)]
        + [grouped(totals.downloaded)]
    }
    #expect(Set(content.hosts.map { Array($0.prefix(6)) }) == Set(hosts))
    #expect(content.hosts.first?.first == LargeRun.hosts[5])
    #expect(content.manifests.map { [$0[0], $0[1]] } == report.manifests.map { [$0.path, grouped($0.totals.urls)] })
    #expect(content.broken == 0 && content.pictures > 36)
    #expect(content.links > 1000)
  }

  @Test("the page contains its report's totals, kinds, failures, hosts and manifests")
  func content() async throws {
    let report = Self.report
    let content: Content = try await Chromium().open(Self.page, Self.readContent)
    expectContent(content, of: report)
    #expect(content.sortable == 5 + 9 + 6)
  }

  @Test("without JavaScript everything is shown, without dead controls")
  func contentWithoutScript() async throws {
    let report = Self.report
    let content: Content = try await Chromium(runsScripts: false).open(Self.page, Self.readContent)
    expectContent(content, of: report)
    #expect(content.controls == 0)
  }

  private struct Screens: Decodable {
    var lowest: [Double]
    var worst: [Double]
    var words: String
    var widths: [Double]
    var background: String
  }

  @Test(
    "twelve kinds and the worst host fit the first screen of desktop and phone, and no page scrolls sideways"
  )
  func firstScreen() async throws {
    let screens: Screens = try await Chromium().open(
      Self.page,
      """
      const bottom = element => element.getBoundingClientRect().bottom;
      const answer = {lowest: [], worst: [], widths: [], words: page.querySelector(".worst").textContent};
      for (const [width, height] of [[1280, 800], [390, 844]]) {
        await resize(width, height);
        const kinds = all("details.kind > summary").filter(kind => kind.checkVisibility());
        answer.lowest.push(kinds.length === 12 ? Math.max(...kinds.map(bottom)) : -1);
        answer.worst.push(bottom(page.querySelector(".worst")));
      }
      await resize(360, 740);
      const overhang = () => page.documentElement.scrollWidth - page.documentElement.clientWidth;
      answer.widths.push(overhang());
      all("details").forEach(element => { element.open = true; });
      answer.widths.push(overhang());
      answer.background = getComputedStyle(page.querySelector(".o-failed")).fill;
      return answer;
      """
    )
    #expect(screens.lowest[0] > 0 && screens.lowest[0] <= 800 && screens.lowest[1] > 0 && screens.lowest[1] <= 844, "\(screens)")
    #expect(screens.worst[0] <= 800 && screens.worst[1] <= 844)
    expectGolden(screens.words)
    #expect(screens.widths == [0, 0])
    #expect(screens.background == "rgb(213, 69, 74)", "the policy lets the page's own style in")
  }

  private struct Sorted: Decodable {
    var columns: [[String]]
    var orders: [String?]
    var marks: Int
    var isFocusable: Bool
    var counts: [String]
    var shown: [Int]
    var kinds: [String]
    var opened: [Int]
  }

  @Test("tables sort by buttons in their heads and filter with a live count, and groups open together")
  func sortingAndFiltering() async throws {
    let report = Self.report
    let sorted: Sorted = try await Chromium().open(
      Self.page,
      """
      const heads = all("#hosts thead th"), answer = {columns: [], orders: [], counts: [], shown: [], kinds: [], opened: []};
      for (const column of [1, 1, 0]) {
        heads[column].querySelector("button").click();
        answer.columns.push(all("#hosts tbody tr").map(row => row.cells[column].textContent));
        answer.orders.push(heads[column].getAttribute("aria-sort"));
      }
      answer.marks = all("#hosts [aria-sort]").length;
      const button = heads[0].querySelector("button");
      button.focus();
      answer.isFocusable = page.activeElement === button;
      const input = page.querySelector("#all-failures input"), told = page.querySelector("#all-failures output");
      for (const text of ["", "NOT FOUND slow.example", "Service  unavailable", "--max-redirs", "no such thing"]) {
        input.value = text;
        input.dispatchEvent(new Event("input"));
        answer.counts.push(told.textContent);
        const rows = all("#all-failures tbody tr").filter(row => row.checkVisibility());
        answer.shown.push(rows.length);
        if (text.startsWith("Service")) answer.kinds = [...new Set(rows.map(row => row.cells[0].textContent))];
      }
      for (let turn = 0; turn < 2; turn += 1) {
        page.querySelector("#failures .head button").click();
        answer.opened.push(all("details.kind[open]").length);
      }
      return answer;
      """
    )
    let byURLs = report.hosts.map(\.totals.urls).sorted().map(grouped)
    #expect(sorted.columns == [byURLs.reversed(), byURLs, report.hosts.map(\.host).sorted()])
    #expect(sorted.orders == ["descending", "ascending", "ascending"] && sorted.marks == 1)
    #expect(sorted.isFocusable)
    let missing = report.failures.count { $0.failure?.status == 404 && $0.url.contains("slow.example") }
    #expect(
      sorted.counts == ["1,000 of 1,000", "\(missing) of 1,000", "87 of 1,000", "0 of 1,000", "0 of 1,000"],
      "\(sorted.counts)"
    )
    #expect(sorted.shown == [1000, missing, 87, 0, 0])
    #expect(sorted.kinds == ["http-status 503"])
    #expect(sorted.opened == [12, 0])
  }

  @Test("chart labels stay within the chart and beside their lines, on a phone too", arguments: [1280, 390])
  func chartWords(width: Int) async throws {
    let found: [[String]] = try await Chromium(width: width).open(
      Self.page,
      """
      const clipped = [], crossed = [];
      for (const chart of all("svg.chart")) {
        const box = chart.getBoundingClientRect();
        for (const word of chart.querySelectorAll("text")) {
          const edges = word.getBoundingClientRect();
          if (edges.left < box.left || edges.right > box.right || edges.top < box.top || edges.bottom > box.bottom)
            clipped.push(word.textContent);
          for (const guide of chart.querySelectorAll(".guide")) {
            const line = guide.getBoundingClientRect();
            if (edges.left < line.left && edges.right > line.right && edges.bottom > line.top && edges.top < line.bottom)
              crossed.push(word.textContent);
          }
        }
      }
      return [clipped, crossed];
      """
    )
    #expect(found == [[], []])
  }

  private struct Lines: Decodable {
    var lines: [String]
    var images: [String]
    var copied: String
  }

  @Test("each failure has its curl line and its picture, if both are known")
  func curlLines() async throws {
    let report = Self.report
    let lines: Lines = try await Chromium().open(
      Self.page,
      """
      const row = all("#all-failures tbody tr")[0], button = row.querySelector(".line button");
      row.querySelector("details").open = true;
      button.click();
      await new Promise(done => setTimeout(done, 500));
      const selected = frame.contentWindow.getSelection().toString();
      return {
        lines: all("#all-failures .line code").map(code => code.textContent),
        images: all("#failures li img").map(image => image.alt),
        copied: button.textContent === "Copied" ? "copied" : selected,
      };
      """
    )
    let options = LargeRun.curlOptions.map(shellQuoted).joined(separator: " ")
    let expected = report.failures.filter { $0.failure?.kind != .invalidURL }.map { "curl \(options) \($0.url)" }
    #expect(lines.lines == expected)
    let pictured = Set(report.thumbnails.filter { $0.reason == .failed && !$0.picture.isEmpty }.map(\.url))
    #expect(
      lines.images.count == report.failureGroups.flatMap(\.examples).count { pictured.contains($0.url) } && lines.images.count > 5
    )
    #expect(lines.copied == "copied" || lines.copied == expected[0])
  }
}
