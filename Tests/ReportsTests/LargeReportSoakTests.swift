import Foundation
import Base
import TestSupport
import Testing

@testable import Reports

/// Runs far larger than a file may be. `scripts/soak reports` makes a million rows of them, and looks at memory, for which nothing else
/// may run.
@Suite(.serialized) struct LargeReportSoakTests {
  private static let isLong = ProcessInfo.processInfo.environment["PREWARM_SOAK"] != nil
  private let folder = TemporaryDirectory()

  /// Memory without mapped files, in bytes.
  private func anonymousBytes() throws -> Int {
    let status = String(decoding: try #require(readFile("/proc/self/status")), as: UTF8.self)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") })
    return try #require(line.split(separator: " ").dropLast().last.flatMap { Int($0) }) * 1024
  }

  @Test(arguments: [false, true])
  func `a JUnit file stays below its limit and counts what it omits`(successes: Bool) async throws {
    let path = folder.file("junit.xml")
    let writer = try JUnitWriter(
      file: try ReportFile(path: path),
      listsSuccesses: successes,
      workspace: nil,
      caseBytesLimit: 900_000
    )
    let run = makeRun(journals: [writer])
    // Those that are good are there first, and leave room for those that fail.
    if successes { run.record(EntryResult(.hitDisk), count: 8000) }
    run.record(.failed(ImageFailure(.timeout, message: "no answer in 60 s")), count: 5000)
    try writer.finish(run.finish(makeEnd()))
    let bytes = try #require(readFile(path))
    #expect(bytes.count > 850_000 && bytes.count < 910_000)
    try await Readers.checkJUnit(bytes)
    let nodes = try XMLNodes(bytes)
    let suite = nodes.named("testsuite")[0].attributes
    #expect(suite["tests"] == (successes ? "13000" : "5000"))
    #expect(suite["failures"] == "5000")
    let cut = try #require(nodes.elements.lastIndex { $0.attributes["name"] == "omitted cases" })
    let sentence = try #require(nodes.children(of: cut).first { $0.name == "failure" }?.attributes["message"])
    let counts = sentence.matches(of: /([\d,]+) more/).compactMap { Int($0.1.replacingOccurrences(of: ",", with: "")) }
    // But for this case itself.
    let failures = nodes.named("failure").count - 1
    #expect(failures + counts[0] == 5000)
    if successes { #expect(failures > 1000 && nodes.named("testcase").count - failures - 1 + counts[1] == 8000) }
  }

  @Test func `the omission note names only what was omitted`() async throws {
    let path = folder.file("junit.xml")
    let file = try ReportFile(path: path)
    let writer = try JUnitWriter(file: file, listsSuccesses: true, workspace: nil, caseBytesLimit: 90_000)
    let run = makeRun(journals: [writer])
    run.record(EntryResult(.hitDisk), count: 4000)
    try writer.finish(run.finish(makeEnd()))
    let nodes = try XMLNodes(try #require(readFile(path)))
    let cut = try #require(nodes.named("skipped").last?.attributes["message"])
    #expect(cut.wholeMatch(of: /[\d,]+ more cases omitted: .*/) != nil, "\(cut)")
  }

  @Test func `every form writes a large run with a tenth of failures in constant memory`() async throws {
    let rows = Self.isLong ? 1_000_000 : 5000
    let formats: [ReportFormat] = [.text, .json, .jsonl, .csv, .junit, .markdown, .github, .html, .prometheus]
    var options = ReportOptions()
    options.listsSuccesses = true
    let writers = try formats.map { try $0.open(folder.file("report.\($0.rawValue)"), options: options) }
    let run = makeRun(manifests: ["urls.txt"], journals: writers.compactMap(\.journal))
    var good = EntryResult.downloaded(bytes: 25_000, milliseconds: 12)
    let bad = EntryResult.failed(ImageFailure(.httpStatus, status: 404, message: "the server answered 404 Not Found"))
    func record(_ range: Range<Int>) {
      for line in range {
        let host = "img\(line % 12).example.com"
        // Every other body came before.
        good.checksum = Checksum(high: 1, low: UInt64(line / 2))
        let (result, url) = (line % 10 == 0 ? bad : good, "https://\(host)/products/\(line).jpg")
        // Every third failure is known.
        run.record(result, url: url, host: host, line: UInt64(line + 1), standing: line % 30 == 20 ? .known : .counts)
      }
    }
    // The bounded tables are full after this number of bodies.
    record(0..<rows / 2)
    let before = try anonymousBytes()
    record(rows / 2..<rows)
    let report = run.finish(makeEnd(after: .seconds(60)))
    for writer in writers { try writer.finish(report) }
    let growth = try anonymousBytes() - before
    // JUnit keeps a hash of each name that it lists; a page and a JSON report of 10,000 failures are made in memory.
    if Self.isLong { #expect(growth < 16_000_000, "\(growth) bytes more") }
    #expect(report.standings.known > 0 && report.duplicates.map { $0.bodies > 0 } == true)
    for format in formats {
      let count = try #require(folder.read("report.\(format.rawValue)")).count
      switch format {
      case .csv, .jsonl: #expect(count > rows * 100)
      case .junit: #expect(count < 30_000_000)
      case .html, .json: #expect(count < 5_000_000)
      default: #expect(count < 1_000_000)
      }
    }
    try await Readers.checkJUnit(try #require(folder.read("report.junit")))
    #expect(try await Readers.csv(try #require(folder.read("report.csv"))).count == rows + 1)
  }
}
