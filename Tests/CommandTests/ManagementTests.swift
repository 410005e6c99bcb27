import TestOrigin
import TestSupport
import Testing

/// `prewarm cache` over a cache that a run has filled.
@Suite struct ManagementTests {
  // MARK: Reading

  @Test func `stats prints the number and size of images`() async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin, keys: "cache: {max-size: 1MiB}")
    let statistics = try await job.statistics()
    #expect(statistics.entries == 5 && statistics.blacklistEntries == 2)
    #expect(statistics.bodyBytes == (0..<5).reduce(0) { $0 + SampleImages.jpeg($1).count })
    #expect(statistics.diskBytes > statistics.bodyBytes)
    #expect(statistics.directory == job.cacheDirectory && statistics.namespace == "default")
    #expect(statistics.maxBytes == nil && statistics.freshUntil?.hasSuffix("Z") == true)
    #expect(try await job.statistics("--job", "job.yaml").maxBytes == 1 << 20)
    let text = try await job.prewarm("cache", "stats")
    #expect(text.status == 0 && text.error.isEmpty)
    let lines = text.outputText.split(separator: "\n")
    expectGolden(lines.first { $0.contains(job.cacheDirectory) }.map(String.init), for: "cache")
    expectGolden(lines.first { $0.hasSuffix(" 5") }.map(String.init), for: "entries")
    expectGolden(lines.first { $0.hasSuffix(" 2 URLs") }.map(String.init), for: "blacklist")
  }

  @Test func `stats counts expired images`() async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin)
    let fresh = try await job.statistics()
    #expect(fresh.expiredEntries == 0 && fresh.freshUntil != nil)
    let text = try await job.prewarm("cache", "stats")
    expectGolden(text.outputText.lines(with: "fresh").replacing(#/\d[\d-]+ [\d:]+ UTC/#, with: "TIME"), for: "fresh")
    job.folder.write("version: 1\nname: test\nmanifests: [{path: urls.txt}]\ncache: {max-age: 0s}\n", to: "job.yaml")
    let expired = try await job.statistics("--job", "job.yaml")
    #expect(expired.expiredEntries == 5 && expired.freshUntil == nil)
    expectGolden(try await job.prewarm("cache", "stats", "--job", "job.yaml").outputText.lines(with: "fresh"), for: "expired")
  }

  @Test func `list prints each image`() async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin)
    let listed = try await job.expectTrueTotals()
    #expect(Set(listed.map(\.url)) == Set(imageURLs(origin, 0..<5)))
    for entry in listed {
      #expect(entry.format == "jpeg" && entry.width == 32 && entry.height == 24)
      #expect(entry.proof == "header" && entry.status == 200 && entry.contentType == "image/jpeg")
    }
    let text = try await job.prewarm("cache", "list")
    let lines = text.outputText.split(separator: "\n")
    #expect(text.status == 0 && lines.count == 5)
    #expect(lines.allSatisfy { $0.contains("32x24") && $0.contains("http://") })
  }

  @Test func `get prints the bytes or the record`() async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin)
    let url = imageURLs(origin, 3..<4)[0]
    #expect(try await job.prewarm("cache", "get", url).output == SampleImages.jpeg(3))
    // The same URL in another spelling.
    let spelled = url.replacing("http", with: "HTTP").replacing("3.jpg", with: "x/%2e./3.jpg") + "#top"
    #expect(try await job.prewarm("cache", "get", spelled).output == SampleImages.jpeg(3))
    let record: ListedEntry = try await job.prewarm("cache", "get", url, "--json").row()
    #expect(record.url == url && record.bytes == SampleImages.jpeg(3).count)
  }

  // MARK: Changing

  @Test func `remove removes images and reports missing ones`() async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin)
    let urls = imageURLs(origin, 0..<5)
    let removed = try await job.prewarm("cache", "remove", urls[0], urls[1])
    #expect(removed.status == 0 && removed.outputText == "removed \(urls[0])\nremoved \(urls[1])\n" && removed.error.isEmpty)
    let mixed = try await job.prewarm("cache", "remove", urls[0], urls[2], "--json")
    #expect(mixed.status == 1)
    expectGolden(mixed.errorText)
    let rows: [RemovedRow] = try mixed.rows()
    #expect(rows == [RemovedRow(url: urls[0], removed: false), RemovedRow(url: urls[2], removed: true)])
    #expect(Set(try await job.expectTrueTotals().map(\.url)) == [urls[3], urls[4]])
    let run = try await job.runJob()
    #expect(run.totals["downloaded"] == 3 && run.totals["hit_disk"] == 2)
  }

  @Test func `trim removes expired images, then the oldest above the limit`() async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin)
    let size = SampleImages.jpeg(0).count
    let nothing: TrimRow = try await job.prewarm("cache", "trim", "--json").row()
    #expect(nothing == TrimRow(expiredEntries: 0, trimmedEntries: 0, removedBytes: 0, entries: 5, bodyBytes: 5 * size))
    let trimmed: TrimRow = try await job.prewarm("cache", "trim", "--max-size", "\(4 * size)", "--json").row()
    #expect(trimmed == TrimRow(expiredEntries: 0, trimmedEntries: 3, removedBytes: 3 * size, entries: 2, bodyBytes: 2 * size))
    let expired = try await job.prewarm("cache", "trim", "--max-age", "0s")
    #expect(expired.status == 0, "\(expired.outputText)")
    expectGolden(expired.outputText)
    #expect(try await job.expectTrueTotals().isEmpty)
  }

  @Test func `clear removes every image and keeps the blacklist`() async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin)
    origin.set("/large.jpg", .body(SampleImages.jpeg(9, padding: 300_000), type: "image/jpeg"))
    job.write(urls: [origin.url("/large.jpg")])
    #expect(try await job.runJob().status == 0)
    #expect(try job.blobFiles().count == 1)
    let before = try await job.statistics()
    let cleared: ClearRow = try await job.prewarm("cache", "clear", "--json").row()
    #expect(cleared == ClearRow(removedEntries: 6, removedBytes: before.bodyBytes))
    let after = try await job.statistics()
    #expect(after.entries == 0 && after.bodyBytes == 0 && after.blacklistEntries == 2)
    #expect(after.diskBytes < before.diskBytes)
    #expect(try job.blobFiles().isEmpty)
    expectGolden(try await job.prewarm("cache", "clear").outputText)
    let again = try await job.runJob()
    #expect(again.totals["downloaded"] == 1)
  }

  // MARK: Which cache

  @Test func `the cache is chosen by folder, namespace or job`() async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin, keys: "cache: {directory: elsewhere, namespace: shop}")
    let elsewhere = job.folder.file("elsewhere")
    #expect(try await job.statistics("--job", "job.yaml").entries == 5)
    #expect(try await job.statistics("--cache-directory", elsewhere, "--namespace", "shop").entries == 5)
    #expect(try await job.statistics("--directory", "elsewhere", "--namespace", "shop").entries == 5)
    #expect(try await job.expectTrueTotals("--job", "job.yaml").count == 5)
    #expect(try await job.prewarm("cache", "stats").status == 1)
    #expect(try await job.prewarm("cache", "list", "--cache-directory", elsewhere).status == 1)
    #expect(try await job.prewarm("cache", "stats", "--job", "job.yaml", "--namespace", "other").status == 1)
    #expect(try await job.prewarm("blacklist", "clear", "--job", "job.yaml").outputText.hasPrefix("2 URLs"))
  }

  @Test func `cache stats lists the namespaces if none is named`() async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin, keys: "cache: {namespace: shop}")
    let one = try await job.prewarm("cache", "stats")
    #expect(one.status == 0 && one.outputText.contains("shop"), "\(one.errorText)")
    #expect(try await job.runJob("--namespace", "default").totals["downloaded"] == 5)
    let both: [CacheStatistics] = try await job.prewarm("cache", "stats", "--json").rows()
    #expect(both.map(\.namespace) == ["default", "shop"] && both.allSatisfy { $0.entries == 5 && $0.blacklistEntries == 2 })
    let text = try await job.prewarm("cache", "stats")
    let sizes = text.outputText.replacing(/\ +[0-9.]+ kB/) { String(repeating: " ", count: $0.output.count - 4) + "SIZE" }
    expectGolden(sizes.replacing(job.cacheDirectory, with: "CACHE"))
    #expect(try await job.statistics("--namespace", "shop").entries == 5)
    job.folder.write("99\n", to: "cache/shop/VERSION")
    let broken = try await job.prewarm("cache", "stats", "--json")
    let rest: [CacheStatistics] = try broken.rows()
    #expect(broken.status == 1 && rest.map(\.namespace) == ["default"] && broken.errorText.contains("cache/shop"))
  }
}

private struct RemovedRow: Decodable, Equatable {
  let url: String
  let removed: Bool
}

private struct TrimRow: Decodable, Equatable {
  let expiredEntries: Int
  let trimmedEntries: Int
  let removedBytes: Int
  let entries: Int
  let bodyBytes: Int
}

private struct ClearRow: Decodable, Equatable {
  let removedEntries: Int
  let removedBytes: Int
}
