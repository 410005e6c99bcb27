import Foundation
@testable import Reports
import TestSupport
import Testing

@Suite struct JSONGoldenTests {
  @Test func `the JSON report of a rich run equals its fixture byte for byte, also after reading it`() throws {
    let path = Fixtures.path("reports/rich-run.json")
    if ProcessInfo.processInfo.environment["PREWARM_UPDATE_GOLDENS"] != nil {
      try JSONReport().text(RichRun.report()).write(toFile: path, atomically: true, encoding: .utf8)
    }
    let golden = try String(contentsOfFile: path, encoding: .utf8)
    #expect(firstDifference(JSONReport().text(RichRun.report()), golden) == nil)
    #expect(firstDifference(JSONReport().text(try ReportInput(path: path).report(words: .job)), golden) == nil)
  }
}
