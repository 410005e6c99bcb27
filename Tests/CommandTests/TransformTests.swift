import Foundation
import ImageCaching
import Base
import TestOrigin
import TestSupport
import Testing

/// Jobs with `transform`, over images of real encoders.
@Suite struct TransformTests {
  private let origin: Origin

  init() throws {
    origin = try Origin()
    origin.setFallback { request in
      let name = String(request.path.dropFirst().prefix { $0 != "?" })
      let types = ["jpg": "image/jpeg", "png": "image/png", "webp": "image/webp", "gif": "image/gif"]
      guard let type = types[String(name.split(separator: ".").last ?? "")] else { return .status(404) }
      return .body(Fixtures.bytes("images/good/\(name)"), type: type, headers: ["ETag": "\"\(name)\""])
    }
  }

  private func job(_ names: [String], _ transform: String) -> JobFolder {
    JobFolder(urls: names.map { origin.url("/\($0)") }, keys: "transform: \(transform)")
  }

  /// Format and size of all cached images, by the last part of the URL.
  private func cached(_ job: JobFolder) throws -> [String: [String]] {
    let cache = try ImageCache(ImageCache.Configuration(directory: job.cacheDirectory))
    var found: [String: [String]] = [:]
    for entry in try cache.entries(after: nil, limit: 100) {
      let name = String(decoding: entry.shownURL, as: UTF8.self).split(separator: "/").last.map(String.init) ?? ""
      found[name, default: []].append("\(entry.format?.name ?? "?") \(entry.size.width)x\(entry.size.height)")
    }
    return found.mapValues { $0.sorted() }
  }

  @Test func `resized images are stored and hit without network or coding`() async throws {
    let job = job(["photo.jpg", "rgb.png", "lossy.webp"], "{resize: {width: 100, height: 60}}")
    let first = try await job.runJob()
    #expect(first.status == 0 && first.totals["downloaded"] == 3)
    let stored = try cached(job)
    #expect(stored.count == 3 && stored["photo.jpg"] == ["jpeg 90x60"])
    #expect(stored["rgb.png"]?.first?.hasPrefix("png ") == true && stored["lossy.webp"]?.first?.hasPrefix("webp ") == true)
    let bytes = first.section("bytes").compactMapValues { $0 as? Int }
    #expect(bytes["original"] == first.rows.compactMap(\.bytes).reduce(0, +) && bytes["original"] == bytes["downloaded"])
    let kept = try #require(bytes["stored"])
    #expect(kept == first.rows.compactMap(\.storedBytes).reduce(0, +) && kept < bytes["original"]!)
    #expect(first.section("cache")["body_bytes"] as? Int == kept)

    let second = try await job.runJob()
    #expect(second.status == 0 && second.totals["hit_disk"] == 3 && origin.requests.count == 3)
    #expect(second.section("bytes")["from_cache"] as? Int == kept && second.section("bytes")["stored"] as? Int == 0)
    #expect(try cached(job) == stored)
    let row = try #require(second.rows.first { $0.url.hasSuffix("photo.jpg") })
    #expect(row.transformedWidth == 90 && row.transformedHeight == 60 && row.storedBytes == nil)
    // Columns describe the same image in each row.
    #expect(row.width == nil && row.format == nil && row.status == nil)
    let made = try #require(first.rows.first { $0.url.hasSuffix("photo.jpg") })
    #expect(made.width == 640 && made.format == "jpeg" && made.status == 200)
    #expect(made.transformedWidth == 90 && made.transformedFormat == row.transformedFormat)
  }

  @Test func `animations stay animated if the format allows it: a GIF becomes WebP`() async throws {
    let job = job(["animation.gif", "animated.webp"], "{resize: {width: 10}}")
    #expect(try await job.runJob().totals["downloaded"] == 2)
    let cache = try ImageCache(ImageCache.Configuration(directory: job.cacheDirectory))
    let entries = try cache.entries(after: nil, limit: 9)
    #expect(entries.count == 2)
    for entry in entries { #expect(entry.format == .webp && entry.size.width == 10 && entry.head.image.frames > 1) }
    #expect(try await job.runJob().totals["hit_disk"] == 2)
    let still = try await job.runJob("--set transform.format=png")
    #expect(still.totals["downloaded"] == 2)
    #expect(try cached(job)["animation.gif"]?.contains { $0.hasPrefix("png 10x") } == true)
  }

  @Test func `cache remove also removes transforms, and cache get --job prints one`() async throws {
    let job = job(["photo.jpg", "rgb.png"], "{resize: {width: 48}, keep-original: true}")
    let first = try await job.runJob()
    #expect(first.section("bytes")["stored"] as? Int == first.section("cache")["body_bytes"] as? Int)
    #expect(try await job.runJob("--set transform.resize.width=24").totals["hit_disk"] == 2)
    let (url, other) = (origin.url("/photo.jpg"), origin.url("/rgb.png"))
    #expect(try await job.prewarm("cache get", url).output == Fixtures.bytes("images/good/photo.jpg"))
    let made: ListedEntry = try await job.prewarm("cache get", url, "--job", "job.yaml", "--json").row()
    #expect(made.width == 48)

    let removed = try await job.prewarm("cache remove", url)
    #expect(removed.status == 0)
    expectGolden(removed.outputText)
    #expect(try cached(job).mapValues(\.count) == ["rgb.png": 3])
    let cache = try ImageCache(ImageCache.Configuration(directory: job.cacheDirectory))
    #expect(try cache.remove(identity: Array(other.utf8)))

    let missing = try await job.prewarm("cache get", other)
    #expect(missing.status == 1 && missing.output.isEmpty)
    for part in ["resize(48x-,inside)-encode(auto,85)", "resize(24x-,inside)-encode(auto,85)", "--job"] {
      #expect(missing.errorText.contains(part), "\(missing.errorText)")
    }
    let never = try await job.prewarm("cache get", url, "--job", "job.yaml")
    #expect(never.status == 1, "\(never.errorText)")
    expectGolden(never.errorText)

    let rest = try await job.prewarm("cache remove", url, other, "--json")
    #expect(rest.status == 1)
    for row in [#""removed":true,"transformed":2"#, #""removed":false,"transformed":0"#] {
      #expect(rest.outputText.contains(row))
    }
    #expect(try cached(job).isEmpty)
  }
}
