import Base
@testable import Reports
import TestSupport

/// A run of 50,000 URLs of twelve hosts, 1,000 of them broken in twelve ways, with all that a report may know of it.
func makeLargeRun() -> FinishedReport {
  let run = makeRun(manifests: ["urls/hero.txt", "urls/catalog.csv", "urls/partners.jsonl"])
  var random = SeededRandom(seed: 7)
  recordGood(run, &random)
  for (index, failure) in LargeRun.failures.enumerated() { recordBad(run, failure, seed: index) }
  var report = run.finish(
    makeEnd(after: .milliseconds(41_200)) {
      addStores(to: &$0)
      $0.bottleneck = "per-host: 8 of 32 transfers used; raise prefetch.per-host"
      $0.warnings = ["the cache is on a network file system, where locks and memory maps may fail"]
      $0.peakMemoryBytes = 41_943_040
    }
  )
  report.requests = [ReportedRequest(curl: CurlCommand(options: LargeRun.curlOptions))]
  report.timeline = LargeRun.timeline(of: report)
  report.duplicates = Duplicates(bodies: 41, urls: 388)
  report.thumbnails = LargeRun.thumbnails(of: report)
  report.placeholders = [
    LargeRun.placeholder(host: LargeRun.hosts[4], urls: 212, number: 90),
    LargeRun.placeholder(host: LargeRun.hosts[9], urls: 61, number: 91),
  ]
  return report
}

private func recordGood(_ run: RunReport, _ random: inout SeededRandom) {
  for index in 0..<49_000 {
    let place = min(Int.random(in: 0..<16, using: &random), Int.random(in: 0..<16, using: &random))
    let host = LargeRun.hosts[min(place, 11)]
    if index % 10 < 7 {
      run.record(.make(.hitDisk) { $0.bytes = 90_000 }, url: LargeRun.url(host, index), host: host, manifest: index % 3)
    } else {
      let scale = Double.random(in: 0..<1, using: &random) + Double.random(in: 0..<1, using: &random)
      let milliseconds =
        UInt64(4 + 30 * scale * scale + (index % 97 == 9 ? 800 * scale : 0)) * (host == LargeRun.hosts[7] ? 9 : 1)
      let result = EntryResult.downloaded(bytes: 24_600, milliseconds: milliseconds, format: index % 4 == 0 ? .webp : .jpeg)
      run.record(result, url: LargeRun.url(host, index), host: host, manifest: index % 3)
    }
  }
}

private func recordBad(_ run: RunReport, _ broken: LargeRun.Broken, seed: Int) {
  for index in 0..<broken.count {
    let host = index % 5 < 3 ? LargeRun.hosts[5] : LargeRun.hosts[(seed + index) % 12]
    let isKnown = broken.failure.kind == .notAnImage && index % 2 == 0
    let result = EntryResult.make(
      isKnown ? .blacklisted : .failed,
      details: .init(failure: broken.failure, isBlacklisted: isKnown || broken.failure.status == 404)
    ) {
      $0.attempts = isKnown ? 0 : broken.failure.isTransient ? 3 : 1
      $0.waitedNanoseconds = broken.failure.isTransient ? 900_000_000 : 0
      $0.durationNanoseconds = isKnown ? 0 : 40_000_000
    }
    let url = broken.failure.kind == .invalidURL ? "htp:/\(host)/\(index).jpg" : LargeRun.url(host, seed * 1000 + index)
    run.record(result, url: url, host: host, manifest: seed % 3, line: UInt64(17 + 31 * index + seed))
  }
}

enum LargeRun {
  struct Broken {
    var count: Int
    var failure: ImageFailure
  }

  static let hosts = [
    "img.example.com", "cdn.example.com", "static.example.com", "images.partner-one.example", "media.partner-two.example",
    "slow.example.net", "photos.example.org", "far.example.net", "assets.shop.example", "thumbs.example.com",
    "origin.example.com:8443",
    "archive.example.org",
  ]

  static let failures = [
    Broken(count: 412, failure: ImageFailure(.httpStatus, status: 404, message: "the server answered 404 Not Found")),
    Broken(count: 168, failure: ImageFailure(.timeout, isTransient: true, message: "no answer in 60 s")),
    Broken(count: 121, failure: ImageFailure(.notAnImage, message: "the body is HTML, served as image/jpeg")),
    Broken(
      count: 87,
      failure: ImageFailure(.httpStatus, status: 503, isTransient: true, message: "the server answered 503 Service Unavailable")
    ),
    Broken(count: 64, failure: ImageFailure(.contentType, message: "declared text/plain, the bytes are JPEG")),
    Broken(count: 48, failure: ImageFailure(.truncated, isTransient: true, message: "18,204 of 24,600 bytes came")),
    Broken(count: 33, failure: ImageFailure(.undecodable, message: "the JPEG data breaks off in scan 2")),
    Broken(count: 25, failure: ImageFailure(.dimensions, message: "1 × 1 pixels: less than verify.width.min (64)")),
    Broken(count: 17, failure: ImageFailure(.tls, message: "the certificate expired on 2026-10-02")),
    Broken(count: 12, failure: ImageFailure(.redirects, message: "more than 10 redirects")),
    Broken(count: 8, failure: ImageFailure(.dns, isTransient: true, message: "the name has no address")),
    Broken(count: 5, failure: ImageFailure(.invalidURL, message: "'htp' is no scheme of images; use http or https")),
  ]

  static let curlOptions = [
    "--location", "--max-redirs", "10", "--max-time", "60", "-H", "Accept: image/webp,image/*;q=0.8", "-A", "prewarm/0.1.0",
    "--output", "/dev/null",
  ]

  static func url(_ host: String, _ number: Int) -> String {
    let words = ["hero", "catalog/shoes", "catalog/2026/autumn/jackets", "users/avatars", "blog/uploads"]
    return
      "https://\(host)/\(words[number % words.count])/\(number * 7919 % 90_001)-\(["large", "thumb@2x", "w800"][number % 3]).jpg"
  }

  /// 83 steps of half a second, of which the last is cut at 41.2 s.
  static func timeline(of report: FinishedReport) -> Timeline {
    let (urls, bad, bytes) = (report.totals.urls / 120, report.totals.bad / 120, report.traffic.receivedBytes / 120)
    let steps = (0..<83).map { index in
      let scale = index == 82 ? 1 : UInt64(1 + index % 3)
      return Timeline.Step(urls: urls * scale, bad: bad * (index > 50 && index < 58 ? 5 : 1), receivedBytes: bytes * scale)
    }
    return Timeline(step: .milliseconds(500), steps: steps)
  }

  static func placeholder(host: String, urls: UInt64, number: Int) -> Placeholder {
    Placeholder(
      host: host,
      checksum: Checksum(high: 1, low: UInt64(number)),
      urls: urls,
      firstURL: url(host, number),
      format: .png,
      width: 600,
      height: 400,
      bytes: 4211
    )
  }

  static func thumbnails(of report: FinishedReport) -> [Thumbnail] {
    func make(_ reason: Thumbnail.Reason, _ number: Int, url: String) -> Thumbnail {
      let isTall = number % 5 == 3
      let size = isTall ? (70, 100) : (120, 90)
      var thumbnail = Thumbnail(
        reason,
        url: url,
        picture: Fixtures.bytes("images/good/palette.png"),
        pictureFormat: .png,
        pictureWidth: UInt32(size.0),
        pictureHeight: UInt32(size.1),
        bytes: UInt64(24_600 + number * 9100)
      )
      (thumbnail.format, thumbnail.width, thumbnail.height) = (.jpeg, UInt32(size.0 * 10), UInt32(size.1 * 10))
      return thumbnail
    }
    var thumbnails = (0..<12).map { make(.latest, $0, url: url(hosts[$0], 48_000 + $0)) }
    thumbnails += (0..<12).map { make(.largest, 20 + $0, url: url(hosts[$0 % 4], 30_000 + $0)) }
    let refused = report.failures.filter { [.dimensions, .contentType, .undecodable].contains($0.failure?.kind) }
    for (index, record) in refused.prefix(12).enumerated() {
      var thumbnail = make(.failed, 40 + index, url: record.url)
      thumbnail.failure = record.failure
      if index % 6 == 4 { thumbnail.picture = [] }
      thumbnails.append(thumbnail)
    }
    for number in [90, 91] {
      var thumbnail = make(.placeholder, number, url: url(hosts[4], number))
      thumbnail.checksum = Checksum(high: 1, low: UInt64(number))
      thumbnails.append(thumbnail)
    }
    return thumbnails
  }
}
