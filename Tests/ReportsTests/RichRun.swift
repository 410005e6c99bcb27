import Foundation
import Base
@testable import Reports

/// A run with every outcome, several hosts, kinds, manifests and variants, failures that do not count, placeholders and warnings.
enum RichRun {
  static let workspace = "/home/runner/work/shop"
  static let known = "https://img.example.com/known.png"
  static let alsoKnown = "https://cdn.example.com/slow.png"
  static let placeholder = Placeholder(
    host: "cdn.example.com",
    checksum: Checksum(high: 1, low: 2),
    urls: 12,
    firstURL: "https://cdn.example.com/p/1.png"
  )

  static func report(_ journals: [any ReportJournal] = [], failOn: FailOn = FailOn()) -> FinishedReport {
    let run = makeRun(manifests: [], variants: [RequestVariant(name: "webp", edge: "east")], journals: journals)
    run.addManifest("urls/hero.txt", file: "\(workspace)/urls/hero.txt")
    run.addManifest("-")
    run.record(.make(.hitMemory) { $0.bytes = 500 }, count: 3)
    run.record(.make(.hitDisk) { $0.bytes = 500 }, host: "cdn.example.com", line: 4, count: 7)
    for milliseconds in [1, 2, 3, 5, 900, 200_000] as [UInt64] {
      run.record(.downloaded(bytes: 1000, milliseconds: milliseconds), line: milliseconds)
    }
    run.record(.make(.revalidated) { ($0.bytes, $0.attempts, $0.durationNanoseconds) = (700, 1, 4_000_000) }, line: 20)
    run.record(
      .make(.checked, details: .init(contentType: "image/x-png", warnings: ["odd, but good", "two"])),
      line: 21,
      count: 2
    )
    let missing = ImageFailure(.httpStatus, status: 404, message: "the server answered 404 Not Found")
    run.record(.failed(missing, isBlacklisted: true), url: "https://img.example.com/old.jpg", line: 30, count: 14)
    let slow = ImageFailure(.timeout, isTransient: true, message: "no answer in 60 s")
    run.record(
      .make(.failed, details: .init(failure: slow)) { ($0.attempts, $0.durationNanoseconds) = (3, 60_000_000_000) },
      url: "https://slow.example.net:8443/a.png?x=1&y=<2>",
      host: "slow.example.net:8443",
      manifest: 1,
      line: 3
    )
    let page = ImageFailure(.notAnImage, message: "served HTML as \"image/jpeg\"")
    run.record(.failed(page, outcome: .blacklisted), url: "https://cdn.example.com/b.jpg", host: "cdn.example.com", line: 50)
    run.record(.failed(page), url: known, line: 51, standing: .known)
    run.record(.failed(slow), url: alsoKnown, host: "cdn.example.com", line: 52, standing: .known)
    run.record(.failed(ImageFailure(.invalidURL, message: "no scheme")), url: "img/x.png", host: "", line: 53)
    run.record(EntryResult(.skipped), line: 60, count: 4)
    run.record(EntryResult(.cancelled), line: 70, count: 5)
    run.record(.failed(missing), url: "https://img.example.com/v.png", line: 80, priority: .high, variant: 1)
    var report = run.finish(
      makeEnd(after: .milliseconds(8100)) {
        addStores(to: &$0)
        $0.warnings = ["the cache is on a network file system"]
      },
      failOn: failOn
    )
    report.placeholders = [placeholder]
    return report
  }
}

extension ReportFormat {
  /// The output of a writer of this form for the run that `record` records.
  func text(
    at path: String,
    options: ReportOptions = ReportOptions(),
    _ record: ([any ReportJournal]) -> FinishedReport = { RichRun.report($0) }
  ) throws -> [UInt8] {
    let writer = try open(path, options: options)
    try writer.finish(record(writer.journal.map { [$0] } ?? []))
    return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
  }
}
