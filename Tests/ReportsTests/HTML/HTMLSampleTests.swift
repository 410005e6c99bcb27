import Foundation
import Base
@testable import Reports
import Testing

@Suite struct HTMLSampleTests {
  /// `PREWARM_HTML_SAMPLE=/tmp/sample.html swift test --filter aSamplePageToLookAt` writes the page of a large run there.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["PREWARM_HTML_SAMPLE"] != nil))
  func `writes sample pages for review`() throws {
    let path = try #require(ProcessInfo.processInfo.environment["PREWARM_HTML_SAMPLE"])
    try HTMLReport().write(makeLargeRun(), to: ReportFile(path: path))
    try HTMLReport().write(makeTroubledRun(), to: ReportFile(path: path.replacing(".html", with: "-small.html")))
    try HTMLReport().write(makeGoodRun(), to: ReportFile(path: path.replacing(".html", with: "-good.html")))
  }
}

/// A run of 10,000 URLs without failures.
func makeGoodRun() -> FinishedReport {
  let run = makeRun()
  run.record(.downloaded(bytes: 24_600, milliseconds: 12), count: 300)
  run.record(.make(.hitDisk) { $0.bytes = 100_000 }, count: 9700)
  return run.finish(makeEnd(after: .milliseconds(420)) { addStores(to: &$0) })
}
