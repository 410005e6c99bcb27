import Foundation
import TestOrigin
import TestSupport
import Testing

/// `prewarm explain`: the known facts about a URL, without a request.
@Suite struct ExplainCommandTests {
  private let origin = makeImageOrigin()

  @Test func `explain prints what is known of a URL, and what a run would do`() async throws {
    origin.set("/images/1.jpg", .jpeg(1, headers: ["ETag": "\"v1\"", "Vary": "Accept"]))
    origin.set("/images/2.jpg", .jpeg(2, padding: 300_000))
    let job = try await JobFolder.filled(from: origin)
    #expect(try await job.runJob("--retry-blacklisted").totals["failed"] == 2)
    let file = try await job.prewarm("explain", JobFolder.images[2]).outputText.firstMatch(of: /in (\/\S+)/)?.output.1
    #expect(readFile(String(file ?? "")) == SampleImages.jpeg(2, padding: 300_000))
    let asked = origin.requests.count
    let url = JobFolder.images[1]
    // The key is the one of the other commands.
    try await job.expectTranscript("explain HTTP://IMG.test:80/images/./1.jpg#top", "cache get \(url) --json", for: "cached")
    try await job.expectTranscript("explain \(JobFolder.images[2])", "explain \(JobFolder.images[2]) --json", for: "in a file")
    try await job.expectTranscript("explain \(JobFolder.bad[0])", "explain \(JobFolder.bad[0]) --json", for: "blacklisted")
    for keys in ["max-age: 0s", "max-age: 10h, min-fresh: 9h", "max-age: 10h, min-fresh: 35999999ms"] {
      job.writeJob("cache: {\(keys)}")
      try await job.expectTranscript("explain \(url) --job job.yaml", for: keys)
    }
    #expect(origin.requests.count == asked)
  }

  @Test func `explain prints the pages or pictures of an image and its metadata`() async throws {
    let files = ["tiff/pages.tif", "ico/mixed.ico", "good/animation.gif", "jxl/located.jxl"]
    for file in files { origin.set("/\(file)", .body(Fixtures.bytes("images/\(file)"))) }
    let job = JobFolder(urls: files.map { origin.url("/\($0)") })
    #expect(try await job.runJob().status == 0)
    for file in files {
      let lines = try await job.prewarm("explain", origin.url("/\(file)")).outputText.split(separator: "\n")
      let first = try #require(lines.firstIndex { $0.hasPrefix("cached ") })
      expectGolden(lines[first..<first + 2].filter { !$0.contains("stored ") }.joined(separator: "\n"), for: file)
    }
  }

  @Test func `explain says that the job skips a URL that all of its lists filter out`() async throws {
    let job = try await JobFolder.filled(from: origin)
    job.writeJob("manifests: [{path: urls.txt, exclude: [\"*1.jpg\", \"*2.jpg\"]}, {path: urls.txt, include: [\"*2.jpg\"]}]")
    for url in JobFolder.images[1...3] { try await job.expectTranscript("explain \(url) --job job.yaml") }
  }

  @Test func `explain and a dry run show that a cached SVG can't be resized`() async throws {
    origin.set("/a.svg", .text("<svg xmlns='http://www.w3.org/2000/svg'/>", type: "image/svg+xml"))
    let job = JobFolder(urls: [origin.url("/a.svg"), origin.url("/images/1.jpg")], keys: "transform: {resize: {width: 8}}")
    #expect(try await job.runJob("--set transform=none").status == 0)
    let text = try await job.prewarm("explain", origin.url("/a.svg"), "--job", "job.yaml").outputText
    expectGolden(text.lines(with: "run now"), for: "run now")
    let dry = try await job.prewarm("run job.yaml --dry-run")
    expectGolden(dry.errorText, for: "dry run")
    #expect(dry.status == 0 && dry.output.isEmpty && origin.requests.count == 2)
    let run = try await job.runJob()
    #expect(run.status == 2 && run.totals["failed"] == 1 && run.totals["hit_disk"] == 1 && origin.requests.count == 2)
  }

  @Test func `explain exits with 0 for an unknown URL`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<1))
    for name in ["no cache", "an unknown URL"] {
      let unknown = try await job.prewarm("explain http://user:secret@img.example.com/a.jpg")
      #expect(unknown.status == 0 && !unknown.outputText.contains("secret"))
      expectGolden(unknown.outputText, for: name)
      #expect((unknown.outputText.firstMatch(of: /key        [0-9a-f]{32}\n/) != nil) == (name != "no cache"))
      _ = try await job.runJob()
    }
  }

  @Test func `explain prints each variant and its transforms separately`() async throws {
    let job = JobFolder(
      urls: [JobFolder.images[1]],
      keys: """
        request: {variants: {webp: {Accept: image/webp}, jpeg: {Accept: image/jpeg}}, proxy: '\(origin.base)'}
        transform: {resize: {width: 8}, keep-original: true}
        """
    )
    #expect(try await job.runJob().status == 0)
    try await job.expectTranscript("explain \(JobFolder.images[1]) --job job.yaml", for: "text")
    try await job.expectTranscript("explain \(JobFolder.images[1]) --job job.yaml --json", for: "json")
  }

  // MARK: `prewarm explain --shard`

  private let urls = (0..<24).map { "http://h\($0 % 6).example.com/images/\($0).jpg" }

  @Test(arguments: ["url", "host"]) func `explain names the shard whose run would fetch the URL`(rule: String) async throws {
    let keys = "shard-by: \(rule)\nrequest: {variants: {a: {Accept: a}, b: {Accept: b}}}"
    let job = JobFolder(urls: urls, keys: keys)
    var owners = 0
    for shard in ["1/3", "2/3", "3/3"] {
      let listed = try await job.prewarm("run job.yaml --dry-run --shard \(shard)").outputText.contains("\(urls[0])\n")
      let line = "explain \(urls[0]) --job job.yaml --shard \(shard)"
      #expect(try await job.prewarm("\(line) --json").outputText.contains(#""own":true"#) == listed)
      try await job.expectTranscript(line, "\(line) --json", for: "\(rule) \(shard)")
      owners += listed ? 1 : 0
    }
    #expect(owners == 1)
    let auto = try await job.prewarm("explain --shard auto/3 --job job.yaml", urls[0], environment: ["PARALLEL_SEQ": "2"])
    #expect(try await auto.output == job.prewarm("explain --shard 2/3 --job job.yaml", urls[0]).output)
    // Without the option no shard is mentioned.
    #expect(try await !job.prewarm("explain --job job.yaml", urls[0]).outputText.contains("shard"))
  }
}
