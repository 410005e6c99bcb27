import Foundation
import TestOrigin
import TestSupport
import Testing

/// Command lines that are rejected before anything is requested or written, each with a sentence.
@Suite struct CommandLineErrorTests {
  private let origin = makeImageOrigin()

  /// Commands, options and sources that don't exist or don't fit each other.
  private static let invalid: [String] = [
    // Commands.
    "", "fetch", "chek", "chekc urls.txt", "frobnicate", "--colour", "cache", "cache lst", "cache polish", "blacklist", "report",
    "report shwo",
    // A source in place of a command.
    "https://user:secret@img.example.com/a.jpg", "urls.txt", "job.yaml --dry-run", "--quiet urls", "-", "lists/*",
    // Options.
    "run", "run job.yaml --order", "run job.yaml --unknown", "run job.yaml --set nothing", "run job.yaml --concurrency none",
    "run job.yaml --set prefetch.ordr=lifo", "check urls.txt -j 0", "run job.yaml --report json",
    "run job.yaml --report xml=out.xml",
    "run job.yaml --report jsn=a", "run job.yaml --report pdf=a", "run job.yaml -o report.pdf", "run job.yaml -o -",
    "run urls.txt --dry-run --report json=-",
    // Sources.
    "check", "check - -", "check .", "run .", "check missing.txt", "run missing.txt", "run missing.yaml", "check missing.yaml",
    "check ftp://img.example.com/a.jpg", "run ftp://a/b.jpg", "check https://", "check https://user:secret@",
    "check nothing-*.txt", "run nothing-*.txt", "check missing.txt ftp://a/b https://", "explain img.example.com/a.jpg",
    "explain ftp://img.example.com/a.jpg", "explain https://user:secret@", "check job.yaml bad.yaml",
    // Options that have no effect on their sources.
    "run urls.txt --set manifests.1.limit=1", "check urls.txt --set manifests.path=a.txt", "run job.yaml --include /a",
    "check urls.csv --format csv --pages", "run urls.txt --crawl 9", "check urls.txt --sitemap --format csv",
    "run job.yaml --url-column a", "check urls.csv", "run urls.csv --url-column photo", "check job.yaml urls.txt --format csv",
    "run urls.csv --url-column image --id-column key", "check urls.txt --format cvs", "run urls.txt --base-url /a",
    "check urls.txt --exclude re:(",
    // A check has neither cache nor blacklist.
    "check urls.txt --cache-mode use", "check urls.txt --cache-directory cache", "check urls.txt --freshness http",
    "check urls.txt --min-fresh 1h", "check urls.txt --verify-hits", "check urls.txt --namespace n",
    "check urls.txt --retry-blacklisted", "check urls.txt --set cache.mode=use", "check urls.txt --set blacklist.retry=true",
    "check urls.txt --set transform.format=webp",
    // Caches.
    "cache get", "cache remove", "cache trim --max-size much",
    "cache stats --namespace ../x", "cache stats --job missing.yaml", "blacklist remove", "cache export", "cache export --to",
    "cache export --to out --layout flat", "cache export --to out --layout url-path --with-extension",
    "cache export --to out --name {ext}", "cache export --to out --name {id}", "cache export --to out --name ../{hash}",
    "cache export --to out --name {hash} --delete", "cache import", "cache import app --directory new",
    "cache import app app --urls - --directory new",
    // Reports.
    "report show", "report show report.json --report csv=a.csv", "report show report.json --report xml=a.xml",
    "report show report.json --report json", "report show report.json --report json=a --report html=a",
    "report show rows.jsonl --report jsonl=./rows.jsonl", "report merge", "report merge - -", "report diff report.json",
    "report merge rows.jsonl report.json --report jsonl=a.jsonl", "report diff - -",
    "report diff report.json rows.jsonl --limit -1",
    // Shards.
    "run job.yaml --shard 0/3", "run job.yaml --shard auto/3", "run job.yaml --shard x", "run job.yaml --shard 1/5/5",
    "explain http://a.example/1.jpg --shard 5/4", "shards run none 1", "shards plan job.yaml --output other",
    // A URL as the target of a file.
    "run urls.txt --report json=s3://bucket/r.json", "run urls.txt --set cache.directory=gs://bucket/c",
    "check urls.txt -o https://example.com/r.html", "report show report.json --report html=s3://bucket/r.html",
    "cache export --to s3://bucket/site", "shards plan job.yaml --shards 2 --output s3://bucket/plan",
  ]

  /// Caches and files that don't exist.
  private static let missing: [String] = [
    "cache stats", "cache list", "cache get http://a/b.jpg", "cache remove http://a/b.jpg", "cache trim", "cache clear",
    "cache verify", "cache compact", "cache export --to out", "blacklist list", "blacklist remove http://a/b.jpg",
    "blacklist clear", "cache import nowhere", "cache import app --urls gone.txt --directory new", "report show missing.json",
    "report merge report.json missing.json", "report show report.json --report json=report.json/a", "init missing/job.yaml",
  ]

  @Test(arguments: invalid.map { ($0, 3) } + missing.map { ($0, 1) })
  func `an impossible command line is rejected with a sentence`(line: String, status: Int) async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<3))
    job.writeJob("manifests: [{urls: []}]", name: "Bad", to: "bad.yaml")
    job.folder.write("", to: "urls")
    job.folder.write("id,image\n1,/a.jpg\n", to: "urls.csv")
    job.folder.write(SampleImages.jpeg(1), to: "app/0123456789abcdef0123456789abcdef")
    job.folder.write("{\"schema\": \"prewarm.report/1\", \"totals\": {\"urls\": 0}}", to: "report.json")
    job.folder.write("{\"url\":\"https://a.example/\",\"outcome\":\"checked\"}\n", to: "rows.jsonl")
    // A cache may be opened before a source turns out to be invalid.
    func files() throws -> [String] {
      try job.folder.files(below: ".").filter { !$0.hasPrefix("cache/") && !$0.hasPrefix("new/") }
    }
    let before = try files()
    let result = try await job.prewarm(line)
    #expect(result.status == status && result.output.isEmpty && !result.error.isEmpty, "\(result.outputText)\(result.errorText)")
    #expect(!result.errorText.contains("secret") && origin.requests.isEmpty)
    #expect(try files() == before && (status == 3 || line.contains("import") || job.folder.read("cache/default/VERSION") == nil))
    // Usage is the argument parser's.
    if !result.errorText.lowercased().contains("usage: ") { expectGolden(result.errorText, for: line) }
  }

  @Test(arguments: ["--help", "--version", "run --help", "cache --help", "validate --list-keys", "schema"])
  func `help goes to standard output and exits with 0`(line: String) async throws {
    let result = try await JobFolder("").prewarm(line)
    #expect(result.status == 0 && !result.output.isEmpty && result.error.isEmpty)
  }

  @Test(arguments: ["check", "explain"]) func `the error for a long source quotes its beginning`(command: String) async throws {
    for source in [
      "http://[\(String(repeating: "a", count: 100_000))", "http://user:secret@\(String(repeating: "b", count: 100_000))",
    ] {
      let result = try await JobFolder("").prewarm(command, source)
      #expect(result.status == 3 && result.error.count < 500, "\(result.error.count) bytes")
      expectGolden(result.errorText, for: command)
      #expect(!result.errorText.contains("secret"))
    }
  }
}
