import Foundation
import TestOrigin
import TestSupport
import Testing

/// `prewarm cache` and `prewarm blacklist` over a cache that a run has filled.
@Suite struct CacheCommandTests {
  private let origin = makeImageOrigin()

  /// The URL of a body with its own file.
  private func large() -> String {
    origin.set("/large.jpg", .jpeg(9, padding: 300_000))
    return "http://img.test/large.jpg"
  }

  // MARK: Reading

  @Test func `stats, list and get print what is cached`() async throws {
    let job = try await JobFolder.filled(from: origin, keys: "cache: {max-size: 1MiB}")
    try await job.expectTranscript(
      "cache stats",
      "cache stats --json",
      "cache stats --json --job job.yaml",
      "cache list",
      "cache list --json",
      "cache get \(JobFolder.images[3]) --json",
      "cache get ftp://a/b.jpg",
      "cache remove not-a-url"
    )
    let statistics = try await job.statistics()
    #expect(statistics.diskBytes > statistics.bodyBytes && statistics.directory == job.cacheDirectory)
    #expect(try await job.expectTrueTotals().count == 5)
    // The last one is the same URL in another spelling.
    for url in [JobFolder.images[3], "HTTP://IMG.test:80/images/x/%2e./3.jpg#top"] {
      #expect(try await job.prewarm("cache get", url).output == SampleImages.jpeg(3))
    }
    job.writeJob("cache: {max-age: 0s}")
    try await job.expectTranscript("cache stats --job job.yaml", "cache stats --job job.yaml --json")
  }

  // MARK: Changing

  @Test func `remove removes images and reports missing ones`() async throws {
    let job = try await JobFolder.filled(from: origin)
    let urls = JobFolder.images
    try await job.expectTranscript("cache remove \(urls[0]) \(urls[1])", "cache remove \(urls[0]) \(urls[2]) --json")
    #expect(Set(try await job.expectTrueTotals().map(\.url)) == [urls[3], urls[4]])
    let run = try await job.runJob()
    #expect(run.totals["downloaded"] == 3 && run.totals["hit_disk"] == 2)
  }

  @Test func `trim removes expired images, then the oldest above the limit`() async throws {
    let job = try await JobFolder.filled(from: origin)
    try await job.expectTranscript("cache trim --json", "cache trim --max-size 1404 --json", "cache trim --max-age 0s")
    #expect(try await job.expectTrueTotals().isEmpty)
  }

  @Test func `clear removes every image and keeps the blacklist`() async throws {
    let job = try await JobFolder.filled(from: origin)
    job.write(urls: [large()])
    #expect(try await job.runJob().status == 0)
    #expect(try job.blobFiles().count == 1)
    let before = try await job.statistics()
    try await job.expectTranscript("cache clear --json", "cache clear", "cache stats")
    #expect(try await job.statistics().diskBytes < before.diskBytes)
    #expect(try job.blobFiles().isEmpty)
    #expect(try await job.runJob().totals["downloaded"] == 1)
  }

  // MARK: Which cache

  @Test func `the cache is chosen by folder, namespace or job`() async throws {
    let job = try await JobFolder.filled(from: origin, keys: "cache: {directory: elsewhere, namespace: shop}")
    let elsewhere = job.folder.file("elsewhere")
    #expect(try await job.statistics("--cache-directory", elsewhere, "--namespace", "shop").entries == 5)
    #expect(try await job.statistics("--directory", "elsewhere", "--namespace", "shop").entries == 5)
    #expect(try await job.expectTrueTotals("--job", "job.yaml").count == 5)
    for line in ["cache stats", "cache list --cache-directory elsewhere", "cache stats --job job.yaml --namespace other"] {
      #expect(try await job.prewarm(line).status == 1)
    }
    #expect(try await job.prewarm("blacklist clear --job job.yaml").outputText.hasPrefix("2 URLs"))
  }

  @Test func `cache stats lists the namespaces if none is named`() async throws {
    let job = try await JobFolder.filled(from: origin, keys: "cache: {namespace: shop}")
    try await job.expectTranscript("cache stats", for: "one")
    #expect(try await job.runJob("--namespace default").totals["downloaded"] == 5)
    try await job.expectTranscript("cache stats", "cache stats --json", "cache stats --json --namespace shop", for: "both")
    job.folder.write("99\n", to: "cache/shop/VERSION")
    try await job.expectTranscript("cache stats --json", for: "broken")
  }

  // MARK: `prewarm cache verify` and `prewarm cache compact`.

  @Test func `verify removes damaged entries and missing files, and the next run fetches them again`() async throws {
    let job = try await JobFolder.filled(from: origin)
    try await job.expectTranscript("cache verify --json", "cache verify", for: "good")
    job.write(urls: JobFolder.images + [large()])
    #expect(try await job.runJob().status == 0)
    try job.flipByte(of: SampleImages.jpeg(2))
    try job.removeOnlyBlob()
    try await job.expectTranscript("cache verify --keep", "cache verify", "cache verify", for: "damaged")
    #expect(try await job.expectTrueTotals().count == 4)
    let again = try await job.runJob()
    #expect(again.totals["hit_disk"] == 4 && again.totals["downloaded"] == 2)
  }

  @Test func `compact reclaims the space of removed images`() async throws {
    origin.setFallback { _ in .jpeg(1, padding: 60_000) }
    let urls = imageURLs(origin, 0..<40)
    let job = try await JobFolder.warmed(urls: urls)
    #expect(try await job.start(["cache", "remove"] + urls.dropFirst()).wait().status == 0)
    let before = try await job.statistics().diskBytes
    try await job.expectTranscript("cache compact --json", "cache compact")
    #expect(try await before - job.statistics().diskBytes > 30 * 60_000)
    #expect(try await job.expectTrueTotals().count == 1)
    #expect(try await job.runJob().totals["hit_disk"] == 1)
  }

  // MARK: `prewarm blacklist` over a cache that a run has filled.

  @Test func `blacklist entries can be listed, removed and cleared`() async throws {
    let job = try await JobFolder.filled(from: origin)
    let remove = "blacklist remove \(JobFolder.bad[0])"
    try await job.expectTranscript("blacklist list", "blacklist list --json", remove, remove)
    #expect(try await job.runJob().totals["blacklisted"] == 1)
    #expect(origin.count(of: "/gone.jpg") == 2 && origin.count(of: "/page.jpg") == 1)
    try await job.expectTranscript("blacklist clear", "blacklist clear --json", "blacklist list", for: "cleared")
    #expect(try await job.statistics().entries == 5)
  }

  // MARK: Errors of `prewarm cache` and `prewarm blacklist`.

  @Test func `a missing or damaged image exits with 1`() async throws {
    let job = try await JobFolder.filled(from: origin)
    try await job.expectTranscript("cache get \(JobFolder.bad[0])", "cache get \(JobFolder.bad[0]) --json", for: "missing")
    job.write(urls: [large()])
    _ = try await job.runJob()
    job.folder.write([0xff], to: "cache/default/blobs/\(try #require(try job.blobFiles().first))")
    try await job.expectTranscript("cache get \(large())", "cache remove \(large())", for: "damaged")
    #expect(try await job.runJob().totals["downloaded"] == 1)
  }

  @Test func `a password is never shown`() async throws {
    let url = "http://user:geheim@127.0.0.1:\(origin.port)/images/1.jpg"
    let job = JobFolder(urls: [url, url.replacing("images", with: "missing")])
    _ = try await job.runJob()
    #expect(try await job.prewarm("cache get", url).output == SampleImages.jpeg(1))
    for line in [
      "cache list", "cache list --json", "cache get \(url) --json", "blacklist list", "blacklist list --json",
      "cache remove \(url)", "cache remove \(url)", "cache get \(url)",
    ] {
      let result = try await job.prewarm(line)
      let text = result.outputText + result.errorText
      #expect(text.contains("***") && !text.contains("geheim"), "\(line): \(text)")
    }
  }

  @Test(.enabled(if: TemporaryMount.isAllowed, "needs the right to mount"))
  func `a read-only folder is read, and every change is rejected with a message`() async throws {
    let mount = try TemporaryMount(byteCount: 8 << 20)
    let urls = imageURLs(origin, 0..<5)
    let job = try await JobFolder.warmed(urls: urls, keys: "cache: {directory: \(mount.directory.path)}")
    try mount.makeReadOnly()
    #expect(try await job.expectTrueTotals("--job", "job.yaml").count == 5)
    #expect(try await job.prewarm("cache get", urls[2], "--job", "job.yaml").output == SampleImages.jpeg(2))
    #expect(try await job.runJob("--cache-mode only").totals["hit_disk"] == 5)
    let asked = origin.requests.count
    for line in ["cache remove \(urls[0])", "cache trim", "cache clear", "blacklist clear"].map({ "\($0) --job" }) + ["run"] {
      let result = try await job.prewarm("\(line) job.yaml")
      #expect(result.status == 1 && result.output.isEmpty)
      expectGolden(result.errorText)
    }
    #expect(origin.requests.count == asked)
  }
}
