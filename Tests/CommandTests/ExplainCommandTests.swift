import Foundation
import TestOrigin
import TestSupport
import Testing

/// `prewarm explain`: the known facts about a URL, without a request.
@Suite struct ExplainCommandTests {
  private let origin = makeImageOrigin()

  private func explain(_ job: JobFolder, _ arguments: String...) async throws -> [String: any Sendable] {
    let result = try await job.start(["explain", "--json"] + arguments).wait()
    #expect(result.status == 0, "\(result.errorText)")
    return try JSONSerialization.jsonObject(with: Data(result.output)) as? [String: any Sendable] ?? [:]
  }

  private func ways(_ explanation: [String: any Sendable]) -> [[String: any Sendable]] {
    explanation["ways"] as? [[String: any Sendable]] ?? []
  }

  @Test func `explain prints a cached image's record`() async throws {
    let url = origin.url("/images/1.jpg")
    origin.set("/images/1.jpg", .body(SampleImages.jpeg(1), type: "image/jpeg", headers: ["ETag": "\"v1\"", "Vary": "Accept"]))
    let job = try await JobFolder.warmed(urls: [url])
    let text = try await job.prewarm("explain", url.replacing("http://", with: "HTTP://") + "#top")
    let lines = text.outputText.split(separator: "\n").map(String.init)
    #expect(text.status == 0 && lines.first == "URL        \(url)", "\(text.outputText)")
    #expect(
      lines.contains { $0.hasPrefix("cached     ") && $0.contains("jpeg") && $0.hasSuffix("header verified") },
      "\(text.outputText)"
    )
    #expect(lines.contains("           ETag: \"v1\""))
    expectGolden(lines.first { $0.hasSuffix(" accept") }, for: "vary")
    expectGolden(lines.filter { $0.hasPrefix("blacklist") || $0.hasPrefix("run now") }.joined(separator: "\n"), for: "run now")
    #expect(lines.contains { $0.hasPrefix("request    curl ") && $0.contains("/images/1.jpg") })
    // The key is the one of the other commands.
    let record = try await job.prewarm("cache get", url, "--json")
    let way = try #require(ways(try await explain(job, url)).first)
    #expect(record.outputText.contains("\"key\":\"\(way["key"] as? String ?? "")\""))
    #expect(way["next_run"] as? String == "hit" && way["cached"] as? Bool == true)
    #expect(origin.requests.count == 1)
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

  @Test func `explain names the file of a large body`() async throws {
    let image = SampleImages.jpeg(1) + [UInt8](repeating: 0, count: 300_000)
    origin.set("/large.jpg", .body(image, type: "image/jpeg"))
    let job = try await JobFolder.warmed(urls: [origin.url("/large.jpg")])
    let way = try #require(ways(try await explain(job, origin.url("/large.jpg"))).first)
    let entry = try #require((way["entries"] as? [[String: any Sendable]])?.first)
    #expect(FileManager.default.contents(atPath: entry["file"] as? String ?? "") == Data(image), "\(entry)")
  }

  @Test func `explain prints a blacklisted URL's history`() async throws {
    let url = origin.url("/missing.jpg")
    let job = JobFolder(urls: [url])
    for _ in 0..<2 { _ = try await job.runJob("--retry-blacklisted") }
    let text = try await job.prewarm("explain", url).outputText
    expectGolden(text.lines(with: "cached"), for: "cached")
    expectGolden(text.lines(with: "404"), for: "blacklist")
    expectGolden(text.lines(with: "run now"), for: "run now")
    let way = try #require(ways(try await explain(job, url)).first)
    #expect((way["blacklist"] as? [String: any Sendable])?["count"] as? Int == 2 && way["next_run"] as? String == "blacklisted")
  }

  @Test func `explain says that an expired image would be requested again`() async throws {
    let url = origin.url("/images/1.jpg")
    let job = try await JobFolder.warmed(urls: [url])
    job.folder.write("version: 1\nname: test\nmanifests: [{path: urls.txt}]\ncache: {max-age: 0s}\n", to: "job.yaml")
    let text = try await job.prewarm("explain", url, "--job", "job.yaml").outputText
    expectGolden(text.lines(with: "run now"), for: "run now")
  }

  @Test func `explain says from when a job with min-fresh requests a fresh image again`() async throws {
    let url = origin.url("/images/1.jpg")
    let job = try await JobFolder.warmed(urls: [url], keys: "cache: {max-age: 10h, min-fresh: 9h}")
    func freshness() async throws -> String {
      let text = try await job.prewarm("explain", url, "--job", "job.yaml").outputText
      return (text.lines(with: "stored") + text.lines(with: "run now")).replacing(#/\d[\d-]+ [\d:]+ UTC/#, with: "TIME")
    }
    expectGolden(try await freshness(), for: "hit")
    let keys = "manifests: [{path: urls.txt}]\ncache: {max-age: 10h, min-fresh: 35999999ms}"
    job.folder.write("version: 1\nname: test\n\(keys)\n", to: "job.yaml")
    expectGolden(try await freshness(), for: "due")
    let way = try #require(ways(try await explain(job, url, "--job", "job.yaml")).first)
    #expect(((way["entries"] as? [[String: any Sendable]])?.first)?["expired"] as? Bool == false)
  }

  @Test func `explain says that the job skips a URL that all of its lists filter out`() async throws {
    let urls = imageURLs(origin, 1..<4)
    let job = JobFolder(
      "manifests: [{path: urls.txt, exclude: [\"*1.jpg\", \"*2.jpg\"]}, {path: urls.txt, include: [\"*2.jpg\"]}]"
    )
    job.write(urls: urls)
    #expect(try await job.runJob("--set", "manifests=[{path: urls.txt}]").status == 0)
    for (url, expected) in zip(urls, ["filter", "hit", "hit"]) {
      let way = try #require(ways(try await explain(job, url, "--job", "job.yaml")).first)
      #expect(way["next_run"] as? String == expected)
    }
    let text = try await job.prewarm("explain", urls[0], "--job", "job.yaml").outputText
    expectGolden(text.lines(with: "run now"), for: "run now")
  }

  @Test func `explain and a dry run show that a cached SVG can't be resized`() async throws {
    origin.set("/a.svg", .body(Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8), type: "image/svg+xml"))
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
    let job = JobFolder("")
    let none = try await job.prewarm("explain http://user:secret@img.example.com/a.jpg")
    #expect(none.status == 0, "\(none.outputText)")
    expectGolden(none.outputText, for: "no cache")
    #expect(!none.outputText.contains("secret"))
    job.write(urls: imageURLs(origin, 0..<1))
    job.folder.write("version: 1\nname: test\nmanifests: [{path: urls.txt}]\n", to: "job.yaml")
    _ = try await job.runJob()
    let unknown = try await job.prewarm("explain http://user:secret@img.example.com/a.jpg")
    #expect(unknown.status == 0)
    expectGolden(unknown.outputText, for: "an unknown URL")
    #expect(unknown.outputText.firstMatch(of: /key        [0-9a-f]{32}\n/) != nil && !unknown.outputText.contains("secret"))
  }

  @Test func `explain prints each variant and its transforms separately`() async throws {
    let url = origin.url("/images/1.jpg")
    let job = JobFolder(
      urls: [url],
      keys: """
        request: {variants: {webp: {Accept: image/webp}, jpeg: {Accept: image/jpeg}}}
        transform: {resize: {width: 8}, keep-original: true}
        """
    )
    #expect(try await job.runJob().status == 0)
    let explained = ways(try await explain(job, url, "--job", "job.yaml"))
    #expect(explained.map { $0["variant"] as? String } == ["webp", "jpeg"])
    #expect(Set(explained.compactMap { $0["key"] as? String }).count == 2)
    for way in explained {
      let entries = way["entries"] as? [[String: any Sendable]] ?? []
      #expect(entries.count == 2 && entries.last?["transform"] is String && way["next_run"] as? String == "hit", "\(way)")
    }
    #expect((explained[0]["curl"] as? String)?.contains("'Accept: image/webp'") ?? false)
    let text = try await job.prewarm("explain", url, "--job", "job.yaml").outputText
    #expect(text.contains("\n\nwebp\nkey        "), "\(text)")
    expectGolden(text.lines(with: " 8x"))
  }
}

/// `prewarm explain --shard`: the shard of a URL.
@Suite struct ExplainShardTests {
  private struct Explanation: Decodable, Equatable {
    struct Shard: Decodable, Equatable {
      let index, count: Int
      let by: String
      let own: Bool
    }
    struct Way: Decodable, Equatable { let next_run: String }

    let shard: Shard?
    let ways: [Way]
  }

  private let urls = (0..<24).map { "http://h\($0 % 6).example.com/images/\($0).jpg" }

  private func explain(_ job: JobFolder, _ arguments: String...) async throws -> Explanation {
    let result = try await job.start(["explain", "--json"] + arguments).wait()
    #expect(result.status == 0, "\(result.errorText)")
    return try JSONDecoder().decode(Explanation.self, from: Data(result.output))
  }

  @Test(arguments: ["url", "host"]) func `explain names the shard whose run would fetch the URL`(rule: String) async throws {
    let job = JobFolder(urls: urls, keys: "shard-by: \(rule)")
    var explained = 0
    for index in 1...3 {
      let listed = try await job.prewarm("run job.yaml --shard \(index)/3 --dry-run").outputText
      for url in listed.split(separator: "\n").prefix(4) {
        let own = try await explain(job, String(url), "--job", "job.yaml", "--shard", "\(index)/3")
        #expect(own.shard == Explanation.Shard(index: index, count: 3, by: rule, own: true))
        #expect(own.ways.map(\.next_run) == ["fetch"])
        let other = try await explain(job, String(url), "--job", "job.yaml", "--shard", "\(index % 3 + 1)/3")
        #expect(other.shard == Explanation.Shard(index: index, count: 3, by: rule, own: false))
        #expect(other.ways.map(\.next_run) == ["other-shard"])
        explained += 1
      }
    }
    #expect(explained >= 4)
  }

  @Test func `the text has a line for the shard`() async throws {
    let job = JobFolder(urls: urls, keys: "shard-by: host\nrequest: {variants: {a: {Accept: a}, b: {Accept: b}}}")
    let shard = try #require(try await explain(job, urls[0], "--job", "job.yaml", "--shard", "1/2").shard)
    let (own, other) = ("\(shard.index)/2", "\(3 - shard.index)/2")
    let text = try await job.prewarm("explain", urls[0], "--job", "job.yaml", "--shard", own).outputText
    expectGolden(text, for: "shard")
    let left = try await job.prewarm("explain", urls[0], "--job", "job.yaml", "--shard", other).outputText
    expectGolden(left.lines(with: "\(own)"), for: "another shard")
    // A line for each variant.
    #expect(left.split(separator: "\n").count { $0 == "run now    leaves it to shard \(shard.index) of 2" } == 2)
  }

  @Test func `without the option no shard is mentioned`() async throws {
    let job = JobFolder(urls: urls, keys: "shard-by: host")
    #expect(try await explain(job, urls[0], "--job", "job.yaml").shard == nil)
    #expect(try await !job.prewarm("explain", urls[0]).outputText.contains("shard"))
  }

  @Test func `the scheduler's variables can choose the shard`() async throws {
    let job = JobFolder(urls: urls)
    let shard = try await explain(job, urls[0], "--shard", "2/4").shard
    let numbered = try await job.prewarm("explain --json --shard auto/4 \(urls[0])", environment: ["PARALLEL_SEQ": "2"])
    #expect(try JSONDecoder().decode(Explanation.self, from: Data(numbered.output)).shard == shard)
  }
}
