import Base
@testable import Reports
import TestSupport
import Testing

/// 50,000 URLs of 40 hosts, of which 2 % are broken in twelve ways.
private func makeBrokenRun() -> RunReport {
  let run = makeRun(manifests: ["urls/catalog.csv"])
  for host in 0..<40 {
    run.record(.downloaded(bytes: 24_600, milliseconds: 12), host: "img\(host).example.com", count: host == 7 ? 523 : 1243)
  }
  let messages: [(ImageFailure, Int)] = [
    (ImageFailure(.httpStatus, status: 404, message: "the server answered 404 Not Found"), 300),
    (ImageFailure(.httpStatus, status: 410, message: "the server answered 410 Gone"), 120),
    (ImageFailure(.httpStatus, status: 503, isTransient: true, message: "the server answered 503 Service Unavailable"), 90),
    (ImageFailure(.timeout, isTransient: true, message: "no answer in 60 s"), 85),
    (ImageFailure(.dns, isTransient: true, message: "Could not resolve host: img3.example.com"), 80),
    (ImageFailure(.connect, isTransient: true, message: "connection refused"), 75),
    (ImageFailure(.tls, message: "SSL certificate problem: certificate has expired"), 70),
    (ImageFailure(.notAnImage, message: "served HTML as image/jpeg"), 60),
    (ImageFailure(.undecodable, message: "Premature end of JPEG file"), 50),
    (ImageFailure(.empty, message: "the body is empty"), 40),
    (ImageFailure(.truncated, isTransient: true, message: "the body ended after 12 of 24,600 bytes"), 20),
    (ImageFailure(.dimensions, message: "1x1 pixels; verify.width.min is 10"), 10),
  ]
  for (kind, (failure, count)) in messages.enumerated() {
    for index in 0..<count {
      // One host has half of them.
      let host = "img\(index % 2 == 0 ? 7 : (kind + index) % 40).example.com"
      run.record(.failed(failure), url: "https://\(host)/catalog/\(kind)/\(index).jpg", host: host, line: UInt64(index + 1))
    }
  }
  return run
}

@Suite struct TextFailureTests {
  private func lines(_ text: String) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  private static let titles = [
    "http-status 404", "http-status 410", "http-status 503", "timeout", "dns", "connect", "tls", "not-an-image", "undecodable",
    "empty", "truncated", "dimensions",
  ]

  @Test func `failures have the names of fail-on, and kinds get equal parts of the list`() throws {
    let report = makeBrokenRun().finish(makeEnd(after: .seconds(40)))
    let page = lines(TextReport().text(report))
    #expect(page.allSatisfy { $0.count <= 80 })
    for title in Self.titles {
      let row = try #require(page.firstIndex { $0.hasPrefix("  \(title) ") }, "no \(title) in\n\(page.joined(separator: "\n"))")
      #expect(page[row + 1].contains("https://") || page[row + 2].contains("https://"))
    }
    #expect(page.count { $0.contains("https://") } == 20)
    expectGolden(page.filter { $0.contains("… ") }.joined(separator: "\n"))
    expectGolden(page.dropFirst().prefix { !$0.hasPrefix("  http-status 410") }.joined(separator: "\n"), for: "first")
  }

  @Test(arguments: [0, 1, 5, 13, 999, 1000, .max]) func `the failure limit applies`(count: Int) {
    let run = makeRun()
    let missing = ImageFailure(.httpStatus, status: 404, message: "no")
    for number in 1...700 { run.record(.failed(missing), url: "https://img.example.com/\(number).jpg", line: UInt64(number)) }
    for number in 1...500 { run.record(.failed(ImageFailure(.dns, message: "no")), url: "https://cdn.example.com/\(number).jpg") }
    let text = TextReport(failureLimit: count).text(run.finish(makeEnd()))
    let listed = min(count, 1200)
    #expect(text.split(separator: "https://").count - 1 == listed)
    #expect(text.contains("  … \(grouped(UInt64(1200 - listed))) more: --failures all") == (listed < 1200))
  }

  @Test(arguments: [LoadOutcome.failed, .blacklisted])
  func `failures of blacklisted URLs end with the option that requests them again`(outcome: LoadOutcome) {
    let run = makeRun()
    run.record(
      .failed(ImageFailure(.httpStatus, status: 404, message: "no"), outcome: outcome),
      url: "https://img.example.com/1.jpg"
    )
    let text = TextReport().text(run.finish(makeEnd()))
    #expect(text.contains("again: --retry-blacklisted\n") == (outcome == .blacklisted))
  }

  @Test func `all failures are listed of a run that keeps them`() {
    let run = makeRun(manifests: ["urls.txt"], startedAt: nil, listedFailures: .max)
    for number in 1...10_200 {
      run.record(.failed(ImageFailure(.dns, message: "no")), url: "https://cdn.example.com/\(number).jpg")
    }
    let report = run.finish(makeEnd())
    let text = TextReport(failureLimit: .max).text(report)
    #expect(text.split(separator: "https://").count - 1 == 10_200 && !text.contains("…"))
    let json = JSONReport().text(report)
    #expect(json.contains("\"failures_omitted\": 200"))
  }

  @Test(arguments: [60, 80, 120]) func `nothing is cut unless it goes to a terminal`(width: Int) {
    let run = makeRun()
    let message = String(repeating: "a long reason ", count: 40)
    let url = "https://img.example.com/" + String(repeating: "long/", count: 100) + "a.png"
    run.record(.failed(ImageFailure(.undecodable, message: message)), url: url)
    run.record(.failed(ImageFailure(.undecodable, message: message + "!")), url: url + "?2")
    let report = run.finish(makeEnd())
    let piped = TextReport(width: width).text(report)
    #expect(
      piped.contains(url) && piped.contains(url + "?2") && piped.contains("(\(message))") && piped.contains("(\(message)!)")
    )
    let shown = lines(TextReport(width: width, isCut: true).text(report))
    #expect(shown.allSatisfy { $0.count <= max(width, 4 + 3 * width) } && shown.contains { $0.hasSuffix("…") })
  }

  @Test func `the verdict of a check is its last line`() {
    let report = makeBrokenRun().finish(makeEnd(after: .seconds(40)))
    let page = lines(TextReport(order: .failuresFirst).text(report)).dropLast()
    #expect(page.first == "Failures")
    expectGolden(page.last)
    #expect(page.last?.hasPrefix("homepage  FAILED  ") == true)
  }

  @Test func `quiet text has the failures that count, and nothing of another run`() {
    let run = makeRun()
    run.record(EntryResult(.hitDisk), count: 3)
    let quiet = TextReport(detail: .failures)
    #expect(quiet.text(run.finish(makeEnd())) == "")
    run.record(.failed(ImageFailure(.dns, message: "no such host")))
    expectGolden(quiet.text(run.finish(makeEnd())))
  }

  @Test func `verbose text shows the hosts, those with most failures first`() {
    let report = makeBrokenRun().finish(makeEnd(after: .seconds(40)))
    let page = lines(TextReport(detail: .all).text(report))
    let hosts = page.firstIndex { $0.hasPrefix("Hosts") }!
    #expect(page[hosts + 1].hasPrefix("  img7.example.com "))
    #expect(!TextReport().text(report).contains("Hosts"))
  }

  @Test func `every kind is shown, and many statuses are counted`() {
    let run = makeRun()
    for kind in FailureKind.ofURLs where kind != .httpStatus { run.record(.failed(ImageFailure(kind, message: "so"))) }
    let kinds = lines(TextReport().text(run.finish(makeEnd())))
    for kind in FailureKind.ofURLs where kind != .httpStatus { #expect(kinds.contains { $0.hasPrefix("  \(kind.name) ") }) }
    for status in 500..<550 { run.record(.failed(ImageFailure(.httpStatus, status: status, message: "no"))) }
    let all = TextReport().text(run.finish(makeEnd()))
    expectGolden(all.lines(with: "more"))
  }

  @Test func `a good run ends with its verdict too`() {
    let run = makeRun()
    run.record(.make(.checked) { $0.attempts = 1 }, count: 3)
    let text = TextReport(order: .failuresFirst).text(run.finish(makeEnd(after: .milliseconds(400))))
    expectGolden(text)
  }

  @Test func `a message heads a kind only if all of its failures share it`() {
    let run = makeRun()
    run.record(.failed(ImageFailure(.invalidURL, message: "no scheme")), url: "not a url", host: "", line: 1)
    run.record(.failed(ImageFailure(.invalidURL, message: "neither http nor https")), url: "ftp://x/y.png", host: "", line: 2)
    run.record(.failed(ImageFailure(.notAnImage, message: "the body is HTML")), line: 3, count: 3)
    let page = lines(TextReport().text(run.finish(makeEnd())))
    #expect(page.count { $0.hasPrefix("  invalid-url ") } == 2)
    #expect(page.count { $0.contains("(neither http nor https)") } == 1)
    #expect(page.count { $0.contains("(no scheme)") } == 1)
    #expect(page.count { $0.hasSuffix("   (the body is HTML)") } == 1)
  }

  // MARK: Failures that don't count

  @Test func `failures that don't count are listed separately`() {
    let run = makeRun(manifests: ["urls.txt"], startedAt: nil)
    let missing = ImageFailure(.httpStatus, status: 404, message: "the server answered 404 Not Found")
    for number in 1...6 {
      let (url, standing) = ("https://img.example.com/\(number).jpg", number % 2 == 1 ? FailureStanding.known : .counts)
      run.record(.failed(missing), url: url, line: UInt64(number), standing: standing)
    }
    let text = TextReport(width: 120).text(run.finish(makeEnd()))
    expectGolden(text.lines(with: "homepage  "))
    expectGolden(text.lines(with: "img.example.com 6"))
    // Those that count come first.
    let examples = lines(text).filter { $0.contains("https://") }
    #expect(examples.prefix(3).allSatisfy { !$0.contains("(known)") } && examples.count == 6)
    #expect(TextReport(detail: .all, failureLimit: .max).text(run.finish(makeEnd())).contains("urls.txt:1 (known)\n"))
  }

  @Test func `quiet text lists only the failures that count, also of a group that has both`() {
    let run = makeRun(manifests: ["urls.txt"], startedAt: nil)
    let (missing, down) = (
      ImageFailure(.httpStatus, status: 404, message: "no"), ImageFailure(.hostDown, message: "connection refused")
    )
    for number in 1...2 {
      let url = "https://known.example.com/\(number).jpg"
      run.record(.failed(down), url: url, host: "known.example.com", standing: .known)
      run.record(.failed(missing), url: "https://img.example.com/new\(number).jpg")
    }
    run.record(.failed(missing), url: "https://img.example.com/known.jpg", standing: .known)
    let report = run.finish(makeEnd())
    expectGolden(TextReport(width: 120, detail: .failures).text(report))
    expectGolden(TextReport(width: 120, detail: .failures, failureLimit: 1).text(report))
  }

  // MARK: The same images

  @Test func `placeholders and duplicates have a line each`() {
    let run = makeRun()
    run.record(.downloaded(bytes: 68, milliseconds: 12), count: 20)
    var report = run.finish(makeEnd())
    let first = Placeholder(
      host: "img.example.com",
      checksum: Checksum(high: 1, low: 2),
      urls: 1200,
      firstURL: "https://img.example.com/gone/1.png",
      format: .png,
      width: 1,
      height: 1,
      bytes: 68
    )
    var second = first
    (second.urls, second.width, second.format) = (12, 0, nil)
    second.firstURL = "https://img.example.com/\u{1B}[31m" + String(repeating: "long/", count: 20)
    report.placeholders = [first, second]
    report.duplicates = Duplicates(bodies: 1, urls: 20, isComplete: false)
    expectGolden(TextReport().text(report))
  }
}
