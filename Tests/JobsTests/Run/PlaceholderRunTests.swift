import ImageDownloading
import ImageManaging
import Base
@testable import Reports
import TestOrigin
import TestSupport
import Testing
@testable import Jobs

/// Whole jobs over servers that return the same image for many URLs.
@Suite struct PlaceholderRunTests {
  private let runs = JobRuns()

  /// One image for all paths that start with /lost, and a different one for every other.
  private func makeOrigin(hosts: Int = 1) throws -> Origin {
    let origin = try Origin(addresses: Array(repeating: .ipv4, count: hosts))
    origin.setFallback { request in
      let isLost = request.path.hasPrefix("/lost")
      return .ranged(isLost ? SampleImages.jpeg(0) : SampleImages.jpeg(request.path.hashValue | 1), type: "image/jpeg")
    }
    return origin
  }

  private func job(_ urls: [String], _ rule: Job.Verify.Placeholders = .fail, keys: String = "") throws -> Job {
    var job = try runs.job(urls: urls, keys: "prefetch: {concurrency: 1}\n\(keys)")
    job.verify.placeholders = rule
    return job
  }

  private func lost(_ origin: Origin, _ count: Int, host: Int = 0) -> [String] {
    (1...count).map { origin.url("/lost/\($0)", host: host) }
  }

  @Test(arguments: ["use", "bypass"])
  func `ten URLs of a host with the same bytes are reported, and good`(mode: String) throws {
    let origin = try makeOrigin()
    var job = try job(lost(origin, 10) + [origin.url("/own")], .report)
    job.cache.mode = mode == "use" ? .use : .bypass
    for run in 1...2 {
      let (report, _, _) = try runs.run(job)
      #expect(report.totals.failed == 0 && report.totals.hitDisk == (run == 2 && mode == "use" ? 11 : 0))
      #expect(report.duplicates == Duplicates(bodies: 1, urls: 10))
      let placeholder = try #require(report.placeholders.first)
      #expect(placeholder.host == "127.0.0.1:\(origin.port)" && placeholder.firstURL == origin.url("/lost/1"))
      #expect(placeholder.urls == 10 && placeholder.format == .jpeg && placeholder.width == 32 && placeholder.height == 24)
      #expect(placeholder.bytes == SampleImages.jpeg(0).count && report.placeholders.count == 1)
    }
  }

  @Test func `nine URLs aren't a placeholder, and with placeholders ignored nothing is reported`() throws {
    let origin = try makeOrigin()
    #expect(try runs.run(job(lost(origin, 9))).report.placeholders.isEmpty)
    let (report, _, _) = try runs.run(job(lost(origin, 30), .ignore))
    #expect(report.placeholders.isEmpty && report.duplicates == Duplicates(bodies: 1, urls: 30) && report.totals.failed == 0)
  }

  @Test func `from the tenth URL on the same bytes fail, nothing is stored or blacklisted, and a re-run agrees`() throws {
    let origin = try makeOrigin()
    let job = try job(lost(origin, 15) + [origin.url("/own")])
    for run in 1...3 {
      let (report, rows, _) = try runs.run(job)
      #expect(rows.count == 16 && report.totals.failed == 6 && report.exitStatus == .beyondLimits)
      #expect(run == 1 ? report.totals.downloaded == 10 : report.totals.hitDisk == 10)
      let failed = rows.filter { $0.kind == "placeholder" }.map(\.url)
      #expect(Set(failed) == Set(lost(origin, 15).dropFirst(9)))
      let message = try #require(rows.first { $0.kind == "placeholder" }?.message)
      expectGolden(message)
      #expect(report.end.cache?.entries == 10 && report.end.blacklist?.entries == 0)
      #expect(report.placeholders.map(\.urls) == [15] && report.placeholders.first?.firstURL == origin.url("/lost/1"))
      #expect(report.failures.allSatisfy { $0.failure?.isTransient == false && !$0.isBlacklisted && $0.attempts == 1 })
    }
    #expect(origin.requests.count == 16 + 6 + 6)
  }

  @Test func `cached images count, a hit beyond the ninth is requested again, and the old record stays if nothing improves`()
    throws
  {
    let origin = try makeOrigin()
    #expect(try runs.run(job(lost(origin, 12), .report)).report.totals.downloaded == 12)
    let (report, rows, _) = try runs.run(job(lost(origin, 12)))
    #expect(report.totals.hitDisk == 9 && report.totals.failed == 3 && report.end.cache?.entries == 12)
    #expect(rows.allSatisfy { $0.outcome == "hit-disk" || $0.kind == "placeholder" })
    #expect(origin.requests.count == 15)
    // The repaired image replaces the record.
    origin.set("/lost/11", .body(SampleImages.jpeg(11), type: "image/jpeg"))
    let (healed, _, _) = try runs.run(job(lost(origin, 12)))
    #expect(healed.totals.hitDisk == 9 && healed.totals.downloaded == 1 && healed.totals.failed == 2)
    #expect(try runs.run(job(lost(origin, 12), .report)).report.totals.hitDisk == 12)
  }

  @Test func `a 304 for a placeholder keeps it a placeholder`() throws {
    let origin = try Origin()
    origin.setFallback { request in
      request.headers["If-None-Match"] == nil
        ? .body(SampleImages.jpeg(0), type: "image/jpeg", headers: ["ETag": "\"1\""]) : .status(304, headers: ["ETag": "\"1\""])
    }
    var job = try job(lost(origin, 12), .report)
    #expect(try runs.run(job).report.totals.downloaded == 12)
    job.cache.mode = .refresh
    job.verify.placeholders = .fail
    let (report, rows, _) = try runs.run(job)
    #expect(report.totals.revalidated == 9 && report.totals.failed == 3 && report.end.cache?.entries == 12)
    #expect(rows.filter { $0.kind == "placeholder" }.count == 3 && report.placeholders.map(\.urls) == [12])
  }

  @Test func `hosts and images are counted separately`() throws {
    let origin = try makeOrigin(hosts: 2)
    let urls = lost(origin, 9) + lost(origin, 9, host: 1) + (0..<20).map { origin.url("/own/\($0)") }
    let (report, _, _) = try runs.run(job(urls))
    #expect(report.totals.downloaded == 38 && report.placeholders.isEmpty)
    #expect(report.duplicates == Duplicates(bodies: 1, urls: 18))
  }

  @Test func `a repeated or respelled URL counts once, and the first nine stay good`() throws {
    let origin = try makeOrigin()
    let nine = lost(origin, 9)
    let otherwise = nine.map { $0.replacing("http:", with: "HTTP:") + "#part" }
    let job = try job(nine + nine + otherwise + [origin.url("/lost/10"), origin.url("/lost/10")] + nine)
    // The first time they join the request of the first one, the second time they are separate hits.
    for _ in 1...2 {
      let (report, _, _) = try runs.run(job)
      #expect(report.totals.failed == 2 && report.totals.urls == 38)
      #expect(report.placeholders.map(\.urls) == [10] && report.duplicates == Duplicates(bodies: 1, urls: 10))
    }
  }

  @Test func `URLs that cache.key merges count once`() throws {
    let origin = try makeOrigin()
    let urls = (1...20).map { origin.url("/lost?v=\($0)") }
    var job = try job(urls)
    job.cache.key = .urlWithoutQuery
    for _ in 1...2 {
      let (report, _, _) = try runs.run(job)
      #expect(report.totals.failed == 0 && report.placeholders.isEmpty && report.duplicates == Duplicates())
    }
  }

  @Test func `edges and variants of a URL count once`() throws {
    let origin = try makeOrigin(hosts: 2)
    var job = try job((1...5).map { "http://img.example:81/lost/\($0)" })
    job.request.edges = zip(["a", "b"], origin.ports).map { Job.Request.Edge(name: $0, host: "127.0.0.1", port: $1) }
    job.request.variants = [Job.Request.Variant("x", "X-A", "x"), Job.Request.Variant("y", "X-A", "y")]
    let (report, _, _) = try runs.run(job)
    #expect(report.totals.downloaded == 20 && report.placeholders.isEmpty)
    #expect(report.duplicates == Duplicates(bodies: 1, urls: 5))
  }

  @Test(arguments: [Job.Verify.Placeholders.report, .fail])
  func `entries that join another's request aren't counted`(rule: Job.Verify.Placeholders) throws {
    let origin = try makeOrigin()
    var job = try job(lost(origin, 9).flatMap { [$0, $0, $0] }, rule)
    job.prefetch.limits.concurrency = 16
    let (report, _, _) = try runs.run(job)
    #expect(report.totals.failed == 0 && report.placeholders.isEmpty)
    #expect(report.duplicates == Duplicates(bodies: 1, urls: 9))
  }

  @Test(arguments: [0, 200_000])
  func `a probe compares small images whole and larger ones by prefix, and HEAD has none`(padding: Int) throws {
    let origin = try Origin()
    origin.setFallback { request in
      // They have the same prefix, but different lengths unless they are lost.
      let own = request.path.hasPrefix("/lost") ? 0 : Int(request.path.dropFirst()) ?? 0
      return .ranged(SampleImages.jpeg(0) + [UInt8](repeating: 0, count: padding + own), type: "image/jpeg")
    }
    var job = try job(lost(origin, 11) + (1...20).map { origin.url("/\($0)") })
    job.request.download.method = .probe
    let (report, rows, _) = try runs.run(job)
    #expect(report.totals.checked == 29 && rows.filter { $0.kind == "placeholder" }.count == 2)
    #expect(report.placeholders.map(\.urls) == [11] && report.duplicates == Duplicates(bodies: 1, urls: 11))
    job.request.download.method = .head
    let (head, _, _) = try runs.run(job)
    #expect(head.totals.checked == 31 && head.placeholders.isEmpty && head.duplicates == Duplicates())
  }

  @Test(arguments: [true, false])
  func `a transformed image is recognised by its stored bytes, so a re-run agrees`(keepsOriginal: Bool) throws {
    let origin = try makeOrigin()
    let keys = "transform: {resize: {width: 16, height: 16}, format: png, keep-original: \(keepsOriginal)}"
    var job = try job(lost(origin, 12), keys: keys)
    for run in 1...2 {
      let (report, rows, _) = try runs.run(job)
      #expect(report.totals.failed == 3 && report.totals.hitDisk == (run == 1 ? 0 : 9))
      #expect(rows.filter { $0.kind == "placeholder" }.count == 3)
    }
    job.verify.placeholders = .report
    #expect(try runs.run(job).report.totals.failed == 0)
    // All are stored now.
    #expect(try runs.run(job).report.totals.hitDisk == 12)
    job.verify.placeholders = .fail
    let (report, _, _) = try runs.run(job)
    #expect(report.totals.hitDisk == 9 && report.totals.failed == 3)
  }

  @Test func `credentials are masked in a placeholder's first URL`() throws {
    let origin = try makeOrigin()
    let urls = lost(origin, 11).map { $0.replacing("http://", with: "http://user:secret@") }
    let (report, rows, _) = try runs.run(job(urls))
    #expect(report.totals.failed == 2)
    let message = rows.compactMap(\.message).first ?? ""
    #expect(message.contains("/lost/1") && !message.contains("secret") && message.contains("***"))
    #expect(report.placeholders.first?.firstURL.contains("secret") == false)
  }

  @Test func `a run's timeline adds up to its totals, with and without progress`() throws {
    let origin = try makeOrigin()
    let (report, _, _) = try runs.run(job(lost(origin, 12)))
    let timeline = try #require(report.timeline)
    #expect(timeline.steps.reduce(0) { $0 + $1.urls } == 12 && timeline.steps.reduce(0) { $0 + $1.bad } == 3)
    #expect(timeline.steps.reduce(0) { $0 + $1.receivedBytes } == report.traffic.receivedBytes)
    #expect(timeline.step * timeline.steps.count > report.end.duration)
  }
}
