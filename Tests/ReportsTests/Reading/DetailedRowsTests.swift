import ImagePrimitives
@testable import Reports
import Testing

/// Rows that are sent to another machine keep all facts of a report.
@Suite struct DetailedRowsTests {
  private var results: [EntryResult] {
    var downloaded = EntryResult(.downloaded)
    (downloaded.attempts, downloaded.bytes, downloaded.receivedBytes, downloaded.waitedNanoseconds) = (
      3, 500, 1234, 5_000_000_001
    )
    (downloaded.durationNanoseconds, downloaded.format, downloaded.checksum) = (1_234_567, .jpeg, Checksum(high: 1, low: 2))
    var failed = EntryResult(
      .failed,
      details: EntryResult.Details(
        failure: ImageFailure(.tls, isTransient: true, message: "the handshake was cut"),
        isBlacklisted: true,
        warnings: ["odd"]
      )
    )
    (failed.attempts, failed.receivedBytes) = (2, 77)
    var probed = EntryResult(.checked, details: EntryResult.Details(prefixChecksum: Checksum(high: .max, low: 9)))
    (probed.attempts, probed.receivedBytes, probed.bytes) = (1, 65_536, 1 << 20)
    let invalid = EntryResult(.failed, details: EntryResult.Details(failure: ImageFailure(.invalidURL, message: "no URL")))
    var unkept = downloaded
    unkept.storedBytes = 0
    let plain = (hit: EntryResult(.hitDisk), skipped: EntryResult(.skipped), blacklisted: EntryResult(.blacklisted))
    return [downloaded, failed, probed, plain.hit, plain.skipped, invalid, plain.blacklisted, unkept]
  }

  private func record(_ record: (EntryResult, ReportedEntry) -> Void) {
    for (number, result) in results.enumerated() {
      let url = Array("https://img\(number % 2).example.com:8443/\(number / 3).jpg".utf8)
      let host = result.failure?.kind == .invalidURL ? [] : Array("img\(number % 2).example.com:8443".utf8)
      url.withUnsafeBytes { url in
        host.withUnsafeBytes { host in
          let variant = number % 3
          record(
            result,
            ReportedEntry(
              url: url,
              manifest: number % 2,
              line: UInt64(number),
              priority: .high,
              host: host,
              variant: variant
            )
          )
        }
      }
    }
  }

  private let variants = [RequestVariant(name: "small", edge: nil), RequestVariant(name: nil, edge: "west")]
  private let identity = JobIdentity(name: "homepage", file: nil)

  @Test("detailed rows give the run's own report") func theReportIsThatOfTheRunItself() throws {
    let expected = RunReport(
      version: "1",
      job: identity,
      words: .job,
      manifests: ["a.txt", "b.txt"],
      variants: variants,
      startedAt: Timestamp(milliseconds: 0)
    )
    record { expected.record($0, of: $1) }

    var rows = DetailedRows(variants: variants)
    var left = DetailedRows.Remarks()
    left.isLeftOut = true
    for (index, result) in results.enumerated() where result.outcome == .skipped { #expect(index == 4) }
    record { rows.append($0, of: $1, $0.outcome == .skipped ? left : DetailedRows.Remarks()) }
    let counted = RunReport(version: "1", job: identity, words: .job, startedAt: Timestamp(milliseconds: 0))
    let replay = RowReplay(into: counted)
    replay.addManifest("a.txt", file: nil, key: "0")
    replay.addManifest("b.txt", file: "/b.txt", key: "1")
    try rows.withUnsafeBytes { bytes -> Result<Void, any Error> in
      Result { try replay.add(bytes, from: "rows") }
    }.get()

    let end = RunEnd(finishedAt: Timestamp(milliseconds: 5000), duration: .seconds(5))
    let (one, other) = (expected.finish(end), counted.finish(end))
    #expect(one.totals == other.totals && one.traffic == other.traffic && one.hosts == other.hosts)
    #expect(one.failures == other.failures && one.warnings == other.warnings && one.formats == other.formats)
    #expect(one.duplicates == other.duplicates && one.manifests.map(\.totals) == other.manifests.map(\.totals))
    #expect(other.manifests.map(\.path) == ["a.txt", "b.txt"] && other.manifests[1].file == "/b.txt")
    #expect(replay.remarks.kept == UInt64(results.count - 1))
  }

  @Test("an invalid row is reported, and the rows before it count") func whatIsNoRowIsToldAndThoseBeforeItCount() throws {
    let report = RunReport(version: "1", job: identity, words: .job, startedAt: nil)
    let replay = RowReplay(into: report)
    let text = Array(
      "{\"url\":\"https://a/\",\"outcome\":\"hit-disk\"}\n{\"url\":\"https://b/\",\"outcome\":\"hit-disk\",\"prefix_hash\":\"zz\"}\n"
        .utf8
    )
    #expect(throws: ReportReadingError.self) {
      try text.withUnsafeBytes { bytes in try replay.add(bytes, from: "rows") }
    }
    #expect(report.totals.hitDisk == 1)
  }

  @Test("rows with impossible numbers are rejected", arguments: ["received_bytes", "waited_ns"])
  func rowsThatTellOfMoreThanThereCanBeAreRefused(member: String) {
    let report = RunReport(version: "1", job: identity, words: .job, startedAt: nil)
    let replay = RowReplay(into: report)
    let row = "{\"url\":\"https://a/1.jpg\",\"outcome\":\"downloaded\",\"attempts\":1,\"\(member)\":\(1 << 50)}\n"
    let rows = Array(String(repeating: row, count: 1 << 14).utf8)
    #expect(throws: ReportReadingError.self) { try rows.withUnsafeBytes { bytes in try replay.add(bytes, from: "rows") } }
  }
}
