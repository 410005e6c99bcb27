import Foundation
import ImageCaching
import ImageDownloading
import ImageManaging
import Base
import Lists
import Reports
import TestOrigin
import TestSupport
import Testing

@testable import Jobs

/// Copies of fetched lists, for conditional requests.
@Suite struct ListCopiesTests {
  let folder = TemporaryDirectory()

  private func run(_ url: String, mode: String = "use", keys: String = "") async throws -> FinishedReport {
    var job = try JobsTests.job(
      "version: 1\nname: x\nmanifests: [{path: a}]\ncache: {directory: \(folder.file("cache")), mode: \(mode)}\n\(keys)"
    )
    job.manifests = [Job.List(try BaseURL(url))]
    job.reports = []
    job.request.download.retries = 0
    return try await runOnThread(job)
  }

  private var copies: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder.file("cache/default/lists"))) ?? []
  }

  /// A sitemap of one image, which the origin serves.
  private func sitemap(_ origin: Origin, _ number: Int) -> [UInt8] {
    origin.set("/\(number).jpg", .body(SampleImages.jpeg(number), type: "image/jpeg"))
    return Array("<urlset><url><loc>\(origin.url("/\(number).jpg"))</loc></url></urlset>".utf8)
  }

  /// Responds with 304 if the request has the validator.
  private func conditional(_ body: [UInt8], etag: String) -> Behaviour {
    .computed { request in
      if request.headers["If-None-Match"] == etag { return .status(304, headers: ["ETag": etag]) }
      return .body(body, type: "application/xml", headers: ["ETag": etag])
    }
  }

  private func validators(_ origin: Origin, _ path: String) -> [String?] {
    origin.requests.filter { $0.path == path }.map { $0.headers["If-None-Match"] }
  }

  @Test func `a list that hasn't changed isn't sent again, and one that has changed is`() async throws {
    let origin = try Origin()
    let index = Array("<sitemapindex><sitemap><loc>\(origin.url("/1.xml"))</loc></sitemap></sitemapindex>".utf8)
    origin.set("/index.xml", conditional(index, etag: "\"i\""))
    origin.set("/1.xml", conditional(sitemap(origin, 1), etag: "\"1\""))
    #expect(try await run(origin.url("/index.xml")).totals.downloaded == 1)
    let second = try await run(origin.url("/index.xml"))
    #expect(second.totals.hitDisk == 1 && second.warnings.isEmpty && second.exitStatus == .withinLimits)
    #expect(validators(origin, "/index.xml") == [nil, "\"i\""] && validators(origin, "/1.xml") == [nil, "\"1\""])
    origin.set("/1.xml", conditional(sitemap(origin, 2), etag: "\"2\""))
    #expect(try await run(origin.url("/index.xml")).totals.downloaded == 1)
    #expect(try await run(origin.url("/index.xml")).totals.hitDisk == 1)
    #expect(validators(origin, "/1.xml").suffix(2) == ["\"1\"", "\"2\""])
    #expect(copies.count == 2)
  }

  @Test(arguments: [0, 1]) func `a damaged copy is fetched again`(kind: Int) async throws {
    let origin = try Origin()
    origin.set("/1.xml", conditional(sitemap(origin, 1), etag: "\"1\""))
    _ = try await run(origin.url("/1.xml"))
    let name = "cache/default/lists/\(try #require(copies.first))"
    var bytes = try #require(folder.read(name))
    if kind == 0 { bytes.removeLast() } else { bytes[bytes.count - 20] ^= 1 }
    folder.write(bytes, to: name)
    #expect(try await run(origin.url("/1.xml")).totals.hitDisk == 1)
    #expect(validators(origin, "/1.xml") == [nil, nil])
    #expect(try await run(origin.url("/1.xml")).totals.hitDisk == 1)
    #expect(validators(origin, "/1.xml").last == "\"1\"")
  }

  @Test func `requests with other headers have other copies, whose names don't show them`() async throws {
    let origin = try Origin()
    origin.set("/1.xml", conditional(sitemap(origin, 1), etag: "\"1\""))
    _ = try await run(origin.url("/1.xml"))
    _ = try await run(origin.url("/1.xml"), keys: "request: {headers: {X-Token: secret}}\n")
    #expect(validators(origin, "/1.xml") == [nil, nil])
    #expect(Set(copies).count == 2 && copies.allSatisfy { $0.count == 32 })
  }

  @Test func `a redirect to another list is fetched again`() async throws {
    let origin = try Origin()
    for number in 1...2 {
      let body = sitemap(origin, number)
      origin.set(
        "/\(number).xml",
        .computed { request in
          let date = "Fri, 20 Nov 2026 10:00:00 GMT"
          if request.headers["If-Modified-Since"] != nil { return .status(304, headers: ["Last-Modified": date]) }
          return .body(body, headers: ["Last-Modified": date])
        }
      )
    }
    origin.set("/list.xml", .redirect(to: "/1.xml"))
    #expect(try await run(origin.url("/list.xml")).totals.downloaded == 1)
    #expect(try await run(origin.url("/list.xml")).totals.hitDisk == 1)
    origin.set("/list.xml", .redirect(to: "/2.xml"))
    #expect(try await run(origin.url("/list.xml")).totals.downloaded == 1)
    let requests = origin.requests.filter { $0.path == "/2.xml" }
    #expect(requests.map { $0.headers["If-Modified-Since"] != nil } == [true, false])
  }

  @Test(arguments: [[:], ["ETag": "\"1\"", "Cache-Control": "no-store"], ["ETag": "\"1\"", "Vary": "*"]] as [[String: String]])
  func `no copy is kept without a validator, or against the server's will`(headers: [String: String]) async throws {
    let origin = try Origin()
    let body = sitemap(origin, 1)
    origin.set("/1.xml", .body(body, headers: HeaderFields(headers.map { ($0.key, $0.value) })))
    #expect(try await run(origin.url("/1.xml")).totals.urls == 1)
    #expect(copies.isEmpty)
  }

  @Test(
    arguments: [("bypass", ""), ("use", "request: {cookies: true}\n")]
  ) func `a run without a cache, or with cookies, keeps no copies`(mode: String, keys: String) async throws {
    let origin = try Origin()
    origin.set("/1.xml", conditional(sitemap(origin, 1), etag: "\"1\""))
    for _ in 0..<2 { #expect(try await run(origin.url("/1.xml"), mode: mode, keys: keys).totals.urls == 1) }
    #expect(validators(origin, "/1.xml") == [nil, nil] && copies.isEmpty)
  }

  @Test func `a copy that can't be written is a warning`() async throws {
    let origin = try Origin()
    origin.set("/1.xml", conditional(sitemap(origin, 1), etag: "\"1\""))
    _ = try await run(origin.url("/1.xml"))
    try FileManager.default.removeItem(atPath: folder.file("cache/default/lists"))
    folder.write([], to: "cache/default/lists")
    let report = try await run(origin.url("/1.xml"))
    #expect(report.totals.hitDisk == 1 && report.warnings.count == 1)
    expectGolden(report.warnings.first)
  }

  @Test func `beyond the limit, the copies that weren't used for longest are removed`() throws {
    let cache = try ImageCache(ImageCache.Configuration(directory: folder.file("cache")))
    let copies = ListCopies(in: cache, maximumBytes: 10_000)
    let list = try FileBytes(folder.write([UInt8](repeating: 7, count: 2_000), to: "list"))
    let response = DownloadResponse(status: 200, validators: Validators(etag: "\"1\""), body: [], bodyBytes: 2_000)
    for number in 1...4 {
      copies.keep(list, named: "\(number)", response)
      // Older than the later ones.
      var times = [timespec(tv_sec: 1000 + number, tv_nsec: 0), timespec(tv_sec: 1000 + number, tv_nsec: 0)]
      utimensat(AT_FDCWD, folder.file("cache/default/lists/\(number)"), &times, 0)
    }
    copies.touch("1")
    copies.keep(list, named: "5", response)
    #expect(Set(self.copies) == ["1", "4", "5"])
    #expect(copies.failure == nil)
    let copy = try #require(copies.copy(named: "1"))
    #expect(readAll(copy.descriptor, limit: 5_000) == [UInt8](repeating: 7, count: 2_000))
    #expect(copy.validators == Validators(etag: "\"1\"") && copy.contentType == nil && copy.finalURL == nil)
  }
}

private final class FileBytes: FetchedBytes {
  let descriptor: Int32

  init(_ path: String) throws {
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    try #require(descriptor >= 0)
  }

  deinit { close(descriptor) }
}
