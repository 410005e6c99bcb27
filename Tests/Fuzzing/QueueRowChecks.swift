import ImagePrimitives
import Reports

/// Rows in a queue with workers' results, which anyone with write access to Redis may have written: they are rejected, or counted,
/// and writing them again yields the same report.
struct QueueRowChecks {
  private static let origin = "a result"

  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  func run() {
    let journal = RowsAgain()
    let report = Self.report([journal])
    let replay = RowReplay(into: report)
    for (index, path) in ["urls.txt", "more.csv"].enumerated() { replay.addManifest(path, file: nil, key: String(index)) }
    do throws(ReportReadingError) {
      try replay.add(bytes, from: Self.origin)
    } catch {
      demand(error.path == Self.origin && !error.message.isEmpty, "an error without path or message: \(error)")
    }
    let finished = Self.finish(report)
    ReportChecks.check(finished)
    demand(ReportChecks.json(Self.counted(journal)) == ReportChecks.json(finished), "writing the rows again changes the report")
  }

  private static func report(_ journals: [any ReportJournal] = []) -> RunReport {
    let start = Timestamp(milliseconds: 1_000_000)
    return RunReport(
      version: "1",
      job: JobIdentity(name: "homepage", file: nil),
      words: .plain,
      startedAt: start,
      journals: journals
    )
  }

  private static func finish(_ report: RunReport) -> FinishedReport {
    report.finish(RunEnd(finishedAt: Timestamp(milliseconds: 1_005_000), duration: .seconds(5)))
  }

  /// The report of rows that a journal has written again.
  private static func counted(_ journal: RowsAgain) -> FinishedReport {
    let report = Self.report()
    let replay = RowReplay(into: report)
    for (index, path) in journal.manifests.enumerated() { replay.addManifest(path, file: nil, key: String(index)) }
    journal.rows.withUnsafeBytes { rows in
      do throws(ReportReadingError) {
        try replay.add(rows, from: origin)
      } catch {
        fatalError("written rows can't be read: \(error)")
      }
    }
    return finish(report)
  }
}

/// Writes each row again, like a worker.
private final class RowsAgain: ReportJournal {
  private(set) var manifests: [String] = []
  private(set) var rows: [UInt8] = []
  private var variants: [RequestVariant] = []

  func begin() {}
  func flush() {}

  func addManifest(_ path: String, file: String?) { manifests.append(path) }
  func addVariant(_ variant: RequestVariant) { variants.append(variant) }

  func append(_ result: EntryResult, of entry: ReportedEntry, standing: FailureStanding) {
    var row = DetailedRows(variants: variants)
    row.append(result, of: entry)
    row.withUnsafeBytes { rows.append(contentsOf: $0) }
  }
}

extension QueueRowChecks {
  /// Rows of every outcome, separately and together.
  static var seeds: [[UInt8]] {
    let rows = results.enumerated().map { number, result in
      var rows = DetailedRows(variants: [RequestVariant(name: "small", edge: nil), RequestVariant(name: nil, edge: "west")])
      var remarks = DetailedRows.Remarks()
      remarks.isLeftOut = result.outcome == .skipped
      remarks.joinedBlacklist = result.outcome == .failed
      remarks.leftBlacklist = result.outcome == .revalidated
      Array("https://img.example.com:8443/\(number).jpg".utf8).withUnsafeBytes { url in
        let place = (manifest: number % 2, line: UInt64(number + 1), variant: number % 3)
        let host = UnsafeRawBufferPointer(start: nil, count: 0)
        rows.append(
          result,
          of: ReportedEntry(
            url: url,
            manifest: place.manifest,
            line: place.line,
            priority: .high,
            host: host,
            variant: place.variant
          ),
          remarks
        )
      }
      return rows.withUnsafeBytes { Array($0) }
    }
    return rows + [rows.flatMap(\.self)]
  }

  private static var results: [EntryResult] {
    var downloaded = EntryResult(
      .downloaded,
      details: EntryResult.Details(finalURL: "https://b.example/1.jpg", contentType: "image/jpeg")
    )
    (downloaded.format, downloaded.checksum, downloaded.remoteCache) = (.jpeg, Checksum(high: 1, low: 2), .hit)
    (downloaded.width, downloaded.height, downloaded.storedBytes) = (640, 480, 400)
    var probed = EntryResult(.checked, details: EntryResult.Details(prefixChecksum: Checksum(high: .max, low: 9)))
    probed.isShared = true
    let failures = [
      ImageFailure(.httpStatus, status: 503, isTransient: true, message: "the server answered 503"),
      ImageFailure(.invalidURL, message: "the URL has no scheme"), ImageFailure(.tls, message: "the certificate has expired"),
    ]
    let failed = failures.map { failure in
      EntryResult(.failed, details: EntryResult.Details(failure: failure, isBlacklisted: true, warnings: ["odd"]))
    }
    let plain = LoadOutcome.allCases.map { EntryResult($0) }
    return ([downloaded, probed] + failed + plain).map { result in
      var result = result
      (result.attempts, result.bytes, result.receivedBytes) = (3, 500, 1234)
      (result.waitedNanoseconds, result.durationNanoseconds) = (5_000_000_001, 1_234_567)
      return result
    }
  }
}
