import Base
import TestSupport
import Testing

@testable import Reports

@Suite struct HTMLBoundsTests {
  /// A report in which every list is full and every text long.
  private func fullReport() -> FinishedReport {
    let long = "https://img.example.com/" + String(repeating: "<&\u{202E}\"'", count: 210_000)
    let run = makeRun(manifests: (0..<3000).map { "urls/\($0)/" + String(repeating: "&", count: 400) })
    let kinds =
      FailureKind.ofURLs.map { ImageFailure($0, message: String(long.prefix(300))) }
      + (0..<500).map { ImageFailure(.httpStatus, status: 100 + $0, message: String(long.prefix(300))) }
    for index in 0..<9000 {
      let failure = kinds[index % kinds.count]
      let host = "\(index)." + String(repeating: "<", count: 240)
      var result = EntryResult.failed(failure)
      result.durationNanoseconds = 1 << UInt64(index % 44)
      result.remoteCache = .miss
      run.record(result, url: index == 50 ? long : "https://\(index).example/" + String(repeating: "&", count: 1900), host: host)
    }
    var report = run.finish(makeEnd(after: .seconds(9000)) { $0.warnings = Array(repeating: long, count: 500) })
    report.requests = [ReportedRequest(curl: CurlCommand(options: Array(repeating: "-H<\">", count: 450)))]
    report.timeline = Timeline(
      step: .seconds(64),
      steps: Array(repeating: Timeline.Step(urls: 1 << 40, bad: 1 << 39, receivedBytes: 1 << 50), count: 120)
    )
    report.placeholders = (0..<1000).map {
      Placeholder(host: long, checksum: Checksum(high: 0, low: UInt64($0)), urls: 10, firstURL: long, bytes: 1)
    }
    report.thumbnails = (0..<800).map { index in
      var thumbnail = Thumbnail(
        Thumbnail.Reason.allCases[index % 4],
        url: report.failures[index % report.failures.count].url,
        picture: [UInt8](repeating: 7, count: index % 9 == 0 ? 1_000_000 : 16_000),
        pictureFormat: .jpeg,
        pictureWidth: 160,
        pictureHeight: 120,
        bytes: 1
      )
      (thumbnail.checksum, thumbnail.failure) = (Checksum(high: 0, low: UInt64(index)), ImageFailure(.size, message: long))
      return thumbnail
    }
    return report
  }

  @Test func `with every list full the page stays below 6 MB and counts what it omits`() {
    let page = HTMLReport().text(fullReport())
    #expect(page.utf8.count < 6_000_000, "\(page.utf8.count)")
    #expect(page.utf8.count > 5_000_000, "\(page.utf8.count): a list is not full")
    let cuts = page.matches(of: /… [0-9,]+ more ([a-z]+)/).map { String($0.1) }
    for noun in ["kinds", "failures", "hosts", "lists", "placeholders", "pictures", "warnings"] {
      #expect(cuts.contains(noun), "\(noun) in \(cuts)")
    }
    #expect(page.hasSuffix("</html>\n"))
  }

  @Test func `a truncated table counts the omitted rows`() throws {
    let run = makeRun()
    for index in 0..<10_500 {
      run.record(.failed(ImageFailure(.reset, message: "reset")), url: "https://\(index).example/", host: "\(index).example")
    }
    let page = HTMLReport().text(run.finish(makeEnd()))
    #expect(page.contains("… 500 more failures not listed here") && page.contains("… 9,500 more hosts<"))
    #expect(page.contains("… 500 more<"))
    #expect(page.matches(of: /<li data-host="/).count == 10_000)
    #expect(page.contains(#"data-all="10500" data-listed="10000""#) && page.utf8.count < 5_000_000)
  }

  @Test
  func `10,000 failures fit into 5 MB, with the same counts in chips and sections from the run, its JSON report and its rows`()
    throws
  {
    let folder = TemporaryDirectory()
    let rows = try JSONLinesJournal(path: folder.file("rows.jsonl"))
    let run = makeRun(journals: [rows])
    for index in 0..<10_000 {
      let kind =
        index % 10 < 7
        ? ImageFailure(.httpStatus, status: 404, message: "the server responded with 404 Not Found")
        : ImageFailure(.truncated, isTransient: true, message: "the body ended after \(index) of 24600 bytes")
      let host = "img\(index % 5).example.com"
      run.record(.failed(kind), url: "https://\(host)/catalog/2025/summer/product-\(index)/front-view.jpg?w=1200", host: host)
    }
    var report = run.finish(makeEnd())
    report.requests = [ReportedRequest(curl: CurlCommand(options: LargeRun.curlOptions))]
    try rows.finish(report)
    folder.write(JSONReport().text(report), to: "report.json")
    for report in [report, try folder.report("report.json"), try folder.replay("rows.jsonl")] {
      let page = HTMLReport().text(report)
      #expect(page.utf8.count < 5_000_000 && page.utf8.count > 3_000_000, "\(page.utf8.count)")
      #expect(page.matches(of: /<li data-host="/).count == 10_000 && !page.contains(" not listed here"))
      let chips = page.matches(of: /data-name="Kind" data-value="([^"]*)" data-count="(\d+)"/).map {
        [String($0.1), String($0.2)]
      }
      #expect(chips == [["http-status 404", "7000"], ["truncated", "3000"]])
      let sections = page.matches(of: /class="title">([^<]*)<\/span><\/span><b>([^<]*)</).map { [String($0.1), String($0.2)] }
      #expect(sections == [["http-status 404", "7,000"], ["truncated", "3,000"]])
    }
  }

  @Test func `runs without entries, times or transfers make pages too`() {
    let empty = makeRun(manifests: []).finish(makeEnd(after: .zero) { $0.isEmpty = true })
    var still = makeRun().finish(makeEnd(after: .zero) { $0.interruption = .interrupt })
    still.timeline = Timeline(step: .milliseconds(250), steps: [])
    var idle = still
    idle.timeline = Timeline(step: .milliseconds(250), steps: Array(repeating: Timeline.Step(), count: 3))
    idle.startedAt = nil
    let run = makeRun()
    run.record(.downloaded(bytes: 1, milliseconds: 0))
    run.record(.make(.checked) { ($0.attempts, $0.durationNanoseconds) = (1, .max) })
    var odd = run.finish(makeEnd(after: .nanoseconds(1)))
    odd.timeline = Timeline(step: .seconds(1 << 40), steps: [Timeline.Step(urls: .max / 2, bad: 0, receivedBytes: .max / 2)])
    for report in [empty, still, idle, odd] {
      let page = HTMLReport().text(report)
      #expect(page.contains("<h1>") && page.hasSuffix("</html>\n") && !page.contains("nan") && !page.contains("inf\""))
    }
  }
}
