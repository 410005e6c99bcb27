import Base
import TestSupport
import Testing

@testable import Reports

/// Reports of all forms say the same of the same thing.
@Suite struct SameWordsTests {
  private func texts(_ report: FinishedReport) -> [(form: String, text: String)] {
    [
      ("text", TextReport(width: 120, detail: .all).text(report)), ("html", HTMLReport().text(report)),
      ("markdown", MarkdownReport().text(report)),
    ]
  }

  @Test func `every form describes an image in the same words`() {
    var report = makeRun().finish(makeEnd())
    var placeholder = RichRun.placeholder
    (placeholder.format, placeholder.width, placeholder.height, placeholder.bytes) = (.png, 1200, 1, 68)
    report.placeholders = [placeholder]
    for (form, text) in texts(report) { #expect(text.contains("png, 1,200 × 1, 68 B"), "\(form)") }
    #expect(imagePhrase(format: nil, width: 0, height: 0, bytes: 0).isEmpty)
  }

  @Test func `every form names the same worst host, even in a tie`() {
    let run = makeRun()
    for (host, good) in [("a.example.com", 1), ("b.example.com", 5), ("c.example.com", 5)] {
      run.record(EntryResult(.hitDisk), host: host, count: good)
      for kind in [FailureKind.reset, .empty, .dns, .tls, .timeout] {
        run.record(.failed(ImageFailure(kind, message: "")), host: host)
      }
    }
    let report = run.finish(makeEnd())
    #expect(report.hostsByFailures.map(\.host) == ["b.example.com", "c.example.com", "a.example.com"])
    #expect(report.worstHost?.host == "b.example.com")
    let (text, html) = (TextReport(detail: .all).text(report), HTMLReport().text(report))
    expectGolden(text.lines(with: "b.example.com"), for: "text")
    expectGolden(html.firstMatch(of: #/[\w ]+<b class="host">b\.example\.com</b>[^<]*/#).map { "\($0.output)" }, for: "HTML")
  }

  @Test func `a worst host that isn't listed is named too`() {
    let run = makeRun()
    for kind in [FailureKind.reset, .empty, .dns, .tls, .timeout] {
      run.record(.failed(ImageFailure(kind, message: "")), host: "a.example.com", count: 2)
    }
    var report = run.finish(makeEnd())
    report.hosts[0].totals.failed = 9
    report.failureGroups[0].hosts.append(HostCount(host: "hidden.example.com", count: 10))
    let (text, html) = (TextReport(detail: .all).text(report), HTMLReport().text(report))
    expectGolden(text.lines(with: "hidden.example.com"), for: "text")
    expectGolden(html.firstMatch(of: #/[\w ]+<b class="host">hidden\.example\.com</b>[^<]*/#).map { "\($0.output)" }, for: "HTML")
  }

  @Test func `a column of hits has only hits, unless its title says more`() {
    let run = makeRun()
    run.record(EntryResult(.hitDisk), count: 3)
    run.record(.failed(ImageFailure(.reset, message: "")))
    let hits = texts(run.finish(makeEnd()))
    #expect(hits[0].text.contains("     hits ") && hits[1].text.contains(">Hits</th>") && hits[2].text.contains("| Hits |"))
    run.record(EntryResult(.revalidated))
    let both = texts(run.finish(makeEnd()))
    #expect(both[0].text.contains(" hits+304 ") && both[1].text.contains(">Hits and 304</th>"))
    #expect(both[2].text.contains("| Hits and 304 |"))
  }

  @Test func `every form describes the cache in the same words`() {
    let report = makeRun().finish(
      makeEnd {
        addStores(to: &$0)
        $0.cache?.trimmedEntries = 7
        $0.blacklist?.removed = 3
      }
    )
    for (form, text) in texts(report) {
      // In HTML, they are cells of their own.
      let sizes = text.firstMatch(of: #/[^<>\n]*1\.1 GB[^<>\n]*/#).map { "\($0.output)" }
      let blacklist = text.firstMatch(of: #/[^<>\n]*\b102 URLs[^<>\n]*/#).map { "\($0.output)" }
      expectGolden(sizes, for: form)
      expectGolden(blacklist, for: form)
    }
  }
}
