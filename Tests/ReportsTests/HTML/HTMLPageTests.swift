import Base
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

  /// Reads the visible content of the page from its DOM.
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
      failures: all("#failures li:has(.url)").map(item => [item.closest(".kind").querySelector(".title").textContent,
        ...texts(item, ".url"), ...texts(item, ".place"), item.dataset.host ?? ""]),
      hosts: rows("#hosts"), manifests: rows("#lists"),
      pictures: all("img").length, broken: all("img").filter(image => image.naturalWidth === 0).length,
      controls: all("button, input").length, links: all("a.url").length, sortable: all("thead th button").length,
    };
    """

  private func title(of record: FailureRecord) -> String { FailureGroup.Key(record.failure, host: nil).title }

  private func expectContent(_ content: Content, of report: FinishedReport) {
    let totals = report.totals
    let headline = "\(report.job.title) \(report.headline.sentence)"
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
    let failures = report.failures.map { record in
      let host = record.failure?.kind == .invalidURL ? "" : String(record.url.split(separator: "/")[1])
      return [title(of: record), record.url, "\(record.manifest):\(record.line)", host]
    }
    #expect(Set(content.failures) == Set(failures))
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

  @Test func `the page contains its report's totals, kinds, failures, hosts and manifests`() async throws {
    let report = Self.report
    let content: Content = try await Chromium().open(Self.page, Self.readContent)
    expectContent(content, of: report)
    #expect(content.sortable == 9 + 6)
  }

  @Test func `without JavaScript everything is shown, without dead controls`() async throws {
    let report = Self.report
    let content: Content = try await Chromium(runsScripts: false).open(Self.page, Self.readContent)
    expectContent(content, of: report)
    #expect(content.controls == 0)
  }

  private struct Screens: Decodable {
    var lowest: [Double]
    var worst: [Double]
    var words: String
    var background: String
  }

  @Test func `the worst host and the first kinds fit the first screen: nine kinds on a desktop, three on a phone`() async throws {
    let screens: Screens = try await Chromium().open(
      Self.page,
      """
      const bottom = element => element.getBoundingClientRect().bottom;
      const answer = {lowest: [], worst: [], words: page.querySelector(".worst").textContent};
      for (const [width, height, count] of [[1280, 800, 9], [390, 844, 3]]) {
        await resize(width, height);
        const kinds = all("details.kind > summary").filter(kind => kind.checkVisibility());
        answer.lowest.push(kinds.length === 12 ? Math.max(...kinds.slice(0, count).map(bottom)) : -1);
        answer.worst.push(bottom(page.querySelector(".worst")));
      }
      answer.background = getComputedStyle(page.querySelector(".o-failed")).fill;
      return answer;
      """
    )
    #expect(screens.lowest[0] > 0 && screens.lowest[0] <= 800 && screens.lowest[1] > 0 && screens.lowest[1] <= 844, "\(screens)")
    #expect(screens.worst[0] <= 800 && screens.worst[1] <= 844)
    expectGolden(screens.words)
    #expect(screens.background == "rgb(213, 69, 74)", "the policy lets the page's own style in")
  }

  private struct Fit: Decodable {
    var overhang: [Int]
    var cut: [String]
  }

  @Test(arguments: [true, false])
  func `on a screen of 360 pixels no page scrolls sideways, and text is cut only with an ellipsis`(runsScripts: Bool) async throws
  {
    let pages = [Self.page, HTMLReport().text(makeTroubledRun()), HTMLReport().text(makeGoodRun())]
    let fits: [Fit] = try await Chromium(width: 360, height: 740, runsScripts: runsScripts).open(
      each: pages,
      """
      const root = page.documentElement, answer = {overhang: [root.scrollWidth - frame.contentWindow.innerWidth], cut: []};
      all("details").forEach(element => { element.open = true; });
      answer.overhang.push(root.scrollWidth - frame.contentWindow.innerWidth);
      const hasCue = element => element !== null && element !== root
        && (frame.contentWindow.getComputedStyle(element).textOverflow === "ellipsis" || hasCue(element.parentElement));
      for (const element of all("body *:not(svg *, script, .aside)")) {
        const isCut = element.scrollWidth > element.clientWidth + 1
          && frame.contentWindow.getComputedStyle(element).overflowX !== "visible";
        const isOutside = element.checkVisibility() && element.getBoundingClientRect().right > 360.5;
        if ((isCut || isOutside) && !hasCue(element)) answer.cut.push(element.localName + "." + element.className);
      }
      return answer;
      """
    )
    for fit in fits {
      #expect(fit.overhang.allSatisfy { $0 <= 0 })
      #expect(fit.cut.isEmpty)
    }
  }

  private struct Sorted: Decodable {
    var columns: [[String]]
    var orders: [String?]
    var marks: Int
    var isFocusable: Bool
    var counts: [String]
    var shown: [Int]
  }

  @Test func `tables sort by buttons in their heads and filter with a live count`() async throws {
    let report = Self.report
    let sorted: Sorted = try await Chromium().open(
      Self.page,
      """
      const heads = all("#hosts thead th"), answer = {columns: [], orders: [], counts: [], shown: []};
      for (const column of [1, 1, 0]) {
        heads[column].querySelector("button").click();
        answer.columns.push(all("#hosts tbody tr").map(row => row.cells[column].textContent));
        answer.orders.push(heads[column].getAttribute("aria-sort"));
      }
      answer.marks = all("#hosts [aria-sort]").length;
      const button = heads[0].querySelector("button");
      button.focus();
      answer.isFocusable = page.activeElement === button;
      const input = page.querySelector("#hosts input"), shown = page.querySelector("#hosts output");
      for (const text of ["", "SLOW example", "no such host"]) {
        input.value = text;
        input.dispatchEvent(new Event("input"));
        answer.counts.push(shown.textContent);
        answer.shown.push(all("#hosts tbody tr").filter(row => row.checkVisibility()).length);
      }
      return answer;
      """
    )
    let byURLs = report.hosts.map(\.totals.urls).sorted().map(grouped)
    #expect(sorted.columns == [byURLs.reversed(), byURLs, report.hosts.map(\.host).sorted()])
    #expect(sorted.orders == ["descending", "ascending", "ascending"] && sorted.marks == 1)
    #expect(sorted.isFocusable)
    #expect(sorted.counts == ["12 of 12", "1 of 12", "0 of 12"] && sorted.shown == [12, 1, 0], "\(sorted)")
  }

  private struct Chosen: Decodable {
    var counts: [String]
    var shown: [Int]
    var kinds: [[String]]
    var opened: [Int]
    var copied: [String]
    var rows: [String]
  }

  @Test func `chips and words filter failures, the buttons copy the URLs and curl lines that are left, and groups open together`()
    async throws
  {
    let report = Self.report
    let chosen: Chosen = try await Chromium().open(
      Self.page,
      """
      const answer = {counts: [], shown: [], kinds: [], opened: [], copied: []};
      const input = page.querySelector("#failures input"), shown = page.querySelector("#failures output");
      const note = () => {
        const items = all("#failures li:has(.url)").filter(item => !item.hidden);
        answer.counts.push(shown.textContent);
        answer.shown.push(items.length);
        answer.kinds.push(all(".kind:not([hidden]) .title").map(title => title.textContent));
      };
      const type = text => { input.value = text; input.dispatchEvent(new Event("input")); note(); };
      const chip = text => {
        all(".chip").find(chip => chip.querySelector("bdi")?.textContent === text).click();
        note();
      };
      type("NOT FOUND \(LargeRun.hosts[5])");
      type("no such words");
      type("");
      chip("http-status 503");
      chip("timeout");
      chip("\(LargeRun.hosts[5])");
      chip("urls/hero.txt");
      frame.contentWindow.navigator.clipboard.writeText = async text => { answer.copied.push(text); };
      for (const title of ["Copy URLs", "Copy curl"]) all(".tools button").find(button => button.textContent === title).click();
      answer.rows = all(".chips > div").map(row => row.getAttribute("aria-label"));
      for (let turn = 0; turn < 2; turn += 1) {
        all(".tools button").find(button => button.textContent.endsWith(" all")).click();
        answer.opened.push(all("details.kind[open]").length);
      }
      return answer;
      """
    )
    func count(_ isCounted: (FailureRecord) -> Bool) -> Int { report.failures.count(where: isCounted) }
    let (worst, kinds) = (LargeRun.hosts[5], ["http-status 503", "timeout"])
    func isChosen(_ record: FailureRecord) -> Bool { kinds.contains(title(of: record)) }
    let both = report.failures.filter { isChosen($0) && $0.url.contains("//\(worst)/") }
    let left = both.filter { $0.manifest == "urls/hero.txt" }
    let found = [
      count { $0.failure?.status == 404 && $0.url.contains(worst) }, 0, 1000, count { $0.failure?.status == 503 },
      count(isChosen),
      both.count, left.count,
    ]
    #expect(chosen.shown == found)
    #expect(chosen.counts == found.map { $0 == 1000 ? "1,000 failures" : "\(grouped(UInt64($0))) of 1,000" })
    #expect(chosen.kinds[3] == ["http-status 503"] && Set(chosen.kinds[4]) == Set(kinds) && chosen.kinds[2].count == 12)
    #expect(chosen.copied.first?.split(separator: "\n").map(String.init).sorted() == left.map(\.url).sorted())
    #expect(chosen.copied.last?.split(separator: "\n").count == left.count && chosen.copied.last?.hasPrefix("curl ") == true)
    #expect(chosen.rows == ["Kind", "Host", "Folder", "List"])
    #expect(chosen.opened.last == 0 || chosen.opened.last == 12)
  }

  @Test(arguments: [1280, 390], [false, true])
  func `chart labels stay within the chart and beside their lines, on a phone too`(width: Int, endsOnLabel: Bool) async throws {
    var report = Self.report
    if endsOnLabel {
      report.timeline = Timeline(step: .seconds(10), steps: Array(repeating: .init(urls: 1), count: 3))
      report.end.duration = .seconds(30)
      report.traffic.latency = LatencyHistogram()
      report.traffic.latency.record(nanoseconds: 2_700_000)
    }
    let found: [[String]] = try await Chromium(width: width).open(
      HTMLReport().text(report),
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
    var copied: [String]
  }

  @Test func `each failure has its curl line and its picture, if both are known`() async throws {
    let report = Self.report
    let lines: Lines = try await Chromium().open(
      Self.page,
      """
      const copied = [];
      frame.contentWindow.navigator.clipboard.writeText = async text => { copied.push(text); };
      all("details.kind, details.part").forEach(details => { details.open = true; });
      await new Promise(done => setTimeout(done, 500));
      all("#failures button.curl").forEach(button => button.click());
      const item = all("#failures li:has(.line)")[0];
      item.querySelector(".line button").click();
      all(".tools button").find(button => button.textContent === "Copy curl").click();
      await new Promise(done => setTimeout(done, 500));
      return {
        lines: all("#failures li .line code").map(code => code.textContent),
        images: all("#failures li img").map(image => image.alt),
        copied,
      };
      """
    )
    let options = LargeRun.curlOptions.map(shellQuoted).joined(separator: " ")
    let expected = report.failures.filter { $0.failure?.kind != .invalidURL }.map { "curl \(options) \($0.url)" }
    #expect(Set(lines.lines) == Set(expected) && lines.lines.count == expected.count)
    #expect(lines.copied.first == lines.lines[0])
    #expect(lines.copied.last?.split(separator: "\n").map(String.init) == lines.lines)
    let pictured = Set(report.thumbnails.filter { $0.reason == .failed && !$0.picture.isEmpty }.map(\.url))
    #expect(lines.images.count == report.failures.count { pictured.contains($0.url) } && lines.images.count > 5)
  }
}
