import Base
@testable import Reports

/// 2026-11-21T09:00:00Z.
let nineOClock = Timestamp(milliseconds: 1_795_251_600_000)

/// A report on a job named `homepage` that began at nine.
func makeRun(
  job: JobIdentity = JobIdentity(name: "homepage", file: "jobs/homepage.yaml"),
  manifests: [String] = ["urls/hero.txt"],
  variants: [RequestVariant] = [],
  startedAt: Timestamp? = nineOClock,
  journals: [any ReportJournal] = [],
  judge: FailureBaseline? = nil,
  listedFailures: Int = FailureRecord.listedLimit,
  listsPlaceholders: Bool = true,
  lint: Lint = Lint(),
  countsImagesOnce: Bool = false
) -> RunReport {
  RunReport(
    version: "0.1.0",
    job: job,
    words: .job,
    manifests: manifests,
    variants: variants,
    startedAt: startedAt,
    journals: journals,
    judge: judge,
    listedFailures: listedFailures,
    listsPlaceholders: listsPlaceholders,
    lint: lint,
    countsImagesOnce: countsImagesOnce
  )
}

/// The end of a run that began at nine.
func makeEnd(after duration: Duration = .seconds(1), _ change: (inout RunEnd) -> Void = { _ in }) -> RunEnd {
  var end = RunEnd(finishedAt: nineOClock.advanced(by: duration), duration: duration)
  change(&end)
  return end
}

/// A full cache of 2 GB and a blacklist, as a run leaves them.
func addStores(to end: inout RunEnd) {
  var cache = CacheSummary(
    directory: "/var/cache/prewarm",
    namespace: "default",
    entries: 9898,
    bodyBytes: 1_111_111_111,
    diskBytes: 1_211_111_111
  )
  cache.maximumBytes = 2_000_000_000
  cache.freshUntil = nineOClock.advanced(by: .seconds(7 * 86_400))
  end.cache = cache
  end.blacklist = BlacklistSummary(entries: 102, added: 87, removed: 0)
}

extension RunReport {
  /// Records `count` entries at lines from `line` on.
  func record(
    _ result: EntryResult,
    url: String = "https://img.example.com/a.png",
    host: String = "img.example.com",
    manifest: Int = 0,
    line: UInt64 = 1,
    priority: LoadPriority = .normal,
    variant: Int = 0,
    note: EntryNote? = nil,
    standing: FailureStanding = .counts,
    count: Int = 1
  ) {
    Array(url.utf8).withUnsafeBytes { url in
      Array(host.utf8).withUnsafeBytes { host in
        var entry = ReportedEntry(url: url, manifest: manifest, line: line, priority: priority, host: host, variant: variant)
        entry.note = note
        for offset in 0..<count {
          entry.line = line + UInt64(offset)
          record(result, of: entry, standing: standing)
        }
      }
    }
  }

  /// Records an entry whose URL need not be UTF-8.
  func record(_ result: EntryResult, urlBytes: [UInt8]) {
    urlBytes.withUnsafeBytes { url in
      Array("img.example.com".utf8).withUnsafeBytes { host in
        record(result, of: ReportedEntry(url: url, manifest: 0, line: 1, priority: .normal, host: host))
      }
    }
  }
}

extension EntryResult {
  /// A result changed in place.
  static func make(_ outcome: LoadOutcome, details: Details? = nil, _ change: (inout EntryResult) -> Void = { _ in })
    -> EntryResult
  {
    var result = EntryResult(outcome, details: details)
    change(&result)
    return result
  }

  /// A transfer of that many milliseconds.
  static func downloaded(bytes: UInt64, milliseconds: UInt64, format: ImageFormat = .jpeg) -> EntryResult {
    make(.downloaded) {
      $0.bytes = bytes
      $0.receivedBytes = bytes
      $0.attempts = 1
      $0.durationNanoseconds = milliseconds * 1_000_000
      $0.format = format
    }
  }

  /// A failure after one attempt without a body.
  static func failed(_ failure: ImageFailure, outcome: LoadOutcome = .failed, isBlacklisted: Bool = false) -> EntryResult {
    make(outcome, details: Details(failure: failure, isBlacklisted: isBlacklisted)) {
      if outcome == .failed { $0.attempts = 1 }
    }
  }
}

extension ReportForm {
  /// The report as text.
  func text(_ report: FinishedReport) -> String {
    var output = OutputBuffer()
    write(report, to: &output)
    return output.text
  }
}

/// The run that the text report's sample shows: 10,000 URLs of three hosts, 102 of them bad.
func makeTroubledRun() -> FinishedReport {
  let run = makeRun(manifests: ["urls/hero.txt", "urls/partners.csv"])
  let hit = EntryResult.make(.hitDisk) { $0.bytes = 100_000 }
  run.record(hit, count: 6000)
  run.record(hit, host: "cdn.example.com", count: 1003)
  run.record(.downloaded(bytes: 24_600, milliseconds: 11), count: 2040)
  run.record(.downloaded(bytes: 24_600, milliseconds: 120), count: 28)
  run.record(.downloaded(bytes: 24_600, milliseconds: 14, format: .webp), host: "cdn.example.com", count: 817)
  run.record(.downloaded(bytes: 24_600, milliseconds: 310), host: "cdn.example.com", count: 10)
  let missing = EntryResult.failed(
    ImageFailure(.httpStatus, status: 404, message: "the server answered 404 Not Found"),
    isBlacklisted: true
  )
  run.record(missing, url: "https://img.example.com/hero/old.jpg", line: 17)
  run.record(missing, url: "https://img.example.com/hero/older.jpg", line: 18, count: 51)
  run.record(missing, host: "cdn.example.com", line: 90, count: 5)
  let slow = EntryResult.make(
    .failed,
    details: .init(failure: ImageFailure(.timeout, isTransient: true, message: "no answer in 60 s"))
  ) {
    $0.attempts = 3
    $0.waitedNanoseconds = 1_500_000_000
  }
  run.record(slow, url: "https://slow.example.net/a.png", host: "slow.example.net", manifest: 1, line: 3, count: 30)
  let page = ImageFailure(.notAnImage, message: "served HTML as image/jpeg")
  let url = "https://cdn.example.com/campaigns/2026/spring/banners/large/welcome-back@2x.jpg"
  run.record(.failed(page, outcome: .blacklisted), url: url, host: "cdn.example.com", manifest: 1, line: 40, count: 15)
  return run.finish(
    makeEnd(after: .milliseconds(8100)) {
      addStores(to: &$0)
      $0.bottleneck = "per-host: 8 of 32 transfers used; raise prefetch.per-host"
    }
  )
}

/// A run of 10,000 URLs without failures.
func makeGoodRun() -> FinishedReport {
  let run = makeRun()
  run.record(.downloaded(bytes: 24_600, milliseconds: 12), count: 300)
  run.record(.make(.hitDisk) { $0.bytes = 100_000 }, count: 9700)
  return run.finish(makeEnd(after: .milliseconds(420)) { addStores(to: &$0) })
}

extension ReportWords {
  /// As jobs and the command have them.
  static let job = {
    var words = ReportWords()
    (words.rules, words.filters, words.evictionAdvice) = ("fail-on", "include and exclude", "raise cache.max-size")
    (words.blacklistAdvice, words.retryAdvice) = ("prewarm blacklist list", "--retry-blacklisted")
    words.failuresAdvice = "--failures all, or report: [{html: …}]"
    return words
  }()
}

extension FailureKind {
  /// All but faults of this machine, which aren't failures of a URL.
  static let ofURLs = allCases.filter { !$0.isFaultOfMachine }
}
