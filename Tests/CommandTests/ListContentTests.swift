import Foundation
import TestOrigin
import TestSupport
import Testing

/// Lists whose entries come from pages, templates and sitemaps.
@Suite struct ListContentTests {
  private let origin = makeImageOrigin()

  private func html(_ text: String) -> Behaviour { .text("<!doctype html>\(text)") }

  /// A start page, a page that robots may not read, and a page that both link to.
  private func makeSite() throws -> Origin {
    origin.set("/", html("<img src=/images/1.jpg><a href=/a>a</a><a href=/private/b>b</a>"))
    origin.set("/a", html("<img src=/images/1.jpg><img src=/images/2.jpg><img src=/gone.jpg>\n<img src=/gone.jpg>"))
    origin.set("/private/b", html("<img src=/images/3.jpg><img src=/gone.jpg>"))
    origin.set("/robots.txt", .text("User-agent: *\nDisallow: /private/\n", type: "text/plain"))
    return origin
  }

  @Test func `a crawl requests each image once, and reports its first page and the number of pages`() async throws {
    let origin = try makeSite()
    let job = JobFolder("manifests: [{page: \(origin.url("/")), crawl: {depth: 1}}]")
    let run = try await job.runJob()
    #expect(run.status == 2 && run.totals["urls"] == 4 && origin.count(of: "/images/1.jpg") == 1)
    expectGolden(run.result.outputText.timeless.replacing(":\(origin.port)", with: ":PORT").lines(with: "gone"))
    let verbose = try await job.prewarm("check job.yaml --verbose")
    #expect(verbose.outputText.contains("Lists with failures") && verbose.outputText.contains("img src, on 2 pages"))
  }

  @Test func `pages obey robots.txt, and the rules for addresses`() async throws {
    let origin = try makeSite()
    let page = "manifests: [{page: \(origin.url("/")), crawl: {depth: 1}}]\n"
    let polite = try await JobFolder("\(page)request: {robots: respect}\nfail-on: {failures: 1}").runJob()
    #expect(polite.status == 0 && origin.count(of: "/private/b") == 0 && polite.totals["urls"] == 3)
    #expect(polite.result.outputText.contains("/private/b"), "\(polite.result.outputText)")
    let outside = try await JobFolder("\(page)request: {addresses: public}").prewarm("run job.yaml")
    #expect(outside.status == 1 && outside.errorText.contains("isn't a public address"), "\(outside.errorText)")
  }

  // MARK: URLs that a template makes, requested.

  @Test func `images are held against what their URL asks for`() async throws {
    // 32 pixels wide, whatever is asked for.
    for folder in ["32/jpg", "64/jpg", "auto/jpg", "32/webp"] {
      origin.set("/\(folder)/images/1.jpg", .jpeg(1))
    }
    let job = JobFolder(
      """
      manifests:
        - path: list.csv
          template: "/{w}/{fm}/{path}"
          base-url: \(origin.url("/"))
          expand: {w: [32, 64, auto], fm: [jpg, webp]}
          exclude: ["/64/webp/**", "/auto/webp/**"]
      """
    )
    // The width and the size are those of the original.
    job.folder.write("url,width,bytes\n/images/1.jpg,1000,1\n", to: "list.csv")
    let run = try await job.runJob()
    #expect(run.status == 2 && run.failuresByKind == ["expectation": 2])
    let kinds = Dictionary(uniqueKeysWithValues: run.rows.map { ($0.url, $0.kind ?? $0.outcome) })
    let expected = [
      "/32/jpg": "downloaded", "/64/jpg": "expectation", "/auto/jpg": "downloaded", "/32/webp": "expectation",
      "/64/webp": "skipped", "/auto/webp": "skipped",
    ]
    #expect(kinds == Dictionary(uniqueKeysWithValues: expected.map { (origin.url("\($0)/images/1.jpg"), $1) }))
  }

  @Test func `signed URLs are requested, and the key is shown nowhere`() async throws {
    let (path, signed) = ("300x200/my.server.com/some/path/to/image.jpg", "/8ammJH8D-7tXy6kU3lTvoXlhu4o=/")
    origin.set(signed + path, .jpeg(1))
    let urls = [origin.url("/unsafe/\(path)"), origin.url("/1/\(path)")].joined(separator: "', '")
    let job = JobFolder("manifests: [{urls: ['\(urls)'], sign: {service: thumbor, key-env: KEY}}]")
    let line = "run job.yaml --verbose --report json=report.json --report jsonl=rows.jsonl --report html=report.html"
    let run = try job.finishedRun(try await job.prewarm(line, environment: ["KEY": "my-security-key"]))
    #expect(run.status == 2 && run.rows.map(\.outcome).sorted() == ["downloaded", "failed"])
    #expect(origin.requests.contains { $0.path == signed + path })
    let written = ["report.json", "rows.jsonl", "report.html"].map { readFile(job.folder.file($0)) ?? [] }
    for text in written.map({ String(decoding: $0, as: UTF8.self) }) + [run.result.outputText, run.result.errorText] {
      #expect(!text.isEmpty && !text.contains("my-security-key"))
    }
  }

  // MARK: Sitemaps whose dates decide what is requested again.

  private func sitemap(_ origin: Origin, _ dates: [String]) -> Behaviour {
    let entries = dates.enumerated().map { index, date in
      "<url><loc>\(origin.url("/images/\(index).jpg"))</loc><lastmod>\(date)</lastmod></url>"
    }
    return .text("<urlset>\(entries.joined())</urlset>", type: "application/xml")
  }

  @Test(arguments: [false, true])
  func `an image that was cached before its lastmod is requested again, unless the date is in the future`(isSpooled: Bool)
    async throws
  {
    let keys = isSpooled ? "prefetch: {order: lifo}" : ""
    let job = JobFolder("manifests: [{url: \(origin.url("/s.xml")), sitemap-lastmod: true}]\n\(keys)")
    origin.set("/s.xml", sitemap(origin, ["2020-01-01", "2020-01-01T00:00:00Z", "never"]))
    #expect(try await job.runJob().totals["downloaded"] == 3)
    #expect(try await job.runJob().totals["hit_disk"] == 3)
    // Times of this day may be later than the copy, and those of other years aren't plausible.
    let today = String("\(Date.now.ISO8601Format())".prefix(10))
    origin.set("/s.xml", sitemap(origin, ["2020-01-01", today, "2999-01-01"]))
    let again = try await job.runJob()
    #expect(again.rows("downloaded").map(\.url) == [origin.url("/images/1.jpg")] && again.totals["hit_disk"] == 2)
  }

  @Test func `cache clear removes copies of lists, too`() async throws {
    let text = "<urlset><url><loc>\(origin.url("/images/0.jpg"))</loc></url></urlset>"
    origin.set("/s.xml", .body(Array(text.utf8), type: "application/xml", headers: ["ETag": "\"1\""]))
    let job = JobFolder("manifests: [{url: \(origin.url("/s.xml"))}]")
    let folder = "\(job.cacheDirectory)/default/lists"
    _ = try await job.runJob()
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
    let cleared = try await job.prewarm("cache clear")
    #expect(cleared.status == 0, "\(cleared.errorText)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
  }
}
