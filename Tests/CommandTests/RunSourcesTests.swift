import Foundation
import TestOrigin
import TestSupport
import Testing

/// Lists and URLs that run without a job file, and the creation of job files.
@Suite struct RunSourcesTests {
  private let origin = makeImageOrigin()

  private func sitemap(_ origin: Origin, _ numbers: Range<Int>) -> Behaviour {
    let entries = imageURLs(origin, numbers).map { "<url><loc>\($0)</loc></url>" }.joined()
    return .body(
      Array("<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\(entries)</urlset>".utf8),
      type: "text/xml"
    )
  }

  @Test func `run warms lists, sitemaps, URLs and standard input without a job file`() async throws {
    origin.set("/sitemap.xml", sitemap(origin, 2..<4))
    let job = JobFolder("")
    job.write(urls: imageURLs(origin, 0..<2))
    let sources = ["urls.txt", origin.url("/sitemap.xml"), "-", origin.url("/images/5.jpg")]
    let input = Command.Input.bytes(Array("\(origin.url("/images/4.jpg"))\n".utf8))
    let first = try await job.start(["run"] + sources, input: input).wait()
    #expect(first.status == 0, "\(first.outputText)\(first.errorText)")
    expectGolden(first.outputText.timeless.lines(with: "6 URLs"))
    // They are in the default cache, which every job uses.
    job.folder.write("version: 1\nname: test\nmanifests: [{path: urls.txt}]\n", to: "job.yaml")
    let requests = origin.requests.count
    let second = try await job.start(["run", "job.yaml"] + sources, input: input).wait()
    #expect(second.status == 0 && origin.requests.count == requests + 1, "\(second.outputText)")
    let names = second.outputText.split(separator: "\n").compactMap { $0.firstMatch(of: /^(\w+)  OK  \d+ URL/)?.1 }
    #expect(names == ["run", "test"], "\(second.outputText)")
  }

  @Test(arguments: ["/urls.txt", "/urls.csv?v=1", "/urls.txt.gz"])
  func `a URL that ends like a list is fetched as a list`(path: String) async throws {
    let header = path.contains("csv") ? "url\n" : ""
    let list = Array((header + imageURLs(origin, 0..<3).map { "\($0)\n" }.joined()).utf8)
    origin.set(path, .body(list, type: "text/plain"))
    let result = try await JobFolder("").prewarm("check", origin.url(path))
    #expect(result.status == 0, "\(result.outputText)\(result.errorText)")
    #expect(result.outputText.contains("3 URLs") && origin.requests.count == 4)
  }

  // MARK: Dry runs

  @Test(arguments: ["check", "run"]) func `a dry run fetches sitemaps, and no image`(command: String) async throws {
    let index = "<sitemapindex><sitemap><loc>\(origin.url("/a.xml"))</loc></sitemap></sitemapindex>"
    origin.set("/index.xml", .body(Array(index.utf8), type: "text/xml"))
    origin.set("/a.xml", sitemap(origin, 0..<3))
    let job = JobFolder("manifests: [{url: \"\(origin.url("/index.xml"))\"}]")
    for source in [origin.url("/index.xml"), "job.yaml"] {
      let result = try await job.prewarm(command, source, "--dry-run")
      #expect(result.status == 0, "\(result.errorText)")
      #expect(result.outputText == imageURLs(origin, 0..<3).map { "\($0)\n" }.joined())
    }
    #expect(origin.requests.map(\.path) == ["/index.xml", "/a.xml", "/index.xml", "/a.xml"])
    #expect(!FileManager.default.fileExists(atPath: job.cacheDirectory))
  }

  @Test(
    arguments: [
      "{url: ORIGIN/missing.xml}", "{url: ORIGIN/broken.xml}", "{url: ORIGIN/lost.xml}", "{url: ORIGIN/page}",
      "{path: missing.txt}",
      "{path: bad.txt}", "{path: empty.txt}", "{path: urls.csv, columns: {url: link}}", "{path: good.txt}",
    ]
  )
  func `a dry run exits like a run if a list is invalid`(manifest: String) async throws {
    origin.set("/broken.xml", .body(Array("<urlset><url>".utf8), type: "text/xml"))
    let lost = "<sitemapindex><sitemap><loc>\(origin.url("/missing.xml"))</loc></sitemap></sitemapindex>"
    origin.set("/lost.xml", .body(Array(lost.utf8), type: "text/xml"))
    origin.set("/page", .body(Array("<html>".utf8), type: "text/html"))
    let job = JobFolder("manifests: [\(manifest.replacing("ORIGIN", with: origin.base))]\nrequest: {retries: 0}")
    job.folder.write("\(origin.url("/images/1.jpg"))\nno url\n", to: "bad.txt")
    job.write(urls: imageURLs(origin, 0..<1), to: "good.txt")
    job.folder.write("# nothing\n", to: "empty.txt")
    job.folder.write("url\n", to: "urls.csv")
    let dry = try await job.prewarm("run job.yaml --dry-run")
    #expect(!origin.requests.contains { $0.path.hasPrefix("/images") })
    expectGolden(dry.errorText, for: manifest)
    #expect(try await job.prewarm("run job.yaml").status == dry.status)
  }

  @Test(arguments: [("failures=1", 0), ("failures=30%", 0), ("failures=20%", 2)])
  func `a dry run judges invalid lines by fail-on`(rule: String, status: Int) async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<3) + ["no url"])
    #expect(try await job.prewarm("run job.yaml --dry-run --fail-on", rule).status == status)
    #expect(try await job.prewarm("run job.yaml --fail-on", rule).status == status)
    // Blacklisted URLs aren't errors of the list.
    job.write(urls: imageURLs(origin, 0..<3) + [origin.url("/missing.jpg")])
    #expect(try await job.prewarm("run job.yaml").status == 2)
    #expect(try await job.prewarm("run job.yaml --dry-run").status == 0)
    job.write(urls: [origin.url("/missing.jpg"), "no url"])
    expectGolden(try await job.prewarm("run job.yaml --dry-run").errorText, for: rule)
  }

  // MARK: Starting

  @Test func `init writes a job that runs, and never overwrites`() async throws {
    let job = JobFolder("")
    job.write(urls: imageURLs(origin, 0..<2))
    for (arguments, file) in [(["init"], "prewarm.yaml"), (["init", "other.yaml"], "other.yaml")] {
      let written = try await job.start(arguments).wait()
      #expect(written.status == 0 && written.output.isEmpty)
      expectGolden(written.errorText, for: file)
      #expect(try await job.prewarm("validate", file).status == 0)
      #expect(try await job.prewarm("run", file).status == 0)
      let bytes = job.folder.read(file)
      let again = try await job.start(arguments).wait()
      #expect(again.status == 3 && job.folder.read(file) == bytes)
      expectGolden(again.errorText, for: "\(file) again")
    }
    #expect(origin.requests.count == 2)
    let nowhere = try await job.prewarm("init missing/job.yaml")
    #expect(nowhere.status == 1)
    expectGolden(nowhere.errorText, for: "missing/job.yaml")
  }

  @Test func `the job of init has at most ten keys`() async throws {
    let job = JobFolder("")
    _ = try await job.prewarm("init job2.yaml")
    let text = job.folder.text("job2.yaml")
    let keys = text.split(separator: "\n").filter { $0.firstMatch(of: /^ *#? *(?:- )?[a-z-]+:/) != nil }
    #expect((5...10).contains(keys.count), "\(keys)")
  }
}
