import Foundation
import TestOrigin
import TestSupport
import Testing

/// The options of `prewarm check` and `prewarm run` for reading lists and sending requests.
@Suite struct ListOptionTests {
  private let origin = makeImageOrigin()
  private let job = JobFolder("")

  private var paths: [String] { Set(origin.requests.map(\.path)).sorted() }

  private func line(_ path: String) -> String {
    "192.0.2.7 - - [21/Nov/2026:09:00:00 +0000] \"GET \(path) HTTP/1.1\" 200 5120 \"-\" \"Mozilla/5.0\"\n"
  }

  @Test(arguments: ["check", "run"])
  func `--format, --base-url, --include and --exclude apply to every list`(command: String) async throws {
    job.folder.write("url,size\n/images/1.jpg,9\n/images/2.jpg,9\n/images/30.jpg,9\n", to: "one.list")
    job.folder.write("url\n/images/4.jpg\n/other.jpg\n", to: "two.list")
    let options = "--include /images/** --exclude /images/30.jpg --exclude re:2[.]jpg$"
    let result = try await job.prewarm("\(command) one.list two.list --format csv --base-url \(origin.url("/")) \(options)")
    #expect(result.status == 0, "\(result.outputText)\(result.errorText)")
    #expect(paths == ["/images/1.jpg", "/images/4.jpg"])
  }

  @Test(arguments: ["check", "run"]) func `nothing is requested for a file that isn't a list`(command: String) async throws {
    let files = [
      "style.css": "body {\n  background: url(/images/1.jpg);\n}\n", "README.md": "# Title\n\nA page.\n\n![one](/images/1.jpg)\n",
      "app.js": "const one = '/images/1.jpg';\nexport default one;\n", "data.parquet": "PAR1\u{0}\u{15}/images/1.jpg",
      "sheet": "name;photo\none;/images/1.jpg\n", "conf": "images:\n  - src: /images/1.jpg\n",
      "error.log": "2026/11/21 09:00:00 [error] 7#7: *1 open() \"/images/1.jpg\" failed (2: No such file)\n",
      "custom.log": "192.0.2.7 [21/Nov/2026:09:00:00 +0000] GET /images/1.jpg HTTP/1.1 a.com 200 5120\n",
    ]
    for (name, text) in files.sorted(by: { $0.key < $1.key }) {
      job.folder.write(text, to: name)
      for source in [name, "-"] {
        let line = "\(command) \(source) --base-url \(origin.url("/"))"
        let result = try await job.prewarm(line, input: .bytes(Array(text.utf8)))
        #expect(result.status == 1 || result.status == 3, "\(name): \(result.outputText)\(result.errorText)")
        #expect(result.errorText.contains("looks like") || result.errorText.contains("no column 'url'"), "\(result.errorText)")
      }
    }
    #expect(origin.requests.isEmpty)
  }

  @Test func `of a folder, the pages are read; of a list with other lines, only the URLs are requested`() async throws {
    job.folder.write("<img src=images/1.jpg><img src=/images/2.jpg>", to: "dist/index.html")
    job.folder.write("<img src=../images/3.jpg>", to: "dist/blog/a.html")
    let pages = try await job.prewarm("check dist/ --base-url", origin.url("/"))
    #expect(pages.status == 0, "\(pages.outputText)\(pages.errorText)")
    #expect(paths == ["/images/1.jpg", "/images/2.jpg", "/images/3.jpg"])
    job.folder.write("\(origin.url("/images/4.jpg"))\n\(origin.url("/images/5.jpg")) 200 OK\n</div>\nbody {\n", to: "list.txt")
    #expect(try await job.prewarm("check list.txt --base-url", origin.url("/")).status == 2)
    #expect(paths == ["/images/1.jpg", "/images/2.jpg", "/images/3.jpg", "/images/4.jpg"])
  }

  @Test func `an access log is recognized in a file, compressed or not, and on standard input`() async throws {
    let text = line("/images/1.jpg") + line("/images/2.jpg") + line("/images/2.jpg") + line("/page")
    job.folder.write(text, to: "access.log")
    let packed = try await Command("/usr/bin/gzip", ["-c"], input: .bytes(Array(text.utf8))).wait().output
    job.folder.write(packed, to: "access.log.1.gz")
    for source in ["access.log", "access.log.1.gz", "-"] {
      let result = try await job.prewarm("check \(source) --base-url \(origin.url("/"))", input: .bytes(Array(text.utf8)))
      #expect(
        result.status == 0 && result.outputText.contains("check  OK  2 URLs"),
        "\(source): \(result.outputText)\(result.errorText)"
      )
    }
    #expect(paths == ["/images/1.jpg", "/images/2.jpg"])
    try await job.expectTranscript("check access.log")
  }

  @Test func `--header sends a header and never shows its value`() async throws {
    let url = origin.url("/images/1.jpg")
    let headers = ["-H", "X-Token: s3cret", "--header", "X.Dot:two", "-H", "User-Agent: me"]
    let result = try await job.start(["check", url, "--verbose", "--report", "json=report.json"] + headers).wait()
    #expect(result.status == 0, "\(result.errorText)")
    let sent = try #require(origin.requests.first).headers
    #expect(sent["X-Token"] == "s3cret" && sent["X.Dot"] == "two" && sent["User-Agent"] == "me")
    let report = job.folder.text("report.json")
    #expect(![result.outputText, result.errorText, report].contains { $0.contains("s3cret") })
    for header in ["s3cret", "Host: s3cret", "X Y: s3cret", "X-Line: s3\ncret"] {
      let result = try await job.prewarm("check", url, "-H", header)
      #expect(result.status == 3 && !result.errorText.contains("s3cret"), "\(result.errorText)")
      expectGolden(result.errorText, for: header)
    }
    #expect(origin.requests.count == 1)
  }

  @Test func `--set changes one list or all of them, of the command line and of job files`() async throws {
    job.write(urls: imageURLs(origin, 0..<3))
    job.write(urls: imageURLs(origin, 3..<6), to: "more.txt")
    job.writeJob("manifests: [{path: urls.txt}, {path: more.txt}]")
    for sources in [["job.yaml"], ["urls.txt", "more.txt"]] {
      for (setting, count) in [("manifests.0.limit=1", 4), ("manifests.limit=1", 2)] {
        let before = origin.requests.count
        let result = try await job.start(["check"] + sources + ["--set", setting]).wait()
        #expect(result.status == 0 && origin.requests.count == before + count, "\(setting): \(result.errorText)")
      }
    }
  }

  @Test func `options read columns, nested fields, sitemaps, their pages and links without a job`() async throws {
    let image = { (number: Int) in origin.url("/images/\(number).jpg") }
    job.folder.write("sku,photo\na1,\(image(1))\n", to: "list.csv")
    job.folder.write("{\"sku\": \"b2\", \"photo\": \"\(image(2))\"}\n", to: "list.jsonl")
    job.folder.write("[{\"image\": {\"url\": \"\(image(3))\", \"id\": \"c3\"}}]", to: "nested.json")
    let columns = ["--url-column", "photo", "--id-column", "sku", "-o", "rows.jsonl"]
    #expect(try await job.start(["check", "list.csv", "list.jsonl"] + columns).wait().status == 0)
    let rows = job.folder.text("rows.jsonl")
    #expect(rows.contains(#""id":"a1""#) && rows.contains(#""id":"b2""#), "\(rows)")
    let nested = try await job.prewarm("check nested.json --url-column image.url --id-column image.id")
    #expect(nested.status == 0 && paths == ["/images/1.jpg", "/images/2.jpg", "/images/3.jpg"], "\(nested.errorText)")
    origin.set("/page", .text("<img src=/images/4.jpg><a href=/next>"))
    origin.set("/next", .text("<img src=/images/5.jpg>"))
    let sitemap = sitemapText([origin.url("/page")])
    origin.set("/map", .text(sitemap, type: "text/plain"))
    origin.set("/map.xml", .text(sitemap, type: "text/xml"))
    func urls(_ arguments: String...) async throws -> [String] {
      let result = try await job.start(arguments + ["--dry-run"]).wait()
      #expect(result.status == 0, "\(arguments): \(result.errorText)")
      return result.outputText.split(separator: "\n").map { String($0.split(separator: "/").last ?? "") }
    }
    #expect(try await urls("check", "--sitemap", origin.url("/map")) == ["4.jpg"])
    #expect(try await urls("check", origin.url("/page"), "--crawl", "1") == ["4.jpg", "5.jpg"])
    #expect(try await urls("check", origin.url("/map.xml"), "--crawl", "1") == ["4.jpg", "5.jpg"])
    #expect(try await urls("run", origin.url("/map.xml"), "--pages") == ["4.jpg"])
    #expect(try await urls("run", origin.url("/map.xml"), "--set", "manifests.pages=true") == ["4.jpg"])
  }

  @Test func `check reads the pages of a sitemap within limits that it prints; run and jobs fail until told`() async throws {
    origin.set("/1", .text("<img src=/images/1.jpg>"))
    origin.set("/2", .text("<img src=/gone.jpg>"))
    let sitemap = sitemapText([origin.url("/1"), origin.url("/2")])
    origin.set("/map.xml", .text(sitemap, type: "text/xml"))
    job.folder.write(sitemap, to: "map.xml")
    job.writeJob("manifests: [{url: \"\(origin.url("/map.xml"))\"}]")
    let port = ":\(origin.port)"
    for source in [origin.url("/map.xml"), "map.xml"] {
      let quiet = try await job.prewarm("check", source, "--quiet")
      #expect(quiet.status == 2 && quiet.outputText.contains("/gone.jpg"), "\(quiet.outputText)\(quiet.errorText)")
      let check = try await job.prewarm("check", source)
      #expect(check.status == 2)
      expectGolden(check.errorText.replacing(port, with: ":PORT").lines(with: "pages"))
    }
    let before = origin.requests.count { $0.path.hasPrefix("/images") }
    try await job.expectTranscript(
      "run --quiet map.xml",
      "run --quiet \(origin.url("/map.xml"))",
      "run --quiet job.yaml",
      for: "refused"
    )
    #expect(try await job.prewarm("check job.yaml").status == 1)
    #expect(try await job.prewarm("run map.xml --no-pages").status == 2)
    #expect(origin.requests.count { $0.path.hasPrefix("/images") } == before)
  }

  @Test(
    arguments: ["{path: missing.txt}", "{path: 'missing/*.txt'}", "{path: 'missing*'}", "{path: empty/}", "{path: urls.parquet}"]
  )
  func `a list that can't be read ends validate and run before the first request with 3`(manifest: String) async throws {
    job.write(urls: imageURLs(origin, 0..<1))
    job.folder.write("PAR1\u{0}", to: "urls.parquet")
    job.folder.write("", to: "empty/.keep")
    job.writeJob("manifests: [{path: urls.txt}, \(manifest)]")
    try await job.expectTranscript("validate job.yaml", "run job.yaml", for: manifest)
    #expect(origin.requests.isEmpty)
  }

  @Test func `a line of standard input is named so`() async throws {
    let result = try await job.prewarm("check -", input: .bytes(Array("\(origin.url("/images/1.jpg"))\nnot a URL\n".utf8)))
    #expect(result.outputText.contains("stdin:2"), "\(result.outputText)")
  }
}
