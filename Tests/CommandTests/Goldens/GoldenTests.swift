import Foundation
import TestOrigin
import TestSupport
import Testing

/// The command's output, compared with the files of `Tests/Goldens/CommandTests`.
@Suite struct GoldenTests {
  private func expect(_ text: String, _ name: String, _ location: SourceLocation = #_sourceLocation) {
    let difference = Golden.difference(of: text, from: "CommandTests/\(name)")
    #expect(difference == nil, "\(difference ?? "")", sourceLocation: location)
  }

  /// The reference of the command line has the others' options.
  @Test(arguments: ["prewarm", "prewarm run"]) func `help is laid out as in its golden file`(command: String) async throws {
    let result = try await JobFolder("").prewarm("\(command.dropFirst(8)) --help", environment: ["COLUMNS": "80"])
    #expect(result.status == 0)
    expect(result.outputText, "help/\(command.replacing(" ", with: "-")).txt")
  }

  /// A folder with the cache of `Fixtures/cache` and a job over its images.
  private func cached() throws -> JobFolder {
    let images = ["1.jpg", "2.png", "3.webp", "large.jpg", "missing.jpg"]
    let job = JobFolder(
      urls: images.map { "http://img.example.com/\($0)" },
      keys: "cache: {mode: only, max-age: 36500d}\nblacklist: {ttl: 36500d}\nfail-on: {failures: 1}"
    )
    try FileManager.default.copyItem(atPath: Fixtures.path("cache"), toPath: job.cacheDirectory)
    return job
  }

  @Test(
    "a cache of an earlier build is read as when it was written",
    arguments: [
      ["cache", "list"], ["cache", "list", "--json"], ["cache", "stats", "--job", "job.yaml"], ["cache", "verify"],
      ["cache", "verify", "--json"], ["blacklist", "list"], ["blacklist", "list", "--json"],
    ]
  )
  func earlierCache(arguments: [String]) async throws {
    let job = try cached()
    let result = try await job.start(arguments).wait()
    #expect(result.status == 0)
    let name = arguments.filter { $0 != "--job" && $0 != "job.yaml" }.joined(separator: "-").replacing("---", with: "-")
    let text = (result.outputText + result.errorText).replacing(job.folder.path, with: "FOLDER")
    expect(text.replacing(/on disk .*/, with: "on disk    SIZE"), "\(name).txt")
  }

  @Test func `a run over a cache of an earlier build finds every image in it`() async throws {
    let job = try cached()
    // One image varies by Accept, so the run sends the header of the build that stored it.
    let run = try await job.runJob("--verify-hits --set request.accept=image/avif,image/webp,image/*;q=0.8")
    #expect(run.status == 0)
    #expect(run.totals["hit_disk"] == 4 && run.totals["blacklisted"] == 1)
    // Verified hits end in any order.
    let rows = job.folder.text("rows.jsonl").split(separator: "\n").sorted()
    expect(rows.map { $0 + "\n" }.joined(), "cached-rows.jsonl")
    for image in ["1.jpg", "2.png", "3.webp", "large.jpg"] {
      #expect(try await job.prewarm("cache get http://img.example.com/\(image)").status == 0)
    }
  }

  @Test(arguments: ["1.jpg", "none.jpg", "missing.jpg"])
  func `explain prints what is known of a hit, a miss and a blacklisted URL`(image: String) async throws {
    let job = try cached()
    let keys = job.folder.read("job.yaml").map { String(decoding: $0, as: UTF8.self).replacing("mode: only, ", with: "") } ?? ""
    job.folder.write(keys, to: "job.yaml")
    for options in [[], ["--json"]] {
      let arguments = ["explain", "--job", "job.yaml", "http://img.example.com/\(image)"] + options
      let result = try await job.start(arguments).wait()
      #expect(result.status == 0 && result.error.isEmpty)
      let text = result.outputText.replacing(job.folder.path, with: "FOLDER")
        .replacing(#/prewarm\/\d+\.\d+\.\d+/#, with: "prewarm/VERSION")
      expect(text, "explain-\(image)\(options.isEmpty ? "" : "-json").txt")
    }
  }

  @Test func `report shows, merges and compares recorded reports as its golden files do`() async throws {
    let job = JobFolder("")
    let (report, rows) = (Fixtures.path("reports/rich.json"), Fixtures.path("reports/rich.jsonl"))
    let other = Fixtures.path("reports/run.jsonl")
    let cases: [(name: String, arguments: [String], forms: [String])] = [
      ("show-report", ["show", report], ["text", "json", "html", "markdown", "prometheus", "github"]),
      ("show-rows", ["show", rows], ["text", "json", "jsonl", "csv", "html", "markdown", "prometheus", "junit", "github"]),
      ("merge", ["merge", rows, other], ["text", "json", "jsonl", "csv"]),
      ("diff", ["diff", other, rows], []),
      ("diff-rows", ["diff", "--json", other, rows], []),
    ]
    for (name, arguments, forms) in cases {
      let reports = forms.flatMap { ["--report", "\($0)=\(name).\($0)"] }
      let result = try await job.start(["report"] + arguments + reports, environment: Self.noPipeline).wait()
      #expect([0, 2].contains(result.status), "\(name): \(result.errorText)")
      let fixtures = Fixtures.directory
      expect((result.outputText + result.errorText).replacing(fixtures, with: "FIXTURES"), "report/\(name).txt")
      for form in forms where form != "text" {
        let text = job.folder.text("\(name).\(form)")
        expect(text.replacing(fixtures, with: "FIXTURES").replacing(job.folder.path, with: "FOLDER"), "report/\(name).\(form)")
      }
    }
  }

  @Test func `a run with good, broken, missing, redirected and blacklisted URLs writes the reports of its golden files`()
    async throws
  {
    let origin = try Self.makeOrigin()
    let job = JobFolder(
      """
      manifests: [{path: urls.txt, priority: high}, {path: more.jsonl}]
      prefetch: {concurrency: 1}
      request: {retries: 0}
      """
    )
    let base = origin.base
    job.writeJob("manifests: [{path: before.txt}]", name: "before")
    job.write(urls: ["/cached.jpg", "/gone.jpg"].map { origin.url($0) }, to: "before.txt")
    #expect(try await job.prewarm("run before.yaml").status == 2)
    let paths = ["/1.jpg", "/cached.jpg", "/moved.jpg", "/1.jpg", "/missing.jpg", "/gone.jpg", "/cut.jpg", "/page.jpg"]
    job.write(urls: ["# home page"] + paths.map { origin.url($0) } + ["not a url", "ftp://img.example.com/a.jpg"])
    // A transient failure is reported after a look for a stale copy, and so maybe after the next entry: it comes last.
    job.folder.write(
      ["/empty.jpg", "/named.png", "/error.jpg"].map { "{\"url\": \"\(base)\($0)\"}\n" }.joined(),
      to: "more.jsonl"
    )
    let forms = ["text", "json", "jsonl", "csv", "junit", "markdown", "github", "prometheus"]
    let reports = forms.map { " --report \($0)=run.\($0)" }.joined()
    let result = try await job.prewarm("run job.yaml --verbose --progress none" + reports, environment: Self.noPipeline)
    #expect(result.status == 2, "\(result.errorText)")
    let unvarying = { (text: String) in Self.unvarying(text, port: origin.port, folder: job.folder.path) }
    expect(unvarying(result.outputText), "run/output.txt")
    expect(unvarying(result.errorText), "run/error.txt")
    for form in forms {
      expect(unvarying(job.folder.text("run.\(form)")), "run/run.\(form)")
    }
  }

  /// Without the variables of a pipeline.
  private static let noPipeline: [String: String?] = ["GITHUB_WORKSPACE": nil, "GITHUB_STEP_SUMMARY": nil, "CI_PROJECT_DIR": nil]

  private static func makeOrigin() throws -> Origin {
    try Origin([
      "/1.jpg": .file(Fixtures.path("images/good/photo.jpg")),
      "/cached.jpg": .file(Fixtures.path("images/good/photo-small.jpg")),
      "/moved.jpg": .redirect(to: "/1.jpg"),
      "/gone.jpg": .status(410),
      "/error.jpg": .status(500),
      "/cut.jpg": .file(Fixtures.path("images/broken/cut.jpg")),
      "/page.jpg": .file(Fixtures.path("images/broken/page.jpg"), type: "text/html"),
      "/empty.jpg": .file(Fixtures.path("images/broken/empty.jpg")),
      "/named.png": .file(Fixtures.path("images/good/photo.jpg"), type: "image/png"),
    ])
  }

  /// Replaces the parts of a report that differ between runs: paths, times, rates, sizes on disk.
  private static func unvarying(_ text: String, port: Int, folder: String) -> String {
    text.replacing(folder, with: "FOLDER").replacing("127.0.0.1:\(port)", with: "127.0.0.1:PORT")
      // Parts of a text report that a short run omits.
      .replacing(#/(?m)^(Speed|Bottleneck) .*\n( +.*\n)*/#, with: "").replacing(#/(?m)^(Time|Memory) .*\n( +.*\n)*/#, with: "")
      .replacing(#/"(latency_ms|timeline|bound_shares)": \{[^{}]*\}/#) { "\"\($0.1)\": {}" }
      .replacing(#/"bounded_by": (null|"[^"]*")/#, with: "\"bounded_by\": WORDS")
      .replacing(#/"(\w+_(?:seconds|per_second|ms|memory_bytes)|disk_bytes)": ?[0-9.]+/#) { "\"\($0.1)\": NUMBER" }
      .replacing(#/"duration_ms":[0-9.]+/#, with: "\"duration_ms\":NUMBER")
      .replacing(#/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?Z|Z| UTC)/#, with: "TIME")
      .replacing(#/(time|timestamp)="[^"]*"/#) { "\($0.1)=\"TIME\"" }
      .replacing(#/(?m)^(prewarm_(?:\w+_seconds|cache_disk_bytes)\w*\{.*\}) [0-9.]+$/#) { "\($0.1) NUMBER" }
      .replacing(#/(?m)(,\d+),[0-9]+\.[0-9]+,/#) { "\($0.1),NUMBER," }
      .replacing(#/ *[0-9.]+ (µs|ms|s)\b/#, with: " DURATION").replacing(#/[0-9.]+( [kM]?B)?\/s/#, with: "RATE")
      .replacing(#/prewarm\/\d+\.\d+\.\d+/#, with: "prewarm/VERSION")
      .replacing(#/"prewarm": "[^"]*"/#, with: "\"prewarm\": VERSION")
  }
}
