import Base
import TestSupport
import Testing

@testable import Reports

/// The runs before a run, which its baseline knows.
@Suite struct TrendTests {
  private let folder = TemporaryDirectory()

  /// A run with that many failures, judged by the report of the one before.
  private func run(_ bad: Int, baseline: String?) throws -> FinishedReport {
    let judge = try baseline.flatMap { path throws(ReportReadingError) in try FailureBaseline(path: folder.file(path), name: path)
    }
    let run = makeRun(job: JobIdentity(name: "nightly", file: nil), manifests: ["urls.txt"], judge: judge)
    for index in 0..<bad {
      run.record(
        .failed(ImageFailure(.httpStatus, status: 404, message: "")),
        url: "https://a.example/\(index).jpg",
        host: "a.example"
      )
    }
    run.record(EntryResult(.checked), url: "https://a.example/good.jpg", host: "a.example")
    return run.finish(makeEnd(after: .seconds(bad)))
  }

  @Test func `a report has the last 30 runs of the JSON reports that are its baselines, in every form for people`() throws {
    var last: FinishedReport?
    for bad in 1...35 {
      let report = try run(bad, baseline: last == nil ? nil : "last.json")
      #expect(report.trend.count == (bad == 1 ? 0 : min(bad, 30)))
      folder.write(JSONReport().text(report), to: "last.json")
      last = report
    }
    let report = try #require(last)
    #expect(
      report.trend.map(\.bad) == Array(6...35) && report.trend.last?.new == 1 && report.trend.last?.duration == .seconds(35)
    )
    #expect(try folder.report("last.json").trend == report.trend)
    let phrase = "26 → 27 → 28 → 29 → 30 → 31 → 32 → 33 → 34 → 35 bad in the last 10 runs"
    let forms = [TextReport(width: 200).text(report), MarkdownReport().text(report), HTMLReport().text(report)]
    for form in forms { #expect(form.contains(phrase)) }
    #expect(forms[2].contains("id=\"trend\""))
  }

  @Test func `there is no trend without a baseline, or with one of rows, and a longer one is refused`() throws {
    #expect(try run(3, baseline: nil).trend.isEmpty)
    folder.write(#"{"url":"https://a.example/0.jpg","outcome":"failed","kind":"timeout"}"# + "\n", to: "rows.jsonl")
    let report = try run(3, baseline: "rows.jsonl")
    #expect(
      report.trend.isEmpty && !HTMLReport().text(report).contains("id=\"trend\"")
        && !JSONReport().text(report).contains("\"trend\"")
    )
    var long = report
    long.trend = (0..<31).map { _ in TrendPoint(finishedAt: nil, urls: 4, bad: 3, new: 3) }
    folder.write(JSONReport().text(long), to: "long.json")
    #expect(throws: ReportReadingError.self) { try folder.report("long.json") }
  }

  @Test func `new failures come before known ones, with a badge, in every form for people`() throws {
    folder.write(JSONReport().text(try run(40, baseline: nil)), to: "last.json")
    let judge = try #require(try FailureBaseline(path: folder.file("last.json")))
    let run = makeRun(job: JobIdentity(name: "nightly", file: nil), manifests: ["urls.txt"], judge: judge)
    let gone = ImageFailure(.httpStatus, status: 404, message: "")
    for index in 0..<40 { run.record(.failed(gone), url: "https://a.example/\(index).jpg", host: "a.example") }
    run.record(.failed(gone), url: "https://a.example/new-404.jpg", host: "a.example")
    run.record(.failed(ImageFailure(.dns, message: "no such name")), url: "https://b.example/new-dns.jpg", host: "b.example")
    for index in 0..<5 {
      run.record(.failed(ImageFailure(.reset, message: "")), url: "https://a.example/\(index).jpg", host: "a.example")
    }
    let report = run.finish(makeEnd())
    #expect(
      report.failureGroups.map(\.counting) == [1, 1, 0] && report.failureGroups.map(\.kind) == [.httpStatus, .dns, .reset]
    )
    let text = TextReport(width: 120).text(report)
    #expect(
      text.contains("https://a.example/new-404.jpg                             urls.txt:1 (new)")
        || text.contains("urls.txt:1 (new)")
    )
    let page = HTMLReport().text(report)
    let places = [
      "<span class=\"new\">1 new</span>", "new-404.jpg", "<span class=\"new\">new</span></span><b>1</b>",
      "Known from the baseline",
    ]
    .map { page.firstRange(of: $0)?.lowerBound ?? page.endIndex }
    #expect(places == places.sorted() && places.last != page.endIndex)
    #expect(MarkdownReport().text(report).contains("- **NEW** [`https://a.example/new-404.jpg`]"))
  }
}
