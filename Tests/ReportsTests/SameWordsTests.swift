import ImagePrimitives
import Testing

@testable import Reports

/// Reports of all forms say the same of the same thing.
@Suite struct SameWordsTests {
  private func texts(_ report: FinishedReport) -> [(form: String, text: String)] {
    [
      ("text", TextReport(width: 120).text(report)), ("html", HTMLReport().text(report)),
      ("markdown", MarkdownReport().text(report)),
    ]
  }

  @Test("every form describes an image in the same words") func anImageIsToldInTheSameWords() {
    var report = makeRun().finish(makeEnd(after: .seconds(1)))
    var placeholder = RichRun.placeholder
    (placeholder.format, placeholder.width, placeholder.height, placeholder.bytes) = (.png, 1200, 1, 68)
    report.placeholders = [placeholder]
    for (form, text) in texts(report) { #expect(text.contains("png, 1,200 × 1, 68 B"), "\(form)") }
    #expect(imagePhrase(format: nil, width: 0, height: 0, bytes: 0).isEmpty)
  }

  @Test("every form names the same worst host, even in a tie") func theWorstHostIsTheSameAlsoWhereHostsHaveFailedAsOften() {
    let run = makeRun()
    for (host, good) in [("a.example.com", 1), ("b.example.com", 5), ("c.example.com", 5)] {
      run.record(EntryResult(.hitDisk), host: host, count: good)
      for kind in [FailureKind.reset, .empty, .dns, .tls, .timeout] {
        run.record(.failed(Failure(kind, message: "")), host: host)
      }
    }
    let report = run.finish(makeEnd(after: .seconds(1)))
    #expect(report.hostsByFailures.map(\.host) == ["b.example.com", "c.example.com", "a.example.com"])
    #expect(report.worstHost?.host == "b.example.com")
    let (text, html) = (TextReport().text(report), HTMLReport().text(report))
    #expect(text.contains("worst: b.example.com, 5 of 10 URLs\n"))
    #expect(html.contains(#"worst host <b class="host">b.example.com</b>: 5 bad of 10 (50.0 %)"#))
  }

  @Test("a worst host that isn't listed is named too") func aWorstHostThatIsNotListedIsNamedToo() {
    let run = makeRun()
    for kind in [FailureKind.reset, .empty, .dns, .tls, .timeout] {
      run.record(.failed(Failure(kind, message: "")), host: "a.example.com", count: 2)
    }
    var report = run.finish(makeEnd(after: .seconds(1)))
    report.hosts[0].totals.failed = 9
    report.failureGroups[0].hosts.append(HostCount(host: "hidden.example.com", count: 10))
    #expect(TextReport().text(report).contains("worst: hidden.example.com, 10 bad\n"))
    #expect(HTMLReport().text(report).contains(#"worst host <b class="host">hidden.example.com</b>: 10 bad</p>"#))
  }

  @Test("hits are hits unless their title says more") func hitsAreHitsUnlessTheirTitleSaysMore() {
    let run = makeRun()
    run.record(EntryResult(.hitDisk), count: 3)
    run.record(.failed(Failure(.reset, message: "")))
    let hits = texts(run.finish(makeEnd(after: .seconds(1))))
    #expect(hits[0].text.contains("     hits ") && hits[1].text.contains(">Hits</th>") && hits[2].text.contains("| Hits |"))
    run.record(EntryResult(.revalidated))
    let both = texts(run.finish(makeEnd(after: .seconds(1))))
    #expect(both[0].text.contains(" hits+304 ") && both[1].text.contains(">Hits and 304</th>"))
    #expect(both[2].text.contains("| Hits and 304 |"))
  }

  @Test("every form describes the cache in the same words") func theCacheIsToldInTheSameWords() {
    let report = makeRun().finish(
      makeEnd(after: .seconds(1)) {
        addStores(to: &$0)
        $0.cache?.trimmedEntries = 7
        $0.blacklist?.removed = 3
      }
    )
    for (form, text) in texts(report) {
      #expect(text.contains("1.1 GB of 2 GB") && text.contains("102 URLs, 87 new, 3 taken off"), "\(form)")
      if form != "html" { #expect(text.contains("; all fresh until 2026-11-28 09:00 UTC; 7 trimmed"), "\(form)") }
    }
  }
}
