import Foundation
import TestOrigin
import TestSupport
import Testing

/// A full or read-only disk for anything but the cache, which ``BrokenDiskTests`` covers.
@Suite(.enabled("needs the right to mount") { TemporaryMount.isAllowed }) struct FullDiskTests {
  @Test(
    arguments: ["json", "jsonl", "text"]
  )
  func `a full disk for a report exits with 1 and a message, and fetched images are stored`(format: String) async throws {
    let mount = try TemporaryMount(byteCount: 4096)
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<100))
    let name = "reports.\(format)"
    // The rest of the space is used up.
    mount.directory.write([UInt8](repeating: 1, count: 4096), to: "filler")
    let result = try await job.prewarm("run", "job.yaml", "--report", "\(format)=\(mount.directory.file(name))")
    #expect(result.status == 1 && result.errorText.contains(name), "\(result.errorText)")
    expectGolden(result.errorText)
    // If the report could be opened, the run is complete.
    let entries = origin.requests.isEmpty ? 0 : 100
    if entries > 0 { #expect(try await job.statistics().entries == entries) }
    #expect(mount.directory.read(name) == nil || format == "jsonl")
  }

  @Test func `a full disk for the spool exits with 1 and a message, and the cache stays`() async throws {
    let mount = try TemporaryMount(byteCount: 600 << 10)
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<5), keys: "cache: {directory: \(mount.directory.path)}")
    #expect(try await job.runJob().totals["downloaded"] == 5)
    // Read from a pipe, and so spooled beside the cache until its end.
    let long = String(repeating: "a", count: 400)
    let lines = (0..<5000).map { "\(origin.url("/images/\($0).jpg"))?\(long)\n" }.joined()
    let options = ["--order", "lifo", "--set", "manifests=[{path: '-'}]"]
    let result = try await job.startJob(options, input: .bytes(Array(lines.utf8))).wait()
    #expect(result.status == 1, "\(result.errorText)")
    expectGolden(result.errorText)
    let later = try await job.runJob("--cache-mode", "only")
    #expect(later.status == 0 && later.totals["hit_disk"] == 5)
    // The spool is gone.
    let left = try FileManager.default.contentsOfDirectory(atPath: mount.directory.path)
    #expect(left == ["default"], "\(left)")
  }

  @Test(arguments: [(20_000, "200kB"), (300_000, "3MB")])
  func `trim and clear free space on a full disk`(padding: Int, size: String) async throws {
    let mount = try TemporaryMount(byteCount: 24 << 20)
    let origin = try makeImageOrigin()
    origin.setFallback { request in
      guard request.path.hasPrefix("/images/") else { return .status(404) }
      let number = Int(request.path.dropFirst("/images/".count).prefix { $0 != "." }) ?? 0
      return .body(SampleImages.jpeg(number, padding: padding), type: "image/jpeg")
    }
    let urls = imageURLs(origin, 0..<40) + [origin.url("/gone.jpg")]
    let job = JobFolder(urls: urls, keys: "cache: {directory: \(mount.directory.path)}")
    #expect(try await job.runJob().totals["downloaded"] == 40)
    // Without free pages in the index, each change needs room.
    #expect(try await job.prewarm("cache", "compact", "--job", "job.yaml").status == 0)
    mount.fill()
    #expect(mount.freeByteCount == 0)

    let trim = try await job.prewarm("cache", "trim", "--job", "job.yaml", "--max-size", size)
    #expect(trim.status == 0 && mount.freeByteCount > 0, "\(trim.errorText)")
    let left = try await job.expectTrueTotals("--job", "job.yaml")
    #expect((1..<40).contains(left.count))
    let verified = try await job.prewarm("cache", "verify", "--keep", "--job", "job.yaml")
    #expect(verified.status == 0, "\(verified.errorText)")

    mount.fill()
    let clear = try await job.prewarm("cache", "clear", "--job", "job.yaml")
    #expect(clear.status == 0 && mount.freeByteCount > 0, "\(clear.errorText)")
    let cleared = try await job.statistics("--job", "job.yaml")
    #expect(cleared.entries == 0 && cleared.bodyBytes == 0 && cleared.blacklistEntries == 1)
  }

  @Test func `clear replaces an index without free pages on a full disk, and keeps the blacklist`() async throws {
    let mount = try TemporaryMount(byteCount: 4 << 20)
    let origin = try makeImageOrigin()
    let urls = imageURLs(origin, 0..<20) + [origin.url("/gone.jpg")]
    let job = JobFolder(urls: urls, keys: "cache: {directory: \(mount.directory.path)}")
    #expect(try await job.runJob().totals["downloaded"] == 20)
    #expect(try await job.prewarm("cache", "compact", "--job", "job.yaml").status == 0)
    mount.fill()
    let clear = try await job.prewarm("cache", "clear", "--job", "job.yaml")
    #expect(clear.status == 0 && clear.outputText.contains("20 entries"), "\(clear.errorText)")
    let cleared = try await job.statistics("--job", "job.yaml")
    #expect(cleared.entries == 0 && cleared.blacklistEntries == 1)
    let again = try await job.runJob()
    #expect(again.totals["urls"] == 21 && again.totals["blacklisted"] == 1)
  }

  @Test func `a read-only folder ends a run with 1 before the first request, and serves hits`() async throws {
    let mount = try TemporaryMount(byteCount: 4 << 20)
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<5), keys: "cache: {directory: \(mount.directory.path)}")
    #expect(try await job.runJob().totals["downloaded"] == 5)
    try mount.makeReadOnly()
    let result = try await job.prewarm("run", "job.yaml")
    #expect(result.status == 1, "\(result.errorText)")
    expectGolden(result.errorText)
    #expect(origin.requests.count == 5)
    let hits = try await job.runJob("--cache-mode", "only")
    #expect(hits.status == 0 && hits.totals["hit_disk"] == 5)
  }
}
