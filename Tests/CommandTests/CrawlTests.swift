import TestOrigin
import TestSupport
import Testing

/// Jobs that find images on pages.
@Suite struct CrawlTests {
  private func html(_ text: String) -> Behaviour { .body(Array("<!doctype html>\(text)".utf8), type: "text/html") }

  /// A start page, a page that robots may not read, and a page that both link to.
  private func makeSite() throws -> Origin {
    let origin = try makeImageOrigin()
    origin.set("/", html("<img src=/images/1.jpg><a href=/a>a</a><a href=/private/b>b</a>"))
    origin.set("/a", html("<img src=/images/1.jpg><img src=/images/2.jpg><img src=/gone.jpg>\n<img src=/gone.jpg>"))
    origin.set("/private/b", html("<img src=/images/3.jpg><img src=/gone.jpg>"))
    origin.set("/robots.txt", .body(Array("User-agent: *\nDisallow: /private/\n".utf8), type: "text/plain"))
    return origin
  }

  @Test func `a crawl requests each image once, and reports its first page and the number of pages`() async throws {
    let origin = try makeSite()
    let job = JobFolder("manifests: [{page: \(origin.url("/")), crawl: {depth: 1}}]")
    let run = try await job.runJob()
    #expect(run.status == 2 && run.totals["urls"] == 4 && origin.count(of: "/images/1.jpg") == 1)
    expectGolden(run.result.outputText.timeless.replacing(":\(origin.port)", with: ":PORT").lines(with: "gone"))
    let verbose = try await job.prewarm("check", "job.yaml", "--verbose")
    #expect(verbose.outputText.contains("Lists with failures") && verbose.outputText.contains("img src, on 2 pages"))
  }

  @Test func `pages obey robots.txt, and the rules for addresses`() async throws {
    let origin = try makeSite()
    let page = "manifests: [{page: \(origin.url("/")), crawl: {depth: 1}}]\n"
    let polite = try await JobFolder("\(page)request: {robots: respect}\nfail-on: {failures: 1}").runJob()
    #expect(polite.status == 0 && origin.count(of: "/private/b") == 0 && polite.totals["urls"] == 3)
    #expect(polite.result.outputText.contains("/private/b"), "\(polite.result.outputText)")
    let outside = try await JobFolder("\(page)request: {addresses: public}").prewarm("run", "job.yaml")
    #expect(outside.status == 1 && outside.errorText.contains("isn't a public address"), "\(outside.errorText)")
  }

  @Test func `cycles end, and a trap of endless pages ends at the number of pages`() async throws {
    let origin = try makeImageOrigin()
    let images = origin.url("/images/")
    origin.setFallback { request in
      if request.path.hasPrefix("/images/") { return .body(SampleImages.jpeg(1), type: "image/jpeg") }
      let number = Int(request.path.dropFirst(2)) ?? 0
      let links = (1...9).map { "<a href=/p\(number * 10 + $0)></a>" }.joined()
      return .body(Array("<!doctype html><img src=\(images)\(number % 7).jpg>\(links)<a href=/></a>".utf8), type: "text/html")
    }
    let job = JobFolder("manifests: [{page: \(origin.url("/")), crawl: {depth: 5, pages: 50}}]")
    let run = try await job.runJob()
    #expect(run.status == 0 && run.totals["urls"] == 7)
    #expect(origin.requests.count { !$0.path.hasPrefix("/images/") } == 50)
    #expect(run.result.outputText.contains("more than 50 pages"), "\(run.result.outputText)")
  }
}
