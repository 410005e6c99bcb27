import Base
import Testing

@testable import Reports

/// URLs with the same bytes, and images that many of them return.
@Suite struct SameImagesTests {
  private func result(_ outcome: LoadOutcome, _ body: Int, details: EntryResult.Details? = nil) -> EntryResult {
    .make(outcome, details: details) {
      $0.checksum = Checksum(high: 7, low: UInt64(body))
      ($0.format, $0.width, $0.height, $0.bytes) = (.gif, 4, 3, 43)
    }
  }

  private func finish(_ run: RunReport) -> FinishedReport { run.finish(makeEnd()) }

  @Test func `good entries of all outcomes count, and no others`() {
    let run = makeRun()
    for (number, outcome) in LoadOutcome.allCases.enumerated() { run.record(result(outcome, 1), url: "https://a/\(number)") }
    #expect(finish(run).duplicates == Duplicates(bodies: 1, urls: 5))
    let placeholder = EntryResult.Details(failure: ImageFailure(.placeholder, message: "m"))
    run.record(result(.failed, 1, details: placeholder), url: "https://a/p")
    run.record(
      result(.failed, 1, details: EntryResult.Details(failure: ImageFailure(.dimensions, message: "m"))),
      url: "https://a/d"
    )
    #expect(finish(run).duplicates == Duplicates(bodies: 1, urls: 6))
  }

  @Test func `unknown bodies aren't compared`() {
    let run = makeRun()
    for number in 0..<20 {
      let unknown = EntryResult.make(.checked) { $0.checksum = number % 2 == 0 ? nil : Checksum(high: 0, low: 0) }
      run.record(unknown, url: "https://a/\(number)")
    }
    let report = finish(run)
    #expect(report.duplicates == Duplicates(bodies: 0, urls: 0) && report.placeholders.isEmpty)
  }

  @Test func `prefixes are compared if nothing more was fetched`() {
    let run = makeRun()
    for (number, prefix) in [1, 1, 2].enumerated() {
      let details = EntryResult.Details(prefixChecksum: Checksum(high: 1, low: UInt64(prefix)))
      run.record(.make(.checked, details: details), url: "https://a/\(number)")
    }
    #expect(finish(run).duplicates == Duplicates(bodies: 1, urls: 2))
  }

  @Test func `the tenth URL of a host makes a placeholder`() {
    let run = makeRun()
    for number in 1...9 { run.record(result(.downloaded, 1), url: "https://a/\(number)", host: "a") }
    for number in 1...9 { run.record(result(.downloaded, 1), url: "https://b/\(number)", host: "b") }
    for _ in 1...5 { run.record(result(.hitDisk, 1), url: "https://a/1", host: "a") }
    #expect(finish(run).placeholders.isEmpty)
    run.record(result(.hitMemory, 1), url: "https://a/10", host: "a")
    let expected = Placeholder(
      host: "a",
      checksum: Checksum(high: 7, low: 1),
      urls: 10,
      firstURL: "https://a/1",
      format: .gif,
      width: 4,
      height: 3,
      bytes: 43
    )
    #expect(finish(run).placeholders == [expected])
    #expect(finish(run).duplicates == Duplicates(bodies: 1, urls: 19))
  }

  @Test func `the hundred placeholders with most URLs are listed`() {
    let run = makeRun()
    for body in 1...120 {
      for number in 0..<10 + body % 50 { run.record(result(.checked, body), url: "https://a/\(body)/\(number)") }
    }
    let placeholders = finish(run).placeholders
    #expect(placeholders.count == 100 && placeholders.first?.urls == 59)
    #expect(placeholders.map(\.urls) == placeholders.map(\.urls).sorted(by: >))
  }

  @Test func `entries without a host aren't placeholders`() {
    let run = makeRun()
    for number in 0..<20 { run.record(result(.checked, 1), url: "file:\(number)", host: "") }
    #expect(finish(run).placeholders.isEmpty && finish(run).duplicates?.urls == 20)
  }
}
