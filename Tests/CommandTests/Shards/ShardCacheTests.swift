import TestOrigin
import TestSupport
import Testing

/// Merged caches of shards.
@Suite struct ShardCacheTests {
  private struct Row: Decodable {
    let importedEntries: Int
    let blacklistedUrls: Int
    let notNewerEntries: Int
  }

  @Test func `the caches of three shards merge into one with every image, validator and blacklisted URL`() async throws {
    let origin = try makeImageOrigin()
    let bad = (0..<6).map { origin.url("/missing/\($0).jpg") }
    let job = JobFolder(urls: imageURLs(origin, 0..<30) + bad)
    for index in 1...3 { _ = try await job.runJob("--shard", "\(index)/3", "--cache-directory", "shard-\(index)") }
    #expect(origin.requests.count == 36)

    var (images, blacklisted) = (0, 0)
    for index in 1...3 {
      let row: Row = try await job.prewarm("cache", "import", "shard-\(index)", "--json").row()
      images += row.importedEntries
      blacklisted += row.blacklistedUrls
      // Repeated, as after an interruption, it finds all images there.
      let again: Row = try await job.prewarm("cache", "import", "shard-\(index)", "--json").row()
      #expect(again.importedEntries == 0 && again.blacklistedUrls == 0 && again.notNewerEntries == row.importedEntries)
    }
    #expect(images == 30 && blacklisted == 6)
    #expect(try await job.statistics().blacklistEntries == 6)
    #expect(try await job.expectTrueTotals().count == 30)

    let run = try await job.runJob()
    #expect(run.totals["hit_disk"] == 30 && run.totals["blacklisted"] == 6 && run.totals["urls"] == 36)
    #expect(origin.requests.count == 36)
  }

  @Test func `a later success removes a URL from the merged blacklist, and a later failure keeps it`() async throws {
    let origin = try makeImageOrigin()
    let url = origin.url("/changing.jpg")
    origin.set("/changing.jpg", .sequence([.status(404), .body(SampleImages.jpeg(1), type: "image/jpeg"), .status(410)]))
    let job = JobFolder(urls: [url])
    for name in ["failed", "good", "failed-again"] { _ = try await job.runJob("--cache-directory", name) }
    for name in ["failed", "good", "failed"] { #expect(try await job.prewarm("cache", "import", name).status == 0) }
    #expect(try await job.statistics().blacklistEntries == 0)
    let text = try await job.prewarm("cache", "import", "failed-again", "good")
    expectGolden(text.outputText)
    #expect(try await job.statistics().blacklistEntries == 1)
    #expect(try await job.prewarm("blacklist", "list").outputText.contains("http-status 410"))
  }
}
