import TestOrigin
import TestSupport
import Testing

/// `prewarm cache verify` and `prewarm cache compact`.
@Suite struct CacheUpkeepTests {
  private struct VerifyRow: Decodable, Equatable {
    let entries: Int
    let bodyBytes: Int
    let damagedEntries: Int
    let removedEntries: Int
    let removedFiles: Int
  }

  private struct CompactRow: Decodable {
    let diskBytesBefore: Int
    let diskBytes: Int
  }

  @Test func `verify reads everything and reports a good cache`() async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin)
    let bytes = (0..<5).reduce(0) { $0 + SampleImages.jpeg($1).count }
    let row: VerifyRow = try await job.prewarm("cache", "verify", "--json").row()
    #expect(row == VerifyRow(entries: 5, bodyBytes: bytes, damagedEntries: 0, removedEntries: 0, removedFiles: 0))
    let text = try await job.prewarm("cache", "verify")
    #expect(text.status == 0 && text.error.isEmpty)
    expectGolden(text.outputText.timeless)
  }

  @Test func `verify removes damaged entries and missing files, and the next run fetches them again`() async throws {
    let origin = try makeImageOrigin()
    origin.set("/large.jpg", .body(SampleImages.jpeg(9, padding: 300_000), type: "image/jpeg"))
    let urls = imageURLs(origin, 0..<4) + [origin.url("/large.jpg")]
    let job = JobFolder(urls: urls)
    #expect(try await job.runJob().status == 0)
    try job.flipByte(of: SampleImages.jpeg(2))
    try job.removeOnlyBlob()

    let kept = try await job.prewarm("cache", "verify", "--keep")
    #expect(kept.status == 1, "\(kept.outputText)")
    expectGolden(kept.outputText.timeless, for: "keep")
    #expect(try await job.statistics().entries == 5)

    let result = try await job.prewarm("cache", "verify")
    #expect(result.status == 1, "\(result.outputText)")
    expectGolden(result.outputText.timeless, for: "output")
    expectGolden(result.errorText.lines(with: urls[2]), for: "wrong bytes")
    expectGolden(result.errorText.lines(with: urls[4]), for: "no file")
    #expect(try await job.expectTrueTotals().count == 3)
    #expect(try await job.prewarm("cache", "verify").status == 0)
    let again = try await job.runJob()
    #expect(again.totals["hit_disk"] == 3 && again.totals["downloaded"] == 2)
  }

  @Test func `compact reclaims the space of removed images`() async throws {
    let origin = try makeImageOrigin()
    origin.setFallback { _ in .body(SampleImages.jpeg(1, padding: 60_000), type: "image/jpeg") }
    let urls = imageURLs(origin, 0..<40)
    let job = JobFolder(urls: urls)
    #expect(try await job.runJob().status == 0)
    #expect(try await job.start(["cache", "remove"] + urls.dropFirst()).wait().status == 0)
    let row: CompactRow = try await job.prewarm("cache", "compact", "--json").row()
    #expect(row.diskBytesBefore - row.diskBytes > 30 * 60_000, "\(row)")
    #expect(try await job.expectTrueTotals().count == 1)
    let text = try await job.prewarm("cache", "compact")
    #expect(text.status == 0 && text.error.isEmpty)
    expectGolden(text.outputText)
    #expect(try await job.runJob().totals["hit_disk"] == 1)
  }
}
