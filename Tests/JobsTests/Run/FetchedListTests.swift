import Foundation
import ImageDownloading
import ImageManaging
import Base
import Lists
import Reports
import TestOrigin
import TestSupport
import Testing

@testable import Jobs

/// Jobs whose manifests are fetched from an origin on loopback.
@Suite struct FetchedListTests {
  let folder = TemporaryDirectory()

  private func job(_ urls: String..., keys: String = "", change: (inout Job) -> Void = { _ in }) throws -> Job {
    var job = try JobsTests.job(
      "version: 1\nname: x\nmanifests: [{path: a}]\ncache: {directory: \(folder.file("cache"))}\n\(keys)"
    )
    job.manifests = try urls.map { Job.List((try BaseURL($0))) }
    job.reports = []
    job.request.download.backoff.initial = .milliseconds(1)
    job.request.download.backoff.maximum = .milliseconds(1)
    change(&job)
    return job
  }

  private func images(_ origin: Origin, _ numbers: ClosedRange<Int>) -> String {
    for number in numbers { origin.set("/i/\(number).jpg", .body(SampleImages.jpeg(number), type: "image/jpeg")) }
    return "<urlset>" + numbers.map { "<url><loc>\(origin.url("/i/\($0).jpg"))</loc></url>" }.joined() + "</urlset>"
  }

  private func index(_ origin: Origin, _ paths: String...) -> [UInt8] {
    Array(("<sitemapindex>" + paths.map { "<sitemap><loc>\(origin.url($0))</loc></sitemap>" }.joined() + "</sitemapindex>").utf8)
  }

  @Test func `images of sitemaps are warmed, and a missing sitemap is reported`() async throws {
    let origin = try Origin()
    origin.set("/index.xml", .redirect(to: "/moved/index.xml"))
    origin.set("/moved/index.xml", .body(index(origin, "/1.xml", "/gone.xml", "/2.xml"), type: "application/xml"))
    origin.set("/1.xml", .body(Array(images(origin, 1...3).utf8)))
    origin.set("/2.xml", .body(Array(images(origin, 4...5).utf8)))
    for order in [EntryOrder.fifo, .lifo] {
      let report = try await runOnThread(job(origin.url("/index.xml")) { $0.prefetch.order = order })
      #expect(report.totals.downloaded + report.totals.hitDisk == 5)
      #expect(report.totals.urls == 5)
      #expect(report.exitStatus == .couldNotFinish && !report.end.areManifestsRead)
      expectGolden(report.end.breakage)
      #expect(report.warnings.contains(report.end.breakage!))
      let read = Dictionary(uniqueKeysWithValues: report.manifests.map { ($0.path, $0.totals.urls) })
      #expect(read[origin.url("/1.xml")] == 3 && read[origin.url("/2.xml")] == 2 && read[origin.url("/index.xml")] == 0)
    }
    let request = try #require(origin.requests.first)
    #expect(request.headers["Accept"] == "application/xml,text/xml,*/*;q=0.8")
    // The spool leaves no files.
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.file("cache"))
    #expect(!left.contains { $0.contains("spool") })
  }

  @Test func `images start while other sitemaps are still being fetched`() async throws {
    let origin = try Origin()
    origin.set("/index.xml", .body(index(origin, "/1.xml", "/2.xml")))
    origin.set("/1.xml", .body(Array(images(origin, 1...2).utf8)))
    origin.set("/2.xml", .body(Array(images(origin, 3...3).utf8)))
    let gate = origin.hold("/2.xml")
    let job = try job(origin.url("/index.xml"), keys: "request: {stall-timeout: 10m, timeout: 10m}\n")
    async let report = runOnThread(job)
    try await poll("the requests") { origin.count(of: "/i/1.jpg") == 1 && origin.count(of: "/i/2.jpg") == 1 }
    #expect(origin.count(of: "/i/3.jpg") == 0)
    gate.open()
    #expect(try await report.totals.downloaded == 3)
    #expect(try await report.exitStatus == .withinLimits)
  }

  @Test func `a stopped run doesn't wait for a manifest`() async throws {
    let origin = try Origin()
    let gate = origin.hold("/list.txt")
    let control = RunControl()
    let job = try job(origin.url("/list.txt"), keys: "request: {stall-timeout: 10m, timeout: 10m}\n")
    async let report = runOnThread(job, control: control)
    try await poll("the requests") { origin.count(of: "/list.txt") == 1 }
    control.stop(signal: SIGINT)
    #expect(try await report.end.interruption == .interrupt)
    gate.open()
  }

  @Test func `a large list arrives in pieces and restarts if it breaks off`() async throws {
    let origin = try Origin()
    _ = images(origin, 1...2)
    let padding = String(repeating: "# nothing here\n", count: 60_000)
    // Starts with a newline, so that pieces of two attempts would be visible.
    let list = Array("\n/i/1.jpg\n\(padding)/i/2.jpg\n".utf8)
    origin.set("/list.txt", .sequence([.cut(afterBytes: 600_000, declared: list.count, of: list), .body(list)]))
    let report = try await runOnThread(job(origin.url("/list.txt")))
    #expect(report.exitStatus == .withinLimits)
    #expect(report.totals.downloaded == 2 && report.totals.urls == 2)
    #expect(origin.count(of: "/list.txt") == 2)
    #expect(report.manifests.map(\.path) == [origin.url("/list.txt")])
  }

  @Test func `sitemaps of other origins get none of the job's secrets`() async throws {
    let origin = try Origin()
    let other = try Origin()
    let own = [origin.url("/index.xml"), origin.url("/1.xml")]
    let text =
      "<sitemapindex><sitemap><loc>\(own[1])</loc></sitemap><sitemap><loc>\(other.url("/2.xml"))</loc></sitemap></sitemapindex>"
    origin.set("/index.xml", .body(Array(text.utf8), headers: ["Set-Cookie": "id=7"]))
    origin.set("/1.xml", .body(Array(images(origin, 1...1).utf8)))
    other.set("/2.xml", .body(Array(images(origin, 2...2).utf8)))
    let keys = "request: {headers: {X-Token: secret}, cookies: true}\n"
    let report = try await runOnThread(job(own[0], keys: keys) { $0.request.auth = .init(user: "u", password: "p") })
    #expect(report.totals.downloaded == 2)
    for url in ["/index.xml", "/1.xml"] {
      let request = try #require(origin.requests.first { $0.path == url })
      #expect(request.headers["X-Token"] == "secret" && request.headers["Authorization"] == "Basic dTpw")
    }
    #expect(other.requests.map(\.path) == ["/2.xml"])
    for name in ["X-Token", "Authorization", "Cookie"] { #expect(other.requests.first?.headers[name] == nil) }
  }

  @Test func `Content-Encoding is decoded`() async throws {
    let origin = try Origin()
    let text = Array(images(origin, 1...2).utf8)
    let packed = try await Command("/usr/bin/gzip", ["-c"], input: .bytes(text)).wait().output
    origin.set("/s.xml", .body(packed, headers: ["Content-Encoding": "gzip"]))
    origin.set("/s.xml.gz", .body(packed, type: "application/gzip"))
    let report = try await runOnThread(job(origin.url("/s.xml"), origin.url("/s.xml.gz")))
    // Both lists name the same images.
    #expect(report.totals.urls == 2 && report.repeats.urls == 2)
  }

  @Test func `credentials are shown nowhere`() async throws {
    let origin = try Origin()
    let url = origin.url("/gone.xml").replacing("http://", with: "http://user:secret@")
    let report = try await runOnThread(job(url))
    #expect(report.exitStatus == .couldNotFinish)
    #expect(report.end.breakage?.hasPrefix("http://***@127.0.0.1:") == true)
    #expect(report.manifests.map(\.path) == [origin.url("/gone.xml").replacing("http://", with: "http://***@")])
    #expect(origin.requests.first?.headers["Authorization"] == "Basic dXNlcjpzZWNyZXQ=")
  }

  @Test func `a mode that makes no request rejects fetched manifests`() throws {
    var only = try job("http://127.0.0.1:9/list.txt")
    only.cache.mode = .only
    for isDryRun in [false, true] {
      let error = #expect(throws: JobError.self) { try PreparedJob(only, isDryRun: isDryRun) }
      expectGolden(error?.description)
    }
  }
}
