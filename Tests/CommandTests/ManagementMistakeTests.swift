import Foundation
import TestOrigin
import TestSupport
import Testing

/// Errors of `prewarm cache` and `prewarm blacklist`.
@Suite struct ManagementMistakeTests {
  @Test(
    arguments: [
      ["cache", "stats"], ["cache", "list"], ["cache", "get", "http://a/b.jpg"], ["cache", "remove", "http://a/b.jpg"],
      ["cache", "trim"], ["cache", "clear"], ["blacklist", "list"], ["blacklist", "remove", "http://a/b.jpg"],
      ["blacklist", "clear"], ["cache", "verify"], ["cache", "compact"], ["cache", "export", "--to", "out"],
    ]
  )
  func `without a cache nothing is created`(arguments: [String]) async throws {
    let job = JobFolder("")
    let result = try await job.start(arguments).wait()
    #expect(result.status == 1 && result.output.isEmpty)
    expectGolden(result.errorText)
    #expect(!FileManager.default.fileExists(atPath: job.cacheDirectory))
  }

  @Test func `a missing or damaged image exits with 1`() async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin)
    for options in [[], ["--json"]] {
      let result = try await job.start(["cache", "get", origin.url("/gone.jpg")] + options).wait()
      #expect(result.status == 1 && result.output.isEmpty)
      expectGolden(result.errorText)
    }
    origin.set("/large.jpg", .body(SampleImages.jpeg(9, padding: 300_000), type: "image/jpeg"))
    job.write(urls: [origin.url("/large.jpg")])
    _ = try await job.runJob()
    job.folder.write([0xff], to: "cache/default/blobs/\(try #require(try job.blobFiles().first))")
    let damaged = try await job.prewarm("cache", "get", origin.url("/large.jpg"))
    #expect(damaged.status == 1 && damaged.output.isEmpty)
    expectGolden(damaged.errorText)
    #expect(try await job.prewarm("cache", "remove", origin.url("/large.jpg")).status == 0)
    #expect(try await job.runJob().totals["downloaded"] == 1)
  }

  @Test(
    arguments: [
      ["cache"], ["blacklist"], ["cache", "get"], ["cache", "remove"], ["cache", "polish"], ["cache", "get", "ftp://a/b.jpg"],
      ["cache", "remove", "not a url"], ["cache", "trim", "--max-size", "much"], ["cache", "stats", "--namespace", "../x"],
      ["cache", "stats", "--job", "missing.yaml"], ["blacklist", "remove"], ["cache", "export"], ["cache", "import"],
      ["cache", "export", "--to", ""], ["cache", "export", "--to", "out", "--layout", "flat"],
      ["cache", "export", "--to", "out", "--layout", "url-path", "--with-extension"],
    ]
  )
  func `an invalid command line exits with 3`(arguments: [String]) async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin)
    let result = try await job.start(arguments).wait()
    #expect(result.status == 3 && result.output.isEmpty && !result.errorText.isEmpty, "\(result.outputText)\(result.errorText)")
    #expect(try await job.statistics().entries == 5)
  }

  @Test func `a password is never shown`() async throws {
    let origin = try makeImageOrigin()
    let url = "http://user:geheim@127.0.0.1:\(origin.port)/images/1.jpg"
    let job = JobFolder(urls: [url, url.replacing("images", with: "missing")])
    _ = try await job.runJob()
    #expect(try await job.prewarm("cache", "get", url).output == SampleImages.jpeg(1))
    let commands = [
      ["cache", "list"], ["cache", "list", "--json"], ["cache", "get", url, "--json"], ["blacklist", "list"],
      ["blacklist", "list", "--json"], ["cache", "remove", url], ["cache", "remove", url], ["cache", "get", url],
    ]
    for arguments in commands {
      let result = try await job.start(arguments).wait()
      let text = result.outputText + result.errorText
      #expect(text.contains("***") && !text.contains("geheim"), "\(arguments): \(text)")
    }
  }

  @Test(
    .enabled(if: TemporaryMount.isAllowed, "needs the right to mount")
  )
  func `a read-only folder is read, and every change is rejected with a message`() async throws {
    let mount = try TemporaryMount(byteCount: 8 << 20)
    let origin = try makeImageOrigin()
    let urls = imageURLs(origin, 0..<5)
    let job = JobFolder(urls: urls, keys: "cache: {directory: \(mount.directory.path)}")
    #expect(try await job.runJob().status == 0)
    try mount.makeReadOnly()
    #expect(try await job.expectTrueTotals("--job", "job.yaml").count == 5)
    #expect(try await job.prewarm("cache", "get", urls[2], "--job", "job.yaml").output == SampleImages.jpeg(2))
    #expect(try await job.runJob("--cache-mode", "only").totals["hit_disk"] == 5)
    let changes = [["cache", "remove", urls[0]], ["cache", "trim"], ["cache", "clear"], ["blacklist", "clear"]]
    for arguments in changes {
      let result = try await job.start(arguments + ["--job", "job.yaml"]).wait()
      #expect(result.status == 1 && result.output.isEmpty)
      expectGolden(result.errorText)
    }
    let asked = origin.requests.count
    let run = try await job.prewarm("run", "job.yaml")
    #expect(run.status == 1)
    expectGolden(run.errorText)
    #expect(origin.requests.count == asked)
  }
}
