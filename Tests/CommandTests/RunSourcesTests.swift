import Foundation
import TestOrigin
import TestSupport
import Testing

/// Lists and URLs that run without a job file, and the creation of job files.
@Suite struct RunSourcesTests {
  private let origin = makeImageOrigin()

  @Test func `check and run read lists, patterns, sitemaps, URLs and standard input without a job file`() async throws {
    origin.set("/sitemap.xml", .text(sitemapText(imageURLs(origin, 1..<2)), type: "text/plain"))
    let job = JobFolder("")
    for (number, name) in [(2, "urls.txt"), (3, "part-a.list"), (4, "part-b.list")] {
      job.write(urls: imageURLs(origin, number..<number + 1), to: name)
    }
    job.folder.write("url\n\(origin.url("/images/5.jpg"))\n", to: "urls.csv")
    let sources = "\(origin.url("/sitemap.xml?v=1")) urls.txt part-*.list urls.csv - \(origin.url("/images/7.jpg"))"
    let input = Command.Input.bytes(Array("\(origin.url("/images/6.jpg"))\n".utf8))
    for command in ["check", "run"] {
      let result = try await job.prewarm("\(command) \(sources)", input: input)
      #expect(result.status == 0, "\(result.outputText)\(result.errorText)")
      expectGolden(result.outputText.timeless.lines(with: "7 URLs"), for: command)
      #expect(Set(origin.requests.map(\.path)).sorted() == (1...7).map { "/images/\($0).jpg" } + ["/sitemap.xml"])
    }
    // They are in the default cache, which every job uses.
    let requests = origin.requests.count
    let second = try await job.prewarm("run job.yaml \(sources)", input: input)
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
    origin.set("/index.xml", .text(index, type: "text/xml"))
    origin.set("/a.xml", .text(sitemapText(imageURLs(origin, 0..<3)), type: "text/xml"))
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
      "{url: ORIGIN/missing.xml}", "{url: ORIGIN/broken.xml}", "{url: ORIGIN/lost.xml}", "{url: ORIGIN/page}", "{path: bad.txt}",
      "{path: missing.txt}", "{path: empty.txt}", "{path: urls.csv, columns: {url: link}}", "{path: good.txt}",
    ]
  )
  func `a dry run exits like a run if a list is invalid`(manifest: String) async throws {
    origin.set("/broken.xml", .text("<urlset><url>", type: "text/xml"))
    let lost = "<sitemapindex><sitemap><loc>\(origin.url("/missing.xml"))</loc></sitemap></sitemapindex>"
    origin.set("/lost.xml", .text(lost, type: "text/xml"))
    origin.set("/page", .text("<html>"))
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
    for (line, file) in [("init", "prewarm.yaml"), ("init other.yaml", "other.yaml")] {
      try await job.expectTranscript(line, "validate \(file)", line, for: file)
      #expect(try await job.prewarm("run", file).status == 0)
      let keys = job.folder.text(file).split(separator: "\n").filter { $0.firstMatch(of: /^ *#? *(?:- )?[a-z-]+:/) != nil }
      #expect((5...10).contains(keys.count), "\(keys)")
    }
    #expect(origin.requests.count == 2)
    try await job.expectTranscript("init missing/job.yaml", for: "missing")
  }

}
