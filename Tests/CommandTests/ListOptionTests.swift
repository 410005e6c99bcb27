import Foundation
import TestOrigin
import TestSupport
import Testing

/// The options of `prewarm check` and `prewarm run` for reading lists and sending requests.
@Suite struct ListOptionTests {
  private let origin: Origin
  private let job = JobFolder("")

  init() throws { origin = try makeImageOrigin() }

  private var paths: [String] { Set(origin.requests.map(\.path)).sorted() }

  private func line(_ path: String) -> String {
    "192.0.2.7 - - [21/Nov/2026:09:00:00 +0000] \"GET \(path) HTTP/1.1\" 200 5120 \"-\" \"Mozilla/5.0\"\n"
  }

  @Test("--format, --base-url, --include and --exclude apply to every list", arguments: ["check", "run"])
  func listsAreReadByTheOptions(command: String) async throws {
    job.folder.write("url,size\n/images/1.jpg,9\n/images/2.jpg,9\n/images/30.jpg,9\n", to: "one.list")
    job.folder.write("url\n/images/4.jpg\n/other.jpg\n", to: "two.list")
    let result = try await job.prewarm(
      command,
      "one.list",
      "two.list",
      "--format",
      "csv",
      "--base-url",
      origin.url("/"),
      "--include",
      "/images/**",
      "--exclude",
      "/images/30.jpg",
      "--exclude",
      "re:2[.]jpg$"
    )
    #expect(result.status == 0, "\(result.outputText)\(result.errorText)")
    #expect(paths == ["/images/1.jpg", "/images/4.jpg"])
  }

  @Test("nothing is requested for a file that isn't a list", arguments: ["check", "run"]) func otherFiles(command: String)
    async throws
  {
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
        let input: Command.Input = source == "-" ? .bytes(Array(text.utf8)) : .none
        let result = try await job.prewarm(command, source, "--base-url", origin.url("/"), input: input)
        #expect(result.status == 1 || result.status == 3, "\(name): \(result.outputText)\(result.errorText)")
        #expect(result.errorText.contains("looks like") || result.errorText.contains("no column 'url'"), "\(result.errorText)")
      }
    }
    #expect(origin.requests.isEmpty)
  }

  @Test("of a folder, the pages are read; of a list with other lines, only the URLs are requested") func folders() async throws {
    job.folder.write("<img src=images/1.jpg><img src=/images/2.jpg>", to: "dist/index.html")
    job.folder.write("<img src=../images/3.jpg>", to: "dist/blog/a.html")
    let pages = try await job.prewarm("check", "dist/", "--base-url", origin.url("/"))
    #expect(pages.status == 0, "\(pages.outputText)\(pages.errorText)")
    #expect(paths == ["/images/1.jpg", "/images/2.jpg", "/images/3.jpg"])
    job.folder.write("\(origin.url("/images/4.jpg"))\n\(origin.url("/images/5.jpg")) 200 OK\n</div>\nbody {\n", to: "list.txt")
    #expect(try await job.prewarm("check", "list.txt", "--base-url", origin.url("/")).status == 2)
    #expect(paths == ["/images/1.jpg", "/images/2.jpg", "/images/3.jpg", "/images/4.jpg"])
  }

  @Test("an access log is recognized in a file, compressed or not, and on standard input")
  func accessLogsAreRecognized() async throws {
    let text = line("/images/1.jpg") + line("/images/2.jpg") + line("/images/2.jpg") + line("/page")
    job.folder.write(text, to: "access.log")
    let packed = try await Command("/usr/bin/gzip", ["-c"], input: .bytes(Array(text.utf8))).wait().output
    job.folder.write(packed, to: "access.log.1.gz")
    for source in ["access.log", "access.log.1.gz", "-"] {
      let result = try await job.prewarm(
        "check",
        source,
        "--base-url",
        origin.url("/"),
        input: source == "-" ? .bytes(Array(text.utf8)) : .none
      )
      #expect(
        result.status == 0 && result.outputText.contains("check  OK  2 URLs"),
        "\(source): \(result.outputText)\(result.errorText)"
      )
    }
    #expect(paths == ["/images/1.jpg", "/images/2.jpg"])
    let result = try await job.prewarm("check", "access.log")
    #expect(result.status == 3 && result.output.isEmpty)
    expectGolden(result.errorText)
  }

  @Test("--header sends a header and never shows its value") func headersAreSent() async throws {
    let url = origin.url("/images/1.jpg")
    let result = try await job.prewarm(
      "check",
      url,
      "-H",
      "X-Token: s3cret",
      "--header",
      "X.Dot:two",
      "-H",
      "User-Agent: me",
      "--verbose",
      "--report",
      "json=report.json"
    )
    #expect(result.status == 0, "\(result.errorText)")
    let headers = try #require(origin.requests.first).headers
    #expect(headers["X-Token"] == "s3cret" && headers["X.Dot"] == "two" && headers["User-Agent"] == "me")
    let report = String(decoding: job.folder.read("report.json") ?? [], as: UTF8.self)
    #expect(![result.outputText, result.errorText, report].contains { $0.contains("s3cret") })
    for header in ["s3cret", "Host: s3cret", "X Y: s3cret", "X-Line: s3\ncret"] {
      let result = try await job.prewarm("check", url, "-H", header)
      #expect(result.status == 3 && !result.errorText.contains("s3cret"), "\(result.errorText)")
      expectGolden(result.errorText, for: header)
    }
    #expect(origin.requests.count == 1)
  }

  @Test(
    "an option that has no effect on a source is rejected",
    arguments: [
      ["urls.txt", "--set", "manifests.0.limit=1"], ["urls.txt", "--set", "manifests=[{urls: []}]"],
      ["urls.txt", "job.yaml", "--set", "manifests.0.limit=1"], ["job.yaml", "--include", "/a"],
      ["job.yaml", "urls.txt", "--format", "csv"],
      ["urls.txt", "--format", "cvs"], ["urls.txt", "--base-url", "/a"], ["urls.txt", "--exclude", "re:("],
    ]
  )
  func optionsWithoutEffectAreRejected(arguments: [String]) async throws {
    job.write(urls: imageURLs(origin, 0..<3))
    job.folder.write("version: 1\nname: test\nmanifests: [{path: urls.txt}]\n", to: "job.yaml")
    for command in ["check", "run"] {
      let result = try await job.start([command] + arguments).wait()
      #expect(result.status == 3 && result.output.isEmpty, "\(command): \(result.outputText)")
      expectGolden(result.errorText, for: "\(command) \(arguments.joined(separator: " "))")
    }
    #expect(origin.requests.isEmpty)
  }

  @Test("--set changes the lists of job files") func settingsOfManifestsChangeJobFiles() async throws {
    job.write(urls: imageURLs(origin, 0..<3))
    job.folder.write("version: 1\nname: test\nmanifests: [{path: urls.txt}]\n", to: "job.yaml")
    #expect(try await job.prewarm("check", "job.yaml", "--set", "manifests.0.limit=1").status == 0)
    #expect(origin.requests.count == 1)
  }
}
