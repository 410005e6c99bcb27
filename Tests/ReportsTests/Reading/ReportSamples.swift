import Base
@testable import Reports
import TestSupport

/// Texts that try to break out of a string, a line or a terminal.
let hostileText = "quote \" \\ line\nfeed \u{0}nul \u{1B}[31m \u{202E}gnp \u{2028} żółć 🦊 </script>"

/// One entry of a sample run and how it ended.
struct Sample {
  var result: EntryResult
  var url: String
  var host: String
  var manifest = 0
  var line: UInt64 = 1
  var priority = LoadPriority.normal
  var variant = 0
}

/// The entries of a run in which everything happens at once.
func makeSamples() -> [Sample] {
  var samples: [Sample] = []
  func add(
    _ outcome: LoadOutcome,
    _ number: Int,
    details: EntryResult.Details? = nil,
    _ change: (inout EntryResult) -> Void = { _ in }
  ) {
    var result = EntryResult(outcome, details: details)
    change(&result)
    let host = "host\(number % 7).example.com"
    var sample = Sample(result: result, url: "https://\(host)/image\(number).jpg", host: host)
    sample.manifest = number % 2
    sample.line = UInt64(number)
    sample.priority = LoadPriority.allCases[number % 5]
    sample.variant = number % 4
    samples.append(sample)
  }
  for number in 1...40 {
    let bytes = UInt64(number * 1000 + 7)
    add(.hitDisk, number) { $0.bytes = bytes }
    add(.hitMemory, number + 100) { $0.bytes = bytes }
    add(.downloaded, number + 200) {
      $0.bytes = bytes
      $0.receivedBytes = bytes
      $0.attempts = 1 + UInt32(number % 3)
      $0.durationNanoseconds = UInt64(number) * 1_734_567 + 321
      $0.format = ImageFormat.allCases[number % 5]
      $0.width = UInt32(number)
      $0.height = 600
      $0.checksum = Checksum(high: UInt64(number), low: .max - UInt64(number))
      $0.storedBytes = number % 4 == 0 ? bytes / 2 : nil
      $0.isShared = number % 5 == 0
    }
    add(
      .checked,
      number + 300,
      details: .init(finalURL: "https://cdn.example.com/\(number)", contentType: "image/x-png", warnings: ["odd"])
    ) {
      $0.bytes = bytes
      $0.receivedBytes = bytes
      $0.attempts = 1
      $0.durationNanoseconds = 74_800 + UInt64(number)
      $0.remoteCache = [.hit, .miss, .unknown][number % 3]
    }
    add(.revalidated, number + 400) { $0.attempts = 1 }
    add(.skipped, number + 500)
    add(.cancelled, number + 600)
    let status = 400 + number % 20
    let missing = ImageFailure(.httpStatus, status: status, isTransient: status == 408, message: "the server answered \(status)")
    add(.failed, number + 700, details: .init(failure: missing)) { $0.attempts = 1 }
    let slow = ImageFailure(.timeout, isTransient: true, message: "no answer in 60 s")
    add(.failed, number + 800, details: .init(failure: slow)) {
      $0.attempts = 3
      $0.durationNanoseconds = 60_000_000_000
    }
    let page = ImageFailure(.notAnImage, message: "served HTML as image/jpeg")
    add(.blacklisted, number + 900, details: .init(failure: page, isBlacklisted: true))
  }
  add(.blacklisted, 990, details: .init(isBlacklisted: true))
  var bad = Sample(
    result: EntryResult(.failed, details: .init(failure: ImageFailure(.invalidURL, message: hostileText))),
    url: hostileText,
    host: ""
  )
  bad.line = 0
  samples.append(bad)
  return samples
}

/// Some failures are known, by the last bits of their key.
private func someKnown(_ sample: Sample) -> FailureStanding {
  guard sample.result.outcome.isBad else { return .counts }
  let variant = ([.plain] + sampleVariants)[sample.variant]
  let key = Array(sample.url.utf8).withUnsafeBytes { EntryKey(url: $0, variant: variant) }
  return [.counts, .known, .known, .counts][Int(key.low & 3)]
}

let sampleVariants = [
  RequestVariant(name: "webp \"2x\"", edge: "east"), RequestVariant(name: nil, edge: "west"),
  RequestVariant(name: "png", edge: nil),
]

/// A run over these entries that began at nine.
func makeRun(
  _ samples: [Sample],
  name: String = "homepage",
  journals: [any ReportJournal] = [],
  judge: FailureBaseline? = nil,
  standing: (Sample) -> FailureStanding = { _ in .counts }
) -> RunReport {
  let run = makeRun(
    job: JobIdentity(name: name, file: "jobs/\(name).yaml"),
    manifests: ["urls/hero.txt", hostileText],
    variants: sampleVariants,
    journals: journals,
    judge: judge
  )
  for sample in samples {
    run.record(
      sample.result,
      url: sample.url,
      host: sample.host,
      manifest: sample.manifest,
      line: sample.line,
      priority: sample.priority,
      variant: sample.variant,
      standing: standing(sample)
    )
  }
  return run
}

/// A report with something in every field.
func makeRichReport(name: String = "homepage") -> FinishedReport {
  var failOn = FailOn()
  failOn.failures = .fraction(1.0 / 3)
  failOn.kinds = [.httpStatus: .count(5), .timeout: .never, .notAnImage: .fraction(0.000_000_1)]
  failOn.latency = [.p99: .milliseconds(250), .max: .nanoseconds(1_234_567_891)]
  failOn.evicted = false
  var report = makeRun(makeSamples(), name: name, standing: someKnown).finish(
    makeEnd(after: .nanoseconds(8_123_456_789)) {
      var cache = CacheSummary(directory: "/var/cache/prewarm", namespace: "default", entries: 9, bodyBytes: 11, diskBytes: 12)
      cache.maximumBytes = 2_000_000_000
      cache.freshUntil = nineOClock.advanced(by: .milliseconds(86_400_123))
      cache.trimmedEntries = 4
      cache.evictedFromThisRun = 3
      $0.cache = cache
      $0.blacklist = BlacklistSummary(entries: 102, added: 87, removed: 1)
      $0.bottleneck = "per-host: 8 of 32 transfers used; raise prefetch.per-host"
      $0.bottlenecks = [BottleneckShare(name: "per-host", fraction: 0.7), BottleneckShare(name: "cpu", fraction: 0.125)]
      $0.peakMemoryBytes = 41_943_040
      $0.warnings = [hostileText]
    },
    failOn: failOn
  )
  report.verdict.reasons = ["too many", "too slow"]
  report.timeline = Timeline(step: .milliseconds(250), steps: [.init(urls: 3, bad: 1, receivedBytes: 9), .init(urls: 4)])
  report.duplicates = Duplicates(bodies: 3, urls: 9, isComplete: false)
  report.placeholders = [
    Placeholder(
      host: "host1.example.com",
      checksum: Checksum(high: 1, low: 0xABC),
      urls: 12,
      firstURL: "https://host1.example.com/a.png",
      format: .png,
      width: 1,
      height: 1,
      bytes: 68
    ),
    Placeholder(host: "host2.example.com", checksum: Checksum(high: .max, low: 2), urls: 10, firstURL: hostileText),
  ]
  report.requests = [
    ReportedRequest(curl: CurlCommand(options: ["-sS", "--max-time", "60", "-H", "Accept: \(hostileText)", "-o", "/dev/null"])),
    ReportedRequest(variant: sampleVariants[0], curl: CurlCommand(options: ["--head"])),
  ]
  return report
}

extension TemporaryDirectory {
  /// Reads the JSON report that a file holds.
  func report(_ name: String) throws -> FinishedReport { try ReportInput(path: file(name)).report(words: .job) }

  /// Writes the rows of a run.
  func writeRows(_ samples: [Sample], to name: String) throws {
    let journal = try JSONLinesJournal(path: file(name))
    try journal.finish(makeRun(samples, journals: [journal]).finish(makeEnd()))
  }

  /// Counts the rows that a file holds.
  func replay(_ name: String, journals: [any ReportJournal] = []) throws -> FinishedReport {
    let job = JobIdentity(name: "homepage", file: nil)
    let replay = RowReplay(into: makeRun(job: job, manifests: [], startedAt: nil, journals: journals))
    try replay.add(try ReportInput(path: file(name)))
    return try replay.finish()
  }
}

/// The sentence of the error that `body` throws, with the file's folder left out.
func sentence(in folder: TemporaryDirectory, _ body: () throws -> Void) -> String? {
  do {
    try body()
    return nil
  } catch { return "\(error)".replacing("\(folder.path)/", with: "") }
}

/// The start of the difference of two texts; nil if they are equal. An expectation would compare them letter by letter.
func firstDifference(_ text: String, _ expected: String) -> String? {
  if text == expected { return nil }
  let (bytes, others) = (Array(text.utf8), Array(expected.utf8))
  let place = zip(bytes, others).enumerated().first { $1.0 != $1.1 }?.offset ?? min(bytes.count, others.count)
  func part(_ bytes: [UInt8]) -> String {
    String(decoding: bytes[max(0, place - 60)..<min(bytes.count, place + 60)], as: UTF8.self)
  }
  return "\(part(bytes)) in place of \(part(others))"
}
