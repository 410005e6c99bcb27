import Foundation
import TestOrigin
import TestSupport
import Testing

/// `prewarm cache` and `prewarm blacklist` over a cache that a run has filled.
@Suite struct CacheCommandTests {
  private let origin = makeImageOrigin()

  // MARK: Reading

  @Test func `stats prints the number and size of images`() async throws {
    let job = try await JobFolder.filled(from: origin, keys: "cache: {max-size: 1MiB}")
    let statistics = try await job.statistics()
    #expect(statistics.entries == 5 && statistics.blacklistEntries == 2)
    #expect(statistics.bodyBytes == (0..<5).reduce(0) { $0 + SampleImages.jpeg($1).count })
    #expect(statistics.diskBytes > statistics.bodyBytes)
    #expect(statistics.directory == job.cacheDirectory && statistics.namespace == "default")
    #expect(statistics.maxBytes == nil && statistics.freshUntil?.hasSuffix("Z") == true)
    #expect(try await job.statistics("--job", "job.yaml").maxBytes == 1 << 20)
    let text = try await job.prewarm("cache stats")
    #expect(text.status == 0 && text.error.isEmpty)
    let lines = text.outputText.split(separator: "\n")
    expectGolden(lines.first { $0.contains(job.cacheDirectory) }.map(String.init), for: "cache")
    expectGolden(lines.first { $0.hasSuffix(" 5") }.map(String.init), for: "entries")
    expectGolden(lines.first { $0.hasSuffix(" 2 URLs") }.map(String.init), for: "blacklist")
  }

  @Test func `stats counts expired images`() async throws {
    let job = try await JobFolder.filled(from: origin)
    let fresh = try await job.statistics()
    #expect(fresh.expiredEntries == 0 && fresh.freshUntil != nil)
    let text = try await job.prewarm("cache stats")
    expectGolden(text.outputText.lines(with: "fresh").replacing(#/\d[\d-]+ [\d:]+ UTC/#, with: "TIME"), for: "fresh")
    job.folder.write("version: 1\nname: test\nmanifests: [{path: urls.txt}]\ncache: {max-age: 0s}\n", to: "job.yaml")
    let expired = try await job.statistics("--job", "job.yaml")
    #expect(expired.expiredEntries == 5 && expired.freshUntil == nil)
    expectGolden(try await job.prewarm("cache stats --job job.yaml").outputText.lines(with: "fresh"), for: "expired")
  }

  @Test func `list prints each image`() async throws {
    let job = try await JobFolder.filled(from: origin)
    let listed = try await job.expectTrueTotals()
    #expect(Set(listed.map(\.url)) == Set(imageURLs(origin, 0..<5)))
    for entry in listed {
      #expect(entry.format == "jpeg" && entry.width == 32 && entry.height == 24)
      #expect(entry.proof == "header" && entry.status == 200 && entry.contentType == "image/jpeg")
    }
    let text = try await job.prewarm("cache list")
    let lines = text.outputText.split(separator: "\n")
    #expect(text.status == 0 && lines.count == 5)
    #expect(lines.allSatisfy { $0.contains("32x24") && $0.contains("http://") })
  }

  @Test func `get prints the bytes or the record`() async throws {
    let job = try await JobFolder.filled(from: origin)
    let url = imageURLs(origin, 3..<4)[0]
    #expect(try await job.prewarm("cache get", url).output == SampleImages.jpeg(3))
    // The same URL in another spelling.
    let spelled = url.replacing("http", with: "HTTP").replacing("3.jpg", with: "x/%2e./3.jpg") + "#top"
    #expect(try await job.prewarm("cache get", spelled).output == SampleImages.jpeg(3))
    let record: ListedEntry = try await job.prewarm("cache get", url, "--json").row()
    #expect(record.url == url && record.bytes == SampleImages.jpeg(3).count)
    for line in ["cache get ftp://a/b.jpg", "cache remove not-a-url"] { #expect(try await job.prewarm(line).status == 3) }
  }

  // MARK: Changing

  @Test func `remove removes images and reports missing ones`() async throws {
    let job = try await JobFolder.filled(from: origin)
    let urls = imageURLs(origin, 0..<5)
    let removed = try await job.prewarm("cache remove", urls[0], urls[1])
    #expect(removed.status == 0 && removed.outputText == "removed \(urls[0])\nremoved \(urls[1])\n" && removed.error.isEmpty)
    let mixed = try await job.prewarm("cache remove", urls[0], urls[2], "--json")
    #expect(mixed.status == 1)
    expectGolden(mixed.errorText)
    expectGolden(mixed.outputText, for: "json")
    #expect(Set(try await job.expectTrueTotals().map(\.url)) == [urls[3], urls[4]])
    let run = try await job.runJob()
    #expect(run.totals["downloaded"] == 3 && run.totals["hit_disk"] == 2)
  }

  @Test func `trim removes expired images, then the oldest above the limit`() async throws {
    let job = try await JobFolder.filled(from: origin)
    let size = SampleImages.jpeg(0).count
    expectGolden(try await job.prewarm("cache trim --json").outputText, for: "nothing")
    expectGolden(try await job.prewarm("cache trim --max-size \(4 * size) --json").outputText, for: "three")
    #expect(try await job.statistics().entries == 2)
    let expired = try await job.prewarm("cache trim --max-age 0s")
    #expect(expired.status == 0, "\(expired.outputText)")
    expectGolden(expired.outputText)
    #expect(try await job.expectTrueTotals().isEmpty)
  }

  @Test func `clear removes every image and keeps the blacklist`() async throws {
    let job = try await JobFolder.filled(from: origin)
    origin.set("/large.jpg", .body(SampleImages.jpeg(9, padding: 300_000), type: "image/jpeg"))
    job.write(urls: [origin.url("/large.jpg")])
    #expect(try await job.runJob().status == 0)
    #expect(try job.blobFiles().count == 1)
    let before = try await job.statistics()
    expectGolden(try await job.prewarm("cache clear --json").outputText, for: "json")
    let after = try await job.statistics()
    #expect(after.entries == 0 && after.bodyBytes == 0 && after.blacklistEntries == 2)
    #expect(after.diskBytes < before.diskBytes)
    #expect(try job.blobFiles().isEmpty)
    expectGolden(try await job.prewarm("cache clear").outputText)
    let again = try await job.runJob()
    #expect(again.totals["downloaded"] == 1)
  }

  // MARK: Which cache

  @Test func `the cache is chosen by folder, namespace or job`() async throws {
    let job = try await JobFolder.filled(from: origin, keys: "cache: {directory: elsewhere, namespace: shop}")
    let elsewhere = job.folder.file("elsewhere")
    #expect(try await job.statistics("--job", "job.yaml").entries == 5)
    #expect(try await job.statistics("--cache-directory", elsewhere, "--namespace", "shop").entries == 5)
    #expect(try await job.statistics("--directory", "elsewhere", "--namespace", "shop").entries == 5)
    #expect(try await job.expectTrueTotals("--job", "job.yaml").count == 5)
    #expect(try await job.prewarm("cache stats").status == 1)
    #expect(try await job.prewarm("cache list --cache-directory", elsewhere).status == 1)
    #expect(try await job.prewarm("cache stats --job job.yaml --namespace other").status == 1)
    #expect(try await job.prewarm("blacklist clear --job job.yaml").outputText.hasPrefix("2 URLs"))
  }

  @Test func `cache stats lists the namespaces if none is named`() async throws {
    let job = try await JobFolder.filled(from: origin, keys: "cache: {namespace: shop}")
    let one = try await job.prewarm("cache stats")
    #expect(one.status == 0 && one.outputText.contains("shop"), "\(one.errorText)")
    #expect(try await job.runJob("--namespace default").totals["downloaded"] == 5)
    let both: [CacheStatistics] = try await job.prewarm("cache stats --json").rows()
    #expect(both.map(\.namespace) == ["default", "shop"] && both.allSatisfy { $0.entries == 5 && $0.blacklistEntries == 2 })
    let text = try await job.prewarm("cache stats")
    let sizes = text.outputText.replacing(/\ +[0-9.]+ kB/) { String(repeating: " ", count: $0.output.count - 4) + "SIZE" }
    expectGolden(sizes.replacing(job.cacheDirectory, with: "CACHE"))
    #expect(try await job.statistics("--namespace", "shop").entries == 5)
    job.folder.write("99\n", to: "cache/shop/VERSION")
    let broken = try await job.prewarm("cache stats --json")
    let rest: [CacheStatistics] = try broken.rows()
    #expect(broken.status == 1 && rest.map(\.namespace) == ["default"] && broken.errorText.contains("cache/shop"))
  }

  // MARK: `prewarm cache verify` and `prewarm cache compact`.

  @Test func `verify reads everything and reports a good cache`() async throws {
    let job = try await JobFolder.filled(from: origin)
    expectGolden(try await job.prewarm("cache verify --json").outputText, for: "json")
    let text = try await job.prewarm("cache verify")
    #expect(text.status == 0 && text.error.isEmpty)
    expectGolden(text.outputText.timeless)
  }

  @Test func `verify removes damaged entries and missing files, and the next run fetches them again`() async throws {
    origin.set("/large.jpg", .body(SampleImages.jpeg(9, padding: 300_000), type: "image/jpeg"))
    let urls = imageURLs(origin, 0..<4) + [origin.url("/large.jpg")]
    let job = try await JobFolder.warmed(urls: urls)
    try job.flipByte(of: SampleImages.jpeg(2))
    try job.removeOnlyBlob()

    let kept = try await job.prewarm("cache verify --keep")
    #expect(kept.status == 1, "\(kept.outputText)")
    expectGolden(kept.outputText.timeless, for: "keep")
    #expect(try await job.statistics().entries == 5)

    let result = try await job.prewarm("cache verify")
    #expect(result.status == 1, "\(result.outputText)")
    expectGolden(result.outputText.timeless, for: "output")
    expectGolden(result.errorText.lines(with: urls[2]), for: "wrong bytes")
    expectGolden(result.errorText.lines(with: urls[4]), for: "no file")
    #expect(try await job.expectTrueTotals().count == 3)
    #expect(try await job.prewarm("cache verify").status == 0)
    let again = try await job.runJob()
    #expect(again.totals["hit_disk"] == 3 && again.totals["downloaded"] == 2)
  }

  @Test func `compact reclaims the space of removed images`() async throws {
    origin.setFallback { _ in .body(SampleImages.jpeg(1, padding: 60_000), type: "image/jpeg") }
    let urls = imageURLs(origin, 0..<40)
    let job = try await JobFolder.warmed(urls: urls)
    #expect(try await job.start(["cache", "remove"] + urls.dropFirst()).wait().status == 0)
    let before = try await job.statistics().diskBytes
    #expect(try await job.prewarm("cache compact --json").outputText.contains(#""disk_bytes_before":"#))
    #expect(try await before - job.statistics().diskBytes > 30 * 60_000)
    #expect(try await job.expectTrueTotals().count == 1)
    let text = try await job.prewarm("cache compact")
    #expect(text.status == 0 && text.error.isEmpty)
    expectGolden(text.outputText)
    #expect(try await job.runJob().totals["hit_disk"] == 1)
  }

  // MARK: `prewarm blacklist` over a cache that a run has filled.

  @Test func `blacklist entries can be listed, removed and cleared`() async throws {
    let job = try await JobFolder.filled(from: origin)
    let urls = JobFolder.badPaths.map { origin.url($0) }
    let rows = try await job.prewarm("blacklist list --json").outputText.replacing(#/\d{4}-[\d-]+T[\d:.]+Z/#, with: "TIME")
    for (url, label) in zip(urls, ["404", "page"]) { expectGolden(rows.lines(with: url), for: label) }
    let text = try await job.prewarm("blacklist list").outputText
    #expect(text.contains("http-status 404") && text.contains(urls[0]) && text.contains(urls[1]))

    let removed = try await job.prewarm("blacklist remove", urls[0])
    #expect(removed.status == 0 && removed.outputText == "removed \(urls[0])\n")
    let again = try await job.prewarm("blacklist remove", urls[0])
    #expect(again.status == 1)
    expectGolden(again.errorText)
    #expect(try await job.runJob().totals["blacklisted"] == 1)
    #expect(origin.count(of: "/gone.jpg") == 2 && origin.count(of: "/page.jpg") == 1)

    expectGolden(try await job.prewarm("blacklist clear").outputText)
    #expect(try await job.prewarm("blacklist clear --json").outputText == "{\"removed\":0}\n")
    #expect(try await job.prewarm("blacklist list").output.isEmpty)
    #expect(try await job.statistics().entries == 5)
  }

  // MARK: Errors of `prewarm cache` and `prewarm blacklist`.

  @Test func `a missing or damaged image exits with 1`() async throws {
    let job = try await JobFolder.filled(from: origin)
    for options in ["", " --json"] {
      let result = try await job.prewarm("cache get \(origin.url("/gone.jpg"))\(options)")
      #expect(result.status == 1 && result.output.isEmpty)
      expectGolden(result.errorText)
    }
    origin.set("/large.jpg", .body(SampleImages.jpeg(9, padding: 300_000), type: "image/jpeg"))
    job.write(urls: [origin.url("/large.jpg")])
    _ = try await job.runJob()
    job.folder.write([0xff], to: "cache/default/blobs/\(try #require(try job.blobFiles().first))")
    let damaged = try await job.prewarm("cache get", origin.url("/large.jpg"))
    #expect(damaged.status == 1 && damaged.output.isEmpty)
    expectGolden(damaged.errorText)
    #expect(try await job.prewarm("cache remove", origin.url("/large.jpg")).status == 0)
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
    let changes = ["cache remove \(urls[0])", "cache trim", "cache clear", "blacklist clear"].map { "\($0) --job job.yaml" }
    let asked = origin.requests.count
    for line in changes + ["run job.yaml"] {
      let result = try await job.prewarm(line)
      #expect(result.status == 1 && result.output.isEmpty)
      expectGolden(result.errorText)
    }
    #expect(origin.requests.count == asked)
  }
}
