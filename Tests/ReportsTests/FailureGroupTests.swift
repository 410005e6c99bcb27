import Base
import TestSupport
import Testing

@testable import Reports

/// Groups of failures, their messages and places.
@Suite struct FailureGroupTests {
  private struct Case {
    var name: String
    /// Messages with their hosts.
    var failures: [(FailureKind, String, host: String)]
    /// The messages of the groups and their counts.
    var groups: [(String?, UInt64)]
  }

  private static let cases = [
    Case(
      name: "causes of one kind",
      failures: [
        (.hostDown, "skipped after 20 failures in a row: connection refused", "a.example"),
        (.hostDown, "skipped after 21 failures in a row: connection refused", "a.example"),
        (.hostDown, "skipped after 5 failures in a row: the name b.example could not be resolved", "b.example"),
      ],
      groups: [
        ("skipped after … failures in a row: connection refused", 2),
        ("skipped after 5 failures in a row: the name b.example could not be resolved", 1),
      ]
    ),
    Case(
      name: "hosts, ports and addresses",
      failures: [
        (.connect, "no connection to a.example:8443: Connection refused", "a.example:8443"),
        (.connect, "no connection to 127.0.0.1:81: Connection refused", "127.0.0.1:81"),
      ],
      groups: [("no connection to …:…: Connection refused", 2)]
    ),
    Case(
      name: "decoders",
      failures: [(.undecodable, "libjpeg: bad code", "a.example"), (.undecodable, "libwebp: bad code", "a.example")],
      groups: [("libjpeg: bad code", 1), ("libwebp: bad code", 1)]
    ),
    Case(
      name: "numbers, of which a limit is the same, and quoted texts",
      failures: [
        (.size, "the image has 1200 bytes, served as 'a/b'; at most 1000 are allowed", "a.example"),
        (.size, "the image has 90000 bytes, served as 'c/d'; at most 1000 are allowed", "a.example"),
      ],
      groups: [("the image has … bytes, served as '…'; at most 1,000 are allowed", 2)]
    ),
    Case(
      name: "URLs",
      failures: [
        (.redirects, "it leads to https://b.example/x?1, and back", "a.example"),
        (.redirects, "it leads to https://b.example/y, and back", "a.example"),
      ],
      groups: [("it leads to …, and back", 2)]
    ),
    Case(
      name: "more messages than groups",
      failures: (0..<40).map { (.undecodable, "it is " + String(repeating: "so ", count: $0) + "bad", "a.example") },
      groups: (0..<16).map { ("it is " + String(repeating: "so ", count: $0) + "bad", 1) } + [(nil, 24)]
    ),
  ]

  private func report(_ test: Case) -> FinishedReport {
    let run = makeRun()
    for (index, failure) in test.failures.enumerated() {
      run.record(
        .failed(ImageFailure(failure.0, message: failure.1)),
        url: "https://\(failure.host)/\(index).jpg",
        host: failure.host,
        line: UInt64(index)
      )
    }
    return run.finish(makeEnd())
  }

  @Test(arguments: cases.indices)
  func `the message of a group is true for each of its failures, in all forms`(_ index: Int) throws {
    let test = Self.cases[index]
    let report = report(test)
    let groups = report.failureGroups.map { "\($0.message ?? "-") \($0.count)" }
    #expect(Set(groups) == Set(test.groups.map { "\($0.0 ?? "-") \($0.1)" }), "\(test.name)")
    // Each failure is listed with its group, also after a round trip.
    let folder = TemporaryDirectory()
    folder.write(JSONReport().text(report), to: "report.json")
    for report in [report, try folder.report("report.json"), FinishedReport(merging: [report])] {
      #expect(report.knownFailures(of: report.failureGroups).map { UInt64($0.count) } == report.failureGroups.map(\.count))
      for form in [TextReport(failureLimit: .max).text(report), MarkdownReport().text(report)] {
        for message in test.groups.compactMap(\.0) { #expect(form.contains(message), "\(test.name)") }
      }
    }
  }

  @Test func `merged groups keep what their messages have in common`() {
    let parts = [Self.cases[0], Self.cases[3]].map { report($0) }
    let merged = FinishedReport(merging: parts + [parts[1]])
    #expect(merged.failureGroups.map(\.count).sorted() == [1, 2, 4])
    #expect(merged.failureGroups.contains { $0.message == Self.cases[3].groups[0].0 && $0.count == 4 })
  }

  @Test func `a host without a good entry and the folders with many failures are named in every form for people`() {
    let run = makeRun()
    for index in 0..<700 { run.record(.failed(gone), url: "https://img.example.com/catalog/2025/summer/\(index).jpg") }
    for index in 0..<40 { run.record(.failed(gone), url: "https://img.example.com/products/\(index)/front.jpg") }
    for index in 0..<9 { run.record(.failed(gone), url: "https://img.example.com/few/\(index).jpg") }
    run.record(EntryResult(.hitDisk), count: 10)
    run.record(.failed(gone), url: "https://old.example.com/a.jpg", host: "old.example.com", count: 3)
    let report = run.finish(makeEnd())
    #expect(
      report.failureFolders.map { "\($0.folder) \($0.count)" } == [
        "img.example.com/catalog/2025/summer/ 700", "img.example.com/products/ 40",
      ]
    )
    #expect(report.downHosts.map(\.host) == ["old.example.com"])
    let page = HTMLReport().text(report)
    for form in [TextReport(width: 200).text(report), MarkdownReport().text(report).replacing("`", with: "")] {
      #expect(
        form.contains("every URL of old.example.com is bad (3)") && form.contains("img.example.com/catalog/2025/summer/ 700")
      )
    }
    #expect(page.contains("all URLs bad: <b class=\"host bad\">old.example.com</b> (3)"))
    #expect(page.contains("<span class=\"place\">img.example.com/catalog/2025/summer/</span><b>700</b>"))
    #expect(page.contains("data-name=\"Folder\" data-value=\"img.example.com/products/\" data-count=\"40\""))
  }

  private var gone: ImageFailure { ImageFailure(.httpStatus, status: 404, message: "the server responded with 404") }

  @Test func `a page that uses an image is a link in HTML and Markdown, and other lists aren't`() {
    let run = makeRun(manifests: ["https://www.example.com/?a=1&b=2", "urls.txt", "https://www.example.com/<b>|"])
    for manifest in 0..<3 {
      run.record(.failed(gone), url: "https://img.example.com/\(manifest).jpg", manifest: manifest, line: 49)
    }
    let report = run.finish(makeEnd())
    let (page, markdown) = (HTMLReport().text(report), MarkdownReport().text(report))
    #expect(page.contains(#"<a class="place" href="https://www.example.com/?a=1&amp;b=2" target="_blank" rel="noopener">"#))
    #expect(page.contains(#"<span class="place">urls.txt:49</span>"#))
    #expect(markdown.contains("in [`https://www.example.com/?a=1&b=2:49`](<https://www.example.com/?a=1&amp;b=2>)"))
    #expect(markdown.contains("in `urls.txt:49`") && !markdown.contains("](<https://www.example.com/<b>"))
  }

  @Test(
    arguments: [
      ("the image has 1200 bytes; at most 1000000 are allowed", "the image has 1,200 bytes; at most 1,000,000 are allowed"),
      ("it has 6127 bytes, but 10200.", "it has 6,127 bytes, but 10,200."), ("(24600 of 30000)", "(24,600 of 30,000)"),
      (
        "urls.txt:12345: port 8443, status 2000, '123456', max-age=31536000",
        "urls.txt:12345: port 8443, status 2000, '123456', max-age=31536000"
      ),
      (
        "until 2026-11-28 09:00 UTC, 0123 and 1234567890123456789012",
        "until 2026-11-28 09:00 UTC, 0123 and 1234567890123456789012"
      ),
      ("https://a.example/12345 12345/7 1,234 999", "https://a.example/12345 12345/7 1,234 999"),
    ]
  )
  func `counts in sentences have grouped digits, and names that are numbers don't`(sentence: String, expected: String) {
    #expect(groupingDigits(in: sentence) == expected && groupingDigits(in: expected) == expected)
  }
}
