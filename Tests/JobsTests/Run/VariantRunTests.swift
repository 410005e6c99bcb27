import Foundation
import ImageCaching
import ImageDownloading
import Base
import Reports
import TestOrigin
import TestSupport
import Testing
@testable import Jobs

/// Whole jobs whose entries are requested in several ways.
@Suite struct VariantRunTests {
  private let runs = JobRuns()
  private let formats = [Job.Request.Variant("png", "Accept", "image/png"), Job.Request.Variant("jpeg", "accept", "image/jpeg")]

  @Test func `each entry is fetched once per variant, stored apart, and a second run has only hits`() throws {
    let origin = try makeNegotiatingOrigin()
    var job = try runs.job(urls: ["/a", "/b"].map { origin.url($0) }, keys: "request: {accept: image/webp}")
    job.request.variants = formats
    let (report, rows, json) = try runs.run(job)
    #expect(report.totals.urls == 4 && report.totals.downloaded == 4)
    #expect(
      Set(rows.map { "\($0.url.suffix(2)) \($0.variant ?? "-") \($0.format ?? "-")" }) == [
        "/a png png", "/a jpeg jpeg", "/b png png", "/b jpeg jpeg",
      ]
    )
    #expect(rows.allSatisfy { $0.edge == nil && $0.remoteCache == nil })
    #expect(Set(origin.requests.compactMap { $0.headers["Accept"] }) == ["image/png", "image/jpeg"])
    #expect((json["manifests"] as? [[String: any Sendable]])?.first?["urls"] as? Int == 4)
    let cache = try job.openCache(access: .readOnly)
    let url = origin.url("/a")
    #expect(
      try job.identities(of: url, in: cache).map { String(decoding: $0, as: UTF8.self) }
        == ["\(url)#variant=png", "\(url)#variant=jpeg"]
    )
    for identity in try job.identities(of: url, in: cache) { #expect(try cache.contains(identity: identity)) }
    // Records show and exports hash the URL itself.
    let shown = try cache.entries(after: nil, limit: 9).map { String(decoding: $0.shownURL, as: UTF8.self) }
    #expect(shown.sorted() == ["/a", "/a", "/b", "/b"].map { origin.url($0) })
    let (second, secondRows, _) = try runs.run(job)
    #expect(second.totals.hitDisk == 4 && secondRows.map { $0.variant ?? "-" } == ["png", "jpeg", "png", "jpeg"])
    #expect(origin.requests.count == 4)
  }

  @Test func `images from a folder have the identities that the job's runs use`() throws {
    let url = "https://a.com/1.jpg"
    var job = try runs.job(urls: [url])
    job.request.auth = Credential(user: "u", password: "p")
    let cache = try job.openCache(access: .readWrite)
    func identities() throws -> [[UInt8]] { try ListImages(job, for: cache).map(\.identity) }
    #expect(try identities() == job.identities(of: url, in: cache))
    #expect(try identities() != [Array(url.utf8)])
    job.request.variants = [formats[0]]
    #expect(try identities() == job.identities(of: url, in: cache))
    #expect(try identities().first.map { String(decoding: $0, as: UTF8.self).hasSuffix("#variant=png") } == true)
    job.request.variants = formats
    let error = #expect(throws: JobError.self) { _ = try identities() }
    #expect(error?.description.contains("in 2 ways") == true)
  }

  @Test func `a variant's headers replace the job's of the same name and keep the others`() throws {
    let origin = try makeNegotiatingOrigin()
    var job = try runs.job(urls: [origin.url("/a")], keys: "request: {headers: {X-A: job, X-B: job}, accept: image/gif}")
    job.request.variants = [
      Job.Request.Variant("a", "x-a", "own"), Job.Request.Variant("b", "User-Agent", "browser"),
      Job.Request.Variant("c", "ACCEPT", "image/png"),
    ]
    job.prefetch.limits.concurrency = 1
    _ = try runs.run(job)
    let sent = origin.requests.map { request in
      ["X-A", "X-B", "Accept", "User-Agent"].map { request.headers.all($0).joined(separator: "+") }
    }
    let agent = job.request.download.userAgent
    #expect(
      sent == [["own", "job", "image/gif", agent], ["job", "job", "image/gif", "browser"], ["job", "job", "image/png", agent]]
    )
  }

  @Test(arguments: ["fifo", "lifo"])
  func `entries go URL by URL, with all variants of one before the next`(order: String) throws {
    let origin = try makeNegotiatingOrigin()
    let paths = ["/1", "/2", "/3"]
    var job = try runs.job(urls: paths.map { origin.url($0) }, keys: "prefetch: {concurrency: 1, order: \(order)}")
    job.request.variants = formats
    _ = try runs.run(job)
    let expected = (order == "fifo" ? paths : paths.reversed()).flatMap { ["\($0) image/png", "\($0) image/jpeg"] }
    #expect(origin.requests.map { "\($0.path) \($0.headers["Accept"] ?? "-")" } == expected)
  }

  @Test func `invalid and filtered lines count once, and limit counts entries`() throws {
    let origin = try makeNegotiatingOrigin()
    let urls = ["http://", origin.url("/skip"), origin.url("/1"), origin.url("/2"), origin.url("/3")]
    var job = try runs.job(urls: urls, manifest: ", exclude: [\"/skip\"], limit: 2", keys: "fail-on: {failures: 1}")
    job.request.variants = formats
    let (report, rows, _) = try runs.run(job)
    #expect(report.totals.failed == 1 && report.totals.skipped == 1 && report.totals.downloaded == 4)
    #expect(report.totals.urls == 6)
    #expect(rows.filter { $0.outcome != "downloaded" }.allSatisfy { $0.variant == nil })
  }

  @Test func `many entries at once keep their rows apart, even if the window is smaller than one entry's variants`() throws {
    let origin = try Origin()
    origin.setFallback { request in
      let number = Int(request.path.dropFirst()) ?? 0
      return request.headers["X-N"] == "\(number % 7)" ? .status(404) : .body(SampleImages.jpeg(number), type: "image/jpeg")
    }
    var job = try runs.job(urls: (0..<300).map { origin.url("/\($0)") }, keys: "prefetch: {concurrency: 16, per-host: 16}")
    job.request.variants = (0..<7).map { Job.Request.Variant("n\($0)", "X-N", "\($0)") }
    let (report, rows, _) = try runs.run(job)
    #expect(report.totals.urls == 2100 && report.totals.failed == 300)
    for row in rows where row.outcome == "failed" {
      let number = try #require(Int(row.url.split(separator: "/").last ?? ""))
      #expect(row.variant == "n\(number % 7)")
    }
    #expect(report.failures.allSatisfy { $0.variant.name?.hasPrefix("n") == true && $0.variant.edge == nil })
  }

  @Test func `each edge gets each entry under its own host name, URL by URL, and counts as a host`() throws {
    let origin = try makeNegotiatingOrigin(hosts: 2)
    let urls = ["/1", "/2", "/3"].map { "http://img.example:81\($0)" }
    var job = try runs.job(urls: urls, keys: "prefetch: {concurrency: 1}")
    job.request.edges = zip(["east", "west"], origin.ports).map { Job.Request.Edge(name: $0, host: "127.0.0.1", port: $1) }
    job.request.variants = formats
    job.remoteCache = .report
    let (report, rows, json) = try runs.run(job)
    #expect(report.totals.downloaded == 12 && report.hosts.map(\.host) == ["img.example:81"])
    #expect(origin.requests.allSatisfy { $0.headers["Host"] == "img.example:81" })
    let expected = ["/1", "/2", "/3"].flatMap { path in
      origin.ports.flatMap { port in ["image/png", "image/jpeg"].flatMap { Array(repeating: "\(path) \(port) \($0)", count: 2) } }
    }
    #expect(origin.requests.map { "\($0.path) \($0.port) \($0.headers["Accept"] ?? "-")" } == expected)
    #expect(
      rows.prefix(4).map { "\($0.edge ?? "-") \($0.variant ?? "-")" } == ["east png", "east jpeg", "west png", "west jpeg"]
    )
    // Every fourth response is a hit: the second one of every second request.
    let counts = ((json["hosts"] as? [[String: any Sendable]])?.first?["remote_cache"] as? [String: [String: Int]])
    #expect(counts == ["east": ["hit": 3, "miss": 3], "west": ["hit": 3, "miss": 3]])
    let cache = try job.openCache(access: .readOnly)
    let identities = try job.identities(of: urls[0], in: cache).map { String(decoding: $0, as: UTF8.self) }
    #expect(identities.first == "\(urls[0])#variant=png#edge=east" && identities.count == 4)
    #expect(try runs.run(job).report.totals.hitDisk == 12)
  }
}
