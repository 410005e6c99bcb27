import ImagePrimitives
@testable import Reports
import TestSupport
import Testing

/// 50,000 URLs of 40 hosts, of which 2 % are broken in twelve ways.
private func makeBrokenRun() -> RunReport {
  let run = makeRun(manifests: ["urls/catalog.csv"])
  for host in 0..<40 {
    run.record(.downloaded(bytes: 24_600, milliseconds: 12), host: "img\(host).example.com", count: host == 7 ? 523 : 1243)
  }
  let messages: [(Failure, Int)] = [
    (Failure(.httpStatus, status: 404, message: "the server answered 404 Not Found"), 300),
    (Failure(.httpStatus, status: 410, message: "the server answered 410 Gone"), 120),
    (Failure(.httpStatus, status: 503, isTransient: true, message: "the server answered 503 Service Unavailable"), 90),
    (Failure(.timeout, isTransient: true, message: "no answer in 60 s"), 85),
    (Failure(.dns, isTransient: true, message: "Could not resolve host: img3.example.com"), 80),
    (Failure(.connect, isTransient: true, message: "connection refused"), 75),
    (Failure(.tls, message: "SSL certificate problem: certificate has expired"), 70),
    (Failure(.notAnImage, message: "served HTML as image/jpeg"), 60),
    (Failure(.undecodable, message: "Premature end of JPEG file"), 50),
    (Failure(.empty, message: "the body is empty"), 40),
    (Failure(.truncated, isTransient: true, message: "the body ended after 12 of 24,600 bytes"), 20),
    (Failure(.dimensions, message: "1x1 pixels; verify.width.min is 10"), 10),
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

@Suite struct TextOverviewTests {
  private func lines(_ text: String) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  private static let titles = [
    "404 Not Found", "410 Gone", "503 Service Unavailable", "timeout", "DNS", "cannot connect", "TLS", "not an image",
    "undecodable", "empty body", "cut body", "dimensions",
  ]

  @Test("the first screen shows twelve kinds and the worst host", arguments: [TextReport.Order.verdictFirst, .failuresFirst])
  func theFirstScreenShowsTwelveKindsAndTheWorstHost(order: TextReport.Order) throws {
    let report = makeBrokenRun().finish(makeEnd(after: .seconds(40)))
    let page = lines(TextReport(order: order).text(report))
    let screen = page.prefix(24)
    #expect(page.allSatisfy { $0.count <= 80 })
    for title in Self.titles {
      #expect(screen.contains { $0.hasPrefix("  \(title) ") }, "no \(title) in\n\(screen.joined(separator: "\n"))")
    }
    expectGolden(screen.first { $0.contains("404 Not Found") }, for: "404")
    expectGolden(screen.first { $0.contains("img7.example.com, 517") }, for: "Failures")
    #expect(screen.contains { $0.hasPrefix("Hosts") } || order == .verdictFirst)
  }

  @Test("the verdict of a check is its last line") func theVerdictOfACheckIsItsLastLine() {
    let report = makeBrokenRun().finish(makeEnd(after: .seconds(40)))
    let page = lines(TextReport(order: .failuresFirst).text(report)).dropLast()
    #expect(page.first?.hasPrefix("Failures") == true)
    expectGolden(page.suffix(2).joined(separator: " "))
    #expect(page.suffix(2).first?.hasPrefix("homepage: ") == true || page.last?.hasPrefix("homepage: ") == true)
  }

  @Test("the worst hosts and examples follow the overview") func anOverviewIsFollowedByTheWorstHostsAndExamples() {
    let text = TextReport().text(makeBrokenRun().finish(makeEnd(after: .seconds(40))))
    let page = lines(text)
    let hosts = page.firstIndex { $0.hasPrefix("Hosts") }!
    #expect(page[hosts + 1].hasPrefix("  img7.example.com "))
    let examples = page.firstIndex(of: "Examples")!
    #expect(examples > hosts)
    #expect(page[examples + 1] == "  404 Not Found")
    #expect(page[examples + 2].hasPrefix("    https://img7.example.com/catalog/0/0.jpg "))
    #expect(page[examples + 2].hasSuffix("  urls/catalog.csv:1"))
    expectGolden(page[examples + 4])
    expectGolden(page.filter { $0.contains("(no answer in 60 s)") }.joined(separator: "\n"))
  }

  @Test("every kind is shown, and many statuses are counted") func everyKindIsShownAndManyStatusesAreCounted() {
    let run = makeRun()
    for kind in FailureKind.allCases where kind != .httpStatus { run.record(.failed(Failure(kind, message: "so"))) }
    let kinds = lines(TextReport().text(run.finish(makeEnd(after: .seconds(1)))))
    #expect(kinds.filter { $0.hasSuffix("   img.example.com 1") }.count == FailureKind.allCases.count - 1)
    for status in 500..<550 { run.record(.failed(Failure(.httpStatus, status: status, message: "no"))) }
    let all = TextReport().text(run.finish(makeEnd(after: .seconds(1))))
    let others = FailureKind.allCases.count - 1 + 50 - 40
    expectGolden(all.lines(with: " \(others) "))
  }

  @Test("up to four kinds need no overview") func fourKindsTakeNoOverview() {
    let run = makeRun()
    for kind in [FailureKind.dns, .timeout, .reset, .empty] { run.record(.failed(Failure(kind, message: "so"))) }
    let text = TextReport().text(run.finish(makeEnd(after: .seconds(1))))
    #expect(!text.contains("Examples") && !text.contains("worst:"))
  }

  @Test("a good run ends with its verdict too") func aRunInWhichAllIsWellEndsWithItsVerdictToo() {
    let run = makeRun()
    run.record(.make(.checked) { $0.attempts = 1 }, count: 3)
    let text = TextReport(order: .failuresFirst).text(run.finish(makeEnd(after: .milliseconds(400))))
    expectGolden(text)
  }

  @Test("a message heads a kind only if all of its failures share it", arguments: [false, true])
  func aSentenceStandsOverAKindOnlyWhereAllOfItHaveIt(hasOverview: Bool) {
    let run = makeRun()
    let kinds: [FailureKind] = hasOverview ? [.dns, .timeout, .reset, .empty] : []
    for kind in kinds { run.record(.failed(Failure(kind, message: "so"))) }
    run.record(.failed(Failure(.invalidURL, message: "no scheme")), url: "not a url", host: "", line: 1)
    run.record(.failed(Failure(.invalidURL, message: "neither http nor https")), url: "ftp://x/y.png", host: "", line: 2)
    run.record(.failed(Failure(.notAnImage, message: "the body is HTML")), line: 3, count: 3)
    let page = lines(TextReport().text(run.finish(makeEnd(after: .seconds(1)))))
    let first = page.firstIndex { $0.hasPrefix("    not a url ") }!
    #expect(page[first + 1] == "      (no scheme)" && page[first + 3] == "      (neither http nor https)")
    #expect(page[first + 2].hasPrefix("    ftp://x/y.png "))
    #expect(page.count { $0.contains("(no scheme)") } == 1)
    #expect(page.count { $0.hasSuffix("   (the body is HTML)") } == 1)
  }

  // MARK: What does not count

  @Test("failures that don't count are listed separately") func failuresThatDoNotCountAreToldApart() {
    let judge = HalfKnown()
    let run = RunReport(
      version: "0.1.0",
      job: JobIdentity(name: "homepage", file: nil),
      words: .job,
      manifests: ["urls.txt"],
      startedAt: nil,
      judge: judge
    )
    let missing = Failure(.httpStatus, status: 404, message: "the server answered 404 Not Found")
    for number in 1...6 { run.record(.failed(missing), url: "https://img.example.com/\(number).jpg", line: UInt64(number)) }
    let text = TextReport(width: 120).text(run.finish(makeEnd(after: .seconds(1))))
    expectGolden(text.lines(with: "homepage: "))
    expectGolden(text.lines(with: "img.example.com 6"))
    // Those that count come first.
    let examples = lines(text).filter { $0.contains("https://") }
    #expect(examples.allSatisfy { !$0.contains("(known)") } && examples.count == 2)
    #expect(TextReport(isVerbose: true).text(run.finish(makeEnd(after: .seconds(1)))).contains("urls.txt:1 (known)\n"))
  }

  /// Every other failure is known.
  private final class HalfKnown: FailureJudge {
    private var count = 0
    func standing(of entry: EntryKey) -> FailureStanding {
      count += 1
      return count % 2 == 1 ? .known : .counts
    }
  }

  // MARK: The same images

  @Test("placeholders and duplicates have a line each") func placeholdersAndDuplicatesHaveALineEach() {
    let run = makeRun()
    run.record(.downloaded(bytes: 68, milliseconds: 12), count: 20)
    var report = run.finish(makeEnd(after: .seconds(1)))
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
