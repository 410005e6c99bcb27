import Foundation
import Base
@testable import Reports
import TestSupport
import Testing

/// Reports of jobs with several variants, or with checks of remote caches.
@Suite struct VariantReportTests {
  private let folder = TemporaryDirectory()
  private static let variants = [
    RequestVariant(name: "webp \"2x\"", edge: "east"), RequestVariant(name: nil, edge: "west"),
    RequestVariant(name: "png", edge: nil),
  ]

  /// A run in which each variant had this result, after a plain one.
  private func run(_ results: [EntryResult], journals: [any ReportJournal] = []) -> RunReport {
    let run = makeRun(manifests: ["urls.txt"], variants: Self.variants, journals: journals)
    for (place, result) in results.enumerated() { run.record(result, variant: place % 4) }
    return run
  }

  private func result(_ outcome: LoadOutcome, _ status: RemoteCacheStatus?) -> EntryResult {
    .make(outcome) { $0.remoteCache = status }
  }

  @Test func `rows name variant, edge and remote cache, if present`() throws {
    let journal = try JSONLinesJournal(path: folder.file("rows.jsonl"))
    let results = [result(.checked, nil), result(.checked, .hit), result(.checked, .miss), result(.checked, .unknown)]
    try journal.finish(run(results, journals: [journal]).finish(makeEnd()))
    let start = #"{"url":"https://img.example.com/a.png","manifest":"urls.txt","line":1,"priority":"normal","outcome":"checked""#
    let text = String(decoding: try #require(folder.read("rows.jsonl")), as: UTF8.self)
    #expect(
      text.split(separator: "\n").map(String.init) == [
        start + "}", start + #","remote_cache":"hit","variant":"webp \"2x\"","edge":"east"}"#,
        start + #","remote_cache":"miss","edge":"west"}"#, start + #","remote_cache":"unknown","variant":"png"}"#,
      ]
    )
  }

  @Test func `hosts count remote cache results by edge, shared requests once, and failures name their variant`() throws {
    let failure = ImageFailure(.remoteCache, message: "no cache had it")
    var failed = EntryResult.failed(failure)
    failed.remoteCache = .miss
    var shared = result(.downloaded, .hit)
    shared.isShared = true
    let first = [result(.downloaded, nil), result(.downloaded, .hit), failed, result(.downloaded, nil)]
    let second = [result(.downloaded, nil), shared, result(.downloaded, .unknown), result(.downloaded, nil)]
    let report = run(first + second).finish(makeEnd())
    let text = JSONReport().text(report)
    #expect(text.contains(#""remote_cache": {"east": {"hit": 1, "miss": 0}, "west": {"hit": 0, "miss": 1, "unknown": 1}}}"#))
    #expect(text.contains(#""priority": "normal", "edge": "west", "outcome": "failed""#))
    #expect(text.contains(#""attempts": 1, "remote_cache": "miss", "blacklisted": false"#))
    #expect((try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: any Sendable]) != nil)
  }

  @Test func `without edges a host has one count, and without checks it has none`() {
    let run = makeRun()
    run.record(result(.checked, .hit), count: 9)
    run.record(result(.checked, .miss))
    run.record(result(.checked, nil), host: "other.example.com")
    let text = JSONReport().text(run.finish(makeEnd()))
    #expect(text.contains(#""remote_cache": {"hit": 9, "miss": 1}"#))
    #expect(text.split(separator: "remote_cache", omittingEmptySubsequences: false).count == 2)
  }

  @Test func `the text report shows the remote hit ratio by host and edge, even if all is good`() {
    let good = [result(.checked, nil), result(.checked, .hit), result(.checked, .miss), result(.checked, nil)]
    let text = TextReport().text(
      run(good + good + [result(.checked, nil), result(.checked, .hit), result(.checked, .hit)]).finish(makeEnd())
    )
    expectGolden(text)
    #expect(!TextReport().text(run([result(.checked, nil)]).finish(makeEnd())).contains("Remote"))
  }

  @Test func `examples of failures name their variant and edge, escaped`() {
    let failed = EntryResult.failed(ImageFailure(.httpStatus, status: 404, message: "the server answered 404 Not Found"))
    let text = TextReport().text(run([failed, failed]).finish(makeEnd()))
    #expect(
      text.contains("https://img.example.com/a.png  ") && text.contains("https://img.example.com/a.png (webp \"2x\", east)"),
      "\(text)"
    )
  }
}
