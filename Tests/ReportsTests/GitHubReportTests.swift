import Foundation
import Base
import TestSupport
import Testing

@testable import Reports

/// A workflow command as the runner of GitHub Actions reads a line: `::NAME KEY=VALUE,…::DATA`, after white space, with `%XX` for what
/// would end a part.
struct ReadCommand: Equatable {
  var name: String
  var properties: [String: String] = [:]
  var message: String

  init?(_ line: Substring) {
    let line = line.drop { $0.isWhitespace }
    guard line.hasPrefix("::"), let end = line.dropFirst(2).range(of: "::") else { return nil }
    let head = line[line.index(line.startIndex, offsetBy: 2)..<end.lowerBound]
    name = String(head.prefix { $0 != " " })
    for pair in head.dropFirst(name.count + 1).split(separator: ",") {
      let parts = pair.split(separator: "=", maxSplits: 1)
      guard parts.count == 2 else { continue }
      properties[String(parts[0])] = Self.decoded(parts[1], ["%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ","])
    }
    message = Self.decoded(line[end.upperBound...], ["%0D": "\r", "%0A": "\n"])
  }

  private static func decoded(_ text: Substring, _ escapes: [String: String]) -> String {
    let text = escapes.reduce(String(text)) { $0.replacingOccurrences(of: $1.key, with: $1.value) }
    return text.replacingOccurrences(of: "%25", with: "%")
  }
}

@Suite struct GitHubReportTests {
  private let folder = TemporaryDirectory()

  private func commands(_ report: FinishedReport, workspace: String? = RichRun.workspace) throws -> [ReadCommand] {
    let text = GitHubReport(workspace: workspace).text(report)
    return try text.split(separator: "\n").map { try #require(ReadCommand($0)) }
  }

  @Test func `counting failures are errors with file and line, at most ten of each kind and then a count`() throws {
    let commands = try commands(RichRun.report())
    #expect(commands.count { $0.name == "notice" } == 1)
    expectGolden(commands[0].message)
    let missing = commands.filter { $0.properties["title"] == "http-status 404" }
    #expect(missing.count == 11)
    #expect(missing[0].properties == ["title": "http-status 404", "file": "urls/hero.txt", "line": "30"])
    expectGolden(missing[0].message)
    #expect(missing[10].properties["file"] == nil)
    expectGolden(missing[10].message)
    let slow = try #require(commands.first { $0.name == "error" && $0.properties["title"] == "timeout" })
    #expect(slow.properties == ["title": "timeout"])
    expectGolden(slow.message)
    // The first of each kind come first, errors before warnings.
    #expect(commands[2...5].map { $0.properties["title"] } == ["http-status 404", "not-an-image", "timeout", "invalid-url"])
    let levels = commands.map(\.name).filter { $0 != "notice" }
    #expect(levels == levels.sorted())
  }

  @Test func `allowed failures, placeholders and warnings are warnings`() throws {
    let warnings = try commands(RichRun.report()).filter { $0.name == "warning" }
    expectGolden(Set(warnings.map(\.message)).sorted().joined(separator: "\n"))
    var rules = FailOn()
    rules.failures = .never
    let borne = try commands(RichRun.report(failOn: rules))
    #expect(!borne.contains { $0.name == "error" })
    #expect(borne.count { $0.properties["title"] == "http-status 404" } == 11)
  }

  @Test func `if failures are allowed, only kinds that break their own rule are errors`() throws {
    func errors(_ rules: FailOn) throws -> [String?] {
      try commands(RichRun.report(failOn: rules)).filter { $0.name == "error" }.map { $0.properties["title"] }
    }
    var rules = FailOn()
    (rules.failures, rules.latency) = (.count(20), [.max: .milliseconds(1)])
    #expect(try errors(rules) == ["prewarm homepage"])
    rules.kinds = [.timeout: .count(0), .notAnImage: .count(5)]
    #expect(try errors(rules) == ["prewarm homepage", "timeout"])
    #expect(try errors(FailOn()).count > 10)
  }

  @Test func `a report whose counts are below its list is written`() throws {
    var report = RichRun.report()
    for index in report.failureGroups.indices {
      (report.failureGroups[index].failed, report.failureGroups[index].blacklisted) = (0, 0)
      report.failureGroups[index].counting = 1
    }
    #expect(try commands(report).count > 10)
    #expect(!MarkdownReport().text(report).isEmpty && !PrometheusReport().text(report).isEmpty)
  }

  @Test func `fixed URLs of the baseline are a notice, and in the Markdown report too`() throws {
    var report = RichRun.report()
    report.baseline = BaselineDifference(path: "known.jsonl", failures: 9, stillBad: 2, fixed: 4)
    func notices() throws -> [String] { try commands(report).filter { $0.name == "notice" }.map(\.message) }
    #expect(try notices().first == report.differencePhrase)
    report.baseline?.fixedEntries = ["a", "b"].map { ListedEntry(url: "https://img.example.com/\($0).jpg") }
    expectGolden(try notices().joined(separator: "\n\n"), for: "listed")
    #expect(try notices()[0].split(separator: "\n").count == 4)
    let lines = MarkdownReport().text(report).split(separator: "\n").filter { $0.hasPrefix("Baseline:") }
    expectGolden(lines.joined())
    let list = "- `https://img.example.com/a.jpg`\n- `https://img.example.com/b.jpg`\n\n… 2 more"
    #expect(MarkdownReport().text(report).contains(list))
    report.baseline?.fixed = 0
    #expect(try notices().count == 1)
  }

  @Test func `a good run prints nothing, and one that broke off prints the reason`() throws {
    #expect(try commands(makeRun().finish(makeEnd())).isEmpty)
    let broken = try commands(makeRun().finish(makeEnd { $0.breakage = "a.gz broke off" }))
    #expect(broken.map(\.name) == ["error"])
    #expect(broken[0].message.contains("a.gz broke off"))
  }

  @Test(
    arguments: [
      ("/work/shop/urls/a.txt", "/work/shop", "urls/a.txt"), ("/work/shop/urls/a.txt", "/work/shop/", "urls/a.txt"),
      ("/work/shopping/a.txt", "/work/shop", nil), ("/tmp/a.txt", "/work/shop", nil), ("/work/shop/../a.txt", "/work/shop", nil),
      ("/work/shop/a.txt", nil, nil), ("/work/shop", "/work/shop", nil), (nil, "/work/shop", nil),
    ] as [(String?, String?, String?)]
  )
  func `a location names a file only within the repository`(_ file: String?, _ workspace: String?, _ expected: String?) throws {
    let run = RunReport(version: "", job: JobIdentity(name: "a", file: nil), words: .job, startedAt: nil)
    run.addManifest("a.txt", file: file)
    run.record(.failed(ImageFailure(.reset, message: "")), line: 0)
    let commands = try commands(run.finish(makeEnd()), workspace: workspace)
    #expect(commands[1].properties["file"] == expected)
    #expect(commands[1].properties["line"] == nil)
  }

  @Test(
    arguments: [
      hostileTexts, hostileMarkdown,
      [
        "a\n::set-output name=x::y", "\r\n::stop-commands::t", "::error::x", "a::b", "a,file=/etc/passwd", "%0A::debug::x", "%25",
        "100 %", "##[error]x", "a=b",
      ],
    ]
  )
  func `external text neither starts a command nor leaves its part of one`(_ list: [String]) throws {
    for start in stride(from: 0, to: list.count, by: GitHubReport.limit) {
      let texts = Array(list[start..<min(start + GitHubReport.limit, list.count)])
      let run = RunReport(version: "", job: JobIdentity(name: texts.joined(), file: nil), words: .job, startedAt: nil)
      for text in texts {
        let manifest = run.addManifest(text, file: "/w/\(text)")
        run.record(.failed(ImageFailure(.reset, message: text)), url: text, host: text, manifest: manifest)
      }
      var report = run.finish(makeEnd { $0.warnings = texts })
      report.placeholders = texts.map { Placeholder(host: $0, checksum: Checksum(high: 0, low: 0), urls: 10, firstURL: $0) }
      let text = GitHubReport(workspace: "/w").text(report)
      #expect(!text.unicodeScalars.contains { $0 != "\n" && $0.properties.generalCategory == .control })
      let commands = try commands(report, workspace: "/w")
      #expect(commands.count == 1 + 3 * texts.count)
      for command in commands {
        #expect(["error", "warning"].contains(command.name))
        #expect(Set(command.properties.keys).isSubset(of: ["file", "line", "title"]))
      }
      for (command, text) in zip(commands.filter { $0.properties["title"] == "connection reset" }, texts) {
        let shown = escapedForTerminal(text)
        #expect(command.properties["file"] == (text.isEmpty ? nil : shown))
        #expect(command.message == "\(shown):1: \(shown): \(shown)")
      }
      let warnings = commands.filter { $0.name == "warning" && $0.properties["title"] != "placeholder" }
      #expect(warnings.map(\.message) == texts.map { escapedForTerminal($0) })
    }
  }

  @Test func `ten of each kind are listed, then the number of the others`() throws {
    let run = makeRun()
    run.record(.failed(ImageFailure(.reset, message: "cut")), count: 5000)
    var report = run.finish(makeEnd { $0.warnings = (1...30).map { "warning \($0)" } })
    report.failureGroups[0].examples = report.failures
    report.placeholders = Array(repeating: RichRun.placeholder, count: 12)
    let commands = try commands(report)
    #expect(commands.count == 1 + 3 * 11)
    expectGolden(commands.map(\.message).filter { $0.contains(#/^[\d,]+ /#) }.joined(separator: "\n"))
  }

  @Test func `the Markdown form is appended to the step summary`() throws {
    var options = ReportOptions()
    options.stepSummaryPath = folder.write("# before", to: "summary.md")
    _ = try ReportFormat.github.text(at: folder.file("commands.txt"), options: options)
    let text = String(decoding: try #require(folder.read("summary.md")), as: UTF8.self)
    #expect(text == "# before\n\n" + MarkdownReport().text(RichRun.report()))
  }

  @Test(arguments: [1_000_000, 1_046_000, 1_047_000, 1_048_300, 1_048_500, 1_048_575, 1_048_576, 2_000_000])
  func `the step summary stays below 1 MiB`(taken: Int) throws {
    var options = ReportOptions()
    options.stepSummaryPath = folder.write(Array(repeating: UInt8(ascii: "a"), count: taken), to: "summary.md")
    _ = try ReportFormat.github.text(at: folder.file("commands.txt"), options: options)
    let count = try #require(folder.read("summary.md")).count
    // Not two line feeds alone, either.
    #expect(count == taken || (count > taken + 2 && count < 1_048_576))
    // As much as there is room for.
    if taken < 1_048_300 { #expect(count > taken + 500) }
    if taken == 1_000_000 { #expect(count == taken + 2 + MarkdownReport().text(RichRun.report()).utf8.count) }
  }

  @Test func `an unwritable summary is an error, and the annotations are printed`() throws {
    var options = ReportOptions()
    options.stepSummaryPath = folder.file("missing/summary.md")
    let path = folder.file("commands.txt")
    let writer = try ReportFormat.github.open(path, options: options)
    #expect(throws: ReportError(.write, path: folder.file("missing/summary.md"), code: ENOENT)) {
      try writer.finish(RichRun.report())
    }
    #expect(try #require(folder.read("commands.txt")).count > 100)
  }
}
