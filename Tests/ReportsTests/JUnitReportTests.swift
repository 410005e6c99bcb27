import Foundation
import Base
import TestSupport
import Testing

@testable import Reports

@Suite struct JUnitReportTests {
  private let folder = TemporaryDirectory()

  /// A file that keeps to the schema, and its elements.
  private func junit(
    successes: Bool = false,
    _ record: ([any ReportJournal]) -> FinishedReport = { RichRun.report($0) }
  ) async throws -> XMLNodes {
    var options = ReportOptions()
    options.listsSuccesses = successes
    options.workspace = RichRun.workspace
    let bytes = try ReportFormat.junit.text(at: folder.file("junit.xml"), options: options, record)
    try await Readers.checkJUnit(bytes)
    return try XMLNodes(bytes)
  }

  /// The cases of entries, or the others.
  private func cases(_ nodes: XMLNodes, ofEntries: Bool = true) -> [(XMLNodes.Element, [XMLNodes.Element])] {
    nodes.elements.indices.filter { nodes.elements[$0].name == "testcase" }
      .map { (nodes.elements[$0], nodes.children(of: $0)) }
      .filter { ["run", "fail-on", "(not listed)"].contains($0.0.attributes["classname"]) != ofEntries }
  }

  @Test func `a failure has host, URL, seconds, location, kind and message, timeouts included`() async throws {
    let cases = cases(try await junit())
    #expect(cases.count == 20)
    let (missing, result) = cases[0]
    #expect(
      missing.attributes == [
        "classname": "img.example.com", "name": "https://img.example.com/old.jpg", "time": "0.0", "file": "urls/hero.txt",
        "line": "30",
      ]
    )
    #expect(result.map(\.name) == ["failure"])
    #expect(result[0].attributes == ["type": "http-status", "message": "the server answered 404 Not Found"])
    expectGolden(result[0].text)
    let (slow, timeout) = try #require(cases.first { $0.0.attributes["classname"] == "slow.example.net:8443" })
    #expect(slow.attributes["name"] == "https://slow.example.net:8443/a.png?x=1&y=<2>")
    #expect(slow.attributes["time"] == "60.0")
    // Standard input isn't a file of the repository.
    #expect(slow.attributes["file"] == nil)
    #expect(timeout[0].name == "failure" && timeout[0].attributes["type"] == "timeout")
    expectGolden(timeout[0].text)
    #expect(cases.last?.0.attributes["name"] == "https://img.example.com/v.png [webp, east]")
    #expect(cases.map(\.0.attributes["classname"]).contains("(no host)"))
  }

  @Test func `a failure names the URL that redirects led to`() async throws {
    let nodes = try await junit { journals in
      let run = makeRun(journals: journals)
      let failure = ImageFailure(.notAnImage, message: "the body is HTML")
      run.record(EntryResult(.failed, details: .init(failure: failure, finalURL: "https://img.example.com/login")))
      return run.finish(makeEnd())
    }
    let message = try #require(cases(nodes).first?.1.first?.attributes["message"])
    #expect(message == "the body is HTML, after a redirect to https://img.example.com/login")
  }

  @Test func `a URL that is listed twice makes two cases`() async throws {
    let names = cases(try await junit(successes: true)).map { $0.0.attributes["name"]! + $0.0.attributes["classname"]! }
    #expect(Set(names).count == names.count)
    #expect(names.contains("https://img.example.com/old.jpg (14)img.example.com"))
  }

  @Test func `failures that don't count are skipped cases with their message`() async throws {
    let cases = cases(try await junit())
    let known = try #require(cases.first { $0.0.attributes["name"] == RichRun.known }?.1)
    #expect(known.map(\.name) == ["skipped"])
    expectGolden(known[0].attributes["message"])
    let alsoKnown = try #require(cases.first { $0.0.attributes["name"] == RichRun.alsoKnown }?.1)
    expectGolden(alsoKnown[0].attributes["message"])
  }

  @Test(arguments: [false, true])
  func `counts are the run's, whether or not its successes are listed`(successes: Bool) async throws {
    let report = RichRun.report()
    let nodes = try await junit(successes: successes)
    let suite = nodes.named("testsuite")[0].attributes
    #expect(suite["tests"] == "\(report.totals.urls)")
    #expect(suite["failures"] == "18")
    #expect(suite["skipped"] == "11")
    #expect(suite["time"] == "8.1")
    #expect(suite["timestamp"] == "2026-11-21T09:00:00Z")
    let listed = cases(nodes)
    #expect(listed.count == (successes ? Int(report.totals.urls) : 20))
    #expect(listed.count { $0.1.first?.name == "failure" } == 18)
    #expect(listed.count { $0.1.first?.name == "skipped" } == (successes ? 11 : 2))
  }

  @Test func `the verdict is a property and output; only reasons without a failed entry have a case, and a good run has one too`()
    async throws
  {
    func others(_ record: (RunReport) -> Void = { _ in }, _ change: (inout RunEnd) -> Void = { _ in }) async throws -> [String:
      String]
    {
      let nodes = try await junit { journals in
        let run = makeRun(journals: journals)
        record(run)
        return run.finish(makeEnd(after: .seconds(1), change))
      }
      #expect(nodes.named("testsuite").count == 1)
      let verdict = try #require(nodes.named("property").first { $0.attributes["name"] == "verdict" }?.attributes["value"])
      #expect(
        nodes.named("system-out")[0].text.hasPrefix("\n\(verdict)\n") || nodes.named("system-out")[0].text.hasPrefix(verdict)
      )
      let suite = nodes.named("testsuite")[0].attributes
      let all = cases(nodes, ofEntries: false)
      let failing = all.count { !$0.1.isEmpty } + cases(nodes).count
      #expect(suite["failures"] == "\(failing)")
      return Dictionary(
        uniqueKeysWithValues: all.map { ($0.0.attributes["name"]!, $0.1.first?.attributes["message"] ?? "") }
          + [("verdict", verdict)]
      )
    }
    let rest = "URLs that didn't fail"
    let passed = try await others()
    #expect(passed.keys.sorted() == [rest, "verdict"] && passed[rest] == "")
    let bad = try await others({ $0.record(.failed(ImageFailure(.reset, message: "no"))) })
    #expect(bad.keys.sorted() == [rest, "verdict"])
    expectGolden(bad["verdict"], for: "failures")
    let empty = try await others({ _ in }) { $0.isEmpty = true }
    expectGolden(empty["fail-on.empty"], for: "fail-on.empty")
    let late = try await others({ _ in }) { ($0.isPastDeadline, $0.areManifestsRead) = (true, false) }
    #expect(late.keys.sorted() == [rest, "fail-on.unfinished", "verdict"])
    let broken = try await others({ _ in }) { $0.breakage = "urls/a.csv.gz broke off" }
    #expect(broken["run finishes"] == "urls/a.csv.gz broke off")
    let stopped = try await others({ _ in }) { $0.interruption = .terminate }
    expectGolden(stopped["run finishes"])
  }

  @Test func `hostile text stays in its place, and characters invalid in XML are shown`() async throws {
    let texts = hostileTexts + ["]]>", "<!--", "&#0;", "a\"b'c<d>&e", "\u{FFFE}\u{FFFF}", "\u{1}\u{8}\u{B}"]
    let nodes = try await junit { journals in
      let run = makeRun(job: JobIdentity(name: texts.joined(), file: nil), manifests: [], startedAt: nil, journals: journals)
      for text in texts {
        let manifest = run.addManifest(text, file: "\(RichRun.workspace)/\(text)")
        run.record(.failed(ImageFailure(.reset, message: text)), url: text, host: text, manifest: manifest)
      }
      run.record(.failed(ImageFailure(.reset, message: "")), urlBytes: [0x61, 0xFF, 0x62])
      return run.finish(makeEnd { $0.breakage = texts.joined() })
    }
    let cases = cases(nodes)
    #expect(cases.last?.0.attributes["name"] == "a\\xFFb")
    for ((element, children), text) in zip(cases, texts) {
      let shown = escapedForTerminal(text)
      #expect(element.attributes["name"] == shown)
      #expect(element.attributes["classname"] == shown)
      #expect(element.attributes["file"] == shown)
      #expect(children[0].attributes["message"] == shown)
      #expect(children[0].text.hasPrefix("\(shown):1: \(shown)\n"))
    }
  }

  @Test func `a URL of a megabyte is truncated`() async throws {
    let url = "https://img.example.com/" + String(repeating: "&", count: 1_000_000)
    let nodes = try await junit { journals in
      let run = makeRun(journals: journals)
      run.record(.failed(ImageFailure(.reset, message: url)), url: url, count: 2)
      return run.finish(makeEnd())
    }
    let names = cases(nodes).compactMap { $0.0.attributes["name"] }
    #expect(names.count == 2 && Set(names).count == 2)
    #expect(names.allSatisfy { $0.utf8.count < 2100 })
  }

  @Test func `an unusable temporary folder is an error of that folder, not of the report`() throws {
    let folder = TemporaryDirectory()
    let missing = ReportError(.spool, path: folder.file("missing"), code: ENOENT)
    #expect(throws: missing) { _ = try ReportSpool(folder: folder.file("missing")) }
    expectGolden(missing.description)
    #expect(missing.description.contains("TMPDIR"))
  }

  @Test func `a full device is an error of the report's path`() throws {
    let writer = try ReportFormat.junit.open("/dev/full")
    #expect(throws: ReportError(.write, path: "/dev/full", code: ENOSPC)) { try writer.finish(RichRun.report()) }
  }
}
