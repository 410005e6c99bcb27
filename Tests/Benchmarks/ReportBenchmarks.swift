import ImageManaging
import Base
import Reports

/// Counting entries, writing their rows, and detecting equal images.
enum ReportBenchmarks {
  static var all: [Benchmark] {
    [
      report("report-hit", format: nil) { hit($0) },
      report("report-hit-jsonl", format: .jsonl) { hit($0) },
      report("report-hit-csv", format: .csv) { hit($0) },
      report("report-stored-jsonl", format: .jsonl) { stored($0) },
      report("report-failed-jsonl", format: .jsonl) { _ in failed },
      sightings("same-images-none") { UInt64($0) },
      sightings("same-images-pairs") { UInt64($0 / 2) },
    ]
  }

  private static let entries = 8_192

  /// Records entries of one manifest, with a journal in that format.
  private static func report(_ name: String, format: ReportFormat?, result: @escaping (Int) -> EntryResult) -> Benchmark {
    Benchmark(name: name, operations: entries) { workspace in
      let writer = try format?.open(workspace.path("\(name).out"))
      let report = RunReport(
        version: "1.0.0",
        job: JobIdentity(name: "nightly", file: nil),
        words: .plain,
        manifests: ["urls/hero.txt"],
        startedAt: TimeSource.still.wall(),
        journals: [writer?.journal].compactMap { $0 }
      )
      let urls = try ExampleURLs(0..<entries)
      let results = (0..<entries).map(result)
      return {
        urls.batch.bytes.withRawBytes { bytes in
          for (index, request) in urls.batch.entries.enumerated() {
            let url = UnsafeRawBufferPointer(rebasing: bytes[request.requestRange])
            let entry = ReportedEntry(
              url: url,
              manifest: 0,
              line: UInt64(index + 1),
              priority: .normal,
              host: UnsafeRawBufferPointer(rebasing: url[request.parts.host])
            )
            report.record(results[index], of: entry)
          }
        }
        try report.flushJournals()
      }
    }
  }

  private static func hit(_ number: Int) -> EntryResult {
    var result = EntryResult(.hitDisk)
    result.format = .jpeg
    (result.width, result.height, result.bytes) = (800, 600, 25_000)
    result.freshUntil = TimeSource.still.wall()
    result.checksum = checksum(number)
    return result
  }

  private static func stored(_ number: Int) -> EntryResult {
    var result = EntryResult(.downloaded)
    result.details.contentType = "image/jpeg"
    result.format = .jpeg
    (result.width, result.height, result.bytes) = (800, 600, 25_000)
    (result.receivedBytes, result.durationNanoseconds, result.attempts) = (25_000, 12_345_678, 1)
    result.freshUntil = TimeSource.still.wall()
    result.checksum = checksum(number)
    return result
  }

  private static let failed: EntryResult = {
    let failure = ImageFailure(.httpStatus, status: 404, message: "the server answered with 404 Not Found")
    var result = EntryResult(.failed, failure: failure)
    result.details.contentType = "text/html"
    (result.attempts, result.durationNanoseconds) = (3, 12_345_678)
    return result
  }()

  private static func checksum(_ number: Int) -> Checksum {
    // Distributed like hashes of bodies.
    let spread = UInt64(number + 1) &* 0x9e37_79b9_7f4a_7c15
    return Checksum(high: spread, low: ~spread)
  }

  /// Records the bodies of many URLs.
  private static func sightings(_ name: String, body: @escaping (Int) -> UInt64) -> Benchmark {
    Benchmark(name: name, operations: 50_000) { _ in
      let url = Array(ExampleURLs.text(1).utf8)
      return {
        var sightings = DuplicateIndex()
        url.withRawBytes { url in
          for number in 0..<50_000 {
            keep(sightings.add(checksum(Int(body(number))), url: UInt64(number), host: UInt32(number % 16), shown: url))
          }
        }
      }
    }
  }
}
