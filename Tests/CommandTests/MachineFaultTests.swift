import Foundation
import Glibc
import TestOrigin
import TestSupport
import Testing

/// Faults of this machine: they say nothing about a URL, come first, end with status 1, and aren't remembered.
@Suite struct MachineFaultTests {
  private let origin = makeImageOrigin()

  @Test(.enabled(if: TemporaryMount.isAllowed, "needs the right to mount"))
  func `on a full disk each night exits with 1 and says so first, whatever the baseline, and requests no more than it began`()
    async throws
  {
    let mount = try TemporaryMount(byteCount: 1 << 20)
    origin.setFallback { .jpeg(number(of: $0) ?? 0, padding: 100_000) }
    let keys = "cache: {directory: \(mount.directory.path)}\nprefetch: {concurrency: 4}\nreport: [{text: '-'}]"
    let job = JobFolder(urls: imageURLs(origin, 0..<1000), keys: keys)
    let sentence = "no space left for the cache at \(mount.directory.path)"
    for night in 0..<3 {
      let options = night == 0 ? [] : ["--fail-on", "baseline=last.jsonl", "--fail-on", "known=never"]
      let run = try job.finishedRun(try await job.startJob(options).wait())
      #expect(run.status == 1 && run.failuresByKind.isEmpty, "\(run.result.errorText)")
      #expect(run.result.outputText.hasPrefix("test  FAILED  \(sentence)"), "\(run.result.outputText)")
      #expect(run.totals["failed"] == 0 && (run.totals["cancelled"] ?? 0) > 0)
      #expect(run.section("standings")["known"] as? Int == 0 && run.section("standings")["counting"] as? Int == 0)
      #expect(run.rows("cancelled").contains { $0.message?.hasPrefix(sentence) == true })
      // On a busy machine, up to 11 MiB of images (BackPressure) may have arrived before the first of them can't be written.
      #expect(origin.requests.count < 300 * (night + 1))
      try job.keepRows()
    }
    #expect(try await job.prewarm("blacklist list --job job.yaml").output.isEmpty)
    let shown = try await job.prewarm("report merge last.jsonl")
    #expect(shown.status == 1 && shown.outputText.contains(sentence), "\(shown.outputText)")
  }

  @Test(arguments: ["cache-write", "internal"])
  func `a baseline doesn't know URLs whose images couldn't be written`(kind: String) async throws {
    let job = JobFolder(urls: [origin.url("/gone.jpg")], keys: "fail-on: {known: never}")
    for outcome in ["failed", "cancelled"] {
      let row = #"{"url":"\#(origin.url("/gone.jpg"))","manifest":"urls.txt","line":1,"priority":"normal","#
      job.folder.write(row + #""outcome":"\#(outcome)","kind":"\#(kind)","message":"no space"}"# + "\n", to: "last.jsonl")
      let run = try await job.runJob("--fail-on baseline=last.jsonl")
      #expect(run.status == 2 && run.section("standings")["counting"] as? Int == 1, "\(outcome)")
    }
  }

  @Test(.enabled(if: isolates, "needs the right to unshare"))
  func `without a network the run stops, says so first, and exits with 1`() async throws {
    let job = JobFolder(urls: (0..<500).map { "http://shop\($0).example/\($0).jpg" })
    for arguments in [["check", "urls.txt"], ["run", "job.yaml"]] {
      let unshared = ["-rn", BuiltCommand.path] + arguments + ["--set", "request.retries=0"]
      let result = try await job.start(unshared, of: "/usr/bin/unshare").wait()
      #expect(result.status == 1, "\(result.outputText)")
      let text = result.outputText
      #expect(text.contains("FAILED  this machine has no network") && !text.contains(" bad"), "\(text)")
    }
  }

  @Test func `if no name server answers, the run exits with 1; if one host responds or a name doesn't exist, with 2`()
    async throws
  {
    let (down, good) = (["a.down", "b.down", "c.broken", "d.down"].map { "http://\($0)/0.jpg" }, imageURLs(origin, 0..<1))
    let cases = [
      (down, 1), (Array(down.prefix(1)), 1), (down + good, 2), (["http://a.none/0.jpg"], 2), (["http://a.invalid/0.jpg"], 2),
    ]
    for (urls, status) in cases {
      let job = JobFolder(urls: urls, keys: "request: {retries: 0}\nreport: [{text: '-'}]")
      let result = try await job.startPreloaded(.resolver).wait()
      #expect(result.status == status, "\(result.outputText)")
      #expect(result.outputText.contains("FAILED  no name could be resolved, such as") == (status == 1), "\(result.outputText)")
    }
  }

  private static let isolates = (try? Command("/usr/bin/unshare", ["-rn", "/bin/true"]).wait().status) == 0

  @Test func `a source that can't be read exits with 1, whatever the baseline`() async throws {
    let job = JobFolder(urls: [])
    for (path, status) in [
      ("/", 404), ("/page", 403), ("/page.html", 500), ("/sitemap.xml", 404), ("/urls.txt", 403), ("/feed", 500),
    ] {
      origin.set(path, .status(status))
      let line = "check \(origin.url(path)) --set request.retries=0"
      for options in ["-o rows.jsonl", "--fail-on baseline=rows.jsonl"] {
        let result = try await job.prewarm("\(line) \(options)")
        #expect(result.status == 1, "\(path): \(result.outputText)")
        #expect(result.errorText.contains("cannot fetch it: the server responded with \(status)"), "\(result.errorText)")
      }
    }
    // An image isn't a source.
    #expect(try await job.prewarm("check", origin.url("/a.jpg"), "--set", "request.retries=0").status == 2)
  }
}

/// A full disk for anything but the cache of a run.
@Suite(.enabled("needs the right to mount") { TemporaryMount.isAllowed }) struct FullDiskTests {
  private let origin = makeImageOrigin()

  @Test func `a full disk for the spool exits with 1 and a message, and the cache stays`() async throws {
    let mount = try TemporaryMount(byteCount: 600 << 10)
    let job = try await JobFolder.warmed(urls: imageURLs(origin, 0..<5), keys: "cache: {directory: \(mount.directory.path)}")
    // Read from a pipe, and so spooled beside the cache until its end.
    let long = String(repeating: "a", count: 400)
    let lines = (0..<5000).map { "\(origin.url("/images/\($0).jpg"))?\(long)\n" }.joined()
    let options = ["--order", "lifo", "--set", "manifests=[{path: '-'}]"]
    let result = try await job.startJob(options, input: .bytes(Array(lines.utf8))).wait()
    #expect(result.status == 1, "\(result.errorText)")
    expectGolden(result.errorText)
    let later = try await job.runJob("--cache-mode only")
    #expect(later.status == 0 && later.totals["hit_disk"] == 5)
    // The spool is gone.
    let left = try FileManager.default.contentsOfDirectory(atPath: mount.directory.path)
    #expect(left == ["default"], "\(left)")
  }

  @Test(arguments: [(20_000, "200kB"), (300_000, "3MB")])
  func `trim and clear free space on a full disk`(padding: Int, size: String) async throws {
    let mount = try TemporaryMount(byteCount: 24 << 20)
    origin.setFallback { number(of: $0).map { .jpeg($0, padding: padding) } ?? .status(404) }
    let urls = imageURLs(origin, 0..<40) + [origin.url("/gone.jpg")]
    let job = try await JobFolder.warmed(urls: urls, keys: "cache: {directory: \(mount.directory.path)}")
    // Without free pages in the index, each change needs room.
    #expect(try await job.prewarm("cache compact --job job.yaml").status == 0)
    mount.fill()
    #expect(mount.freeByteCount == 0)

    let trim = try await job.prewarm("cache trim --job job.yaml --max-size", size)
    #expect(trim.status == 0 && mount.freeByteCount > 0, "\(trim.errorText)")
    let left = try await job.expectTrueTotals("--job", "job.yaml")
    #expect((1..<40).contains(left.count))
    let verified = try await job.prewarm("cache verify --keep --job job.yaml")
    #expect(verified.status == 0, "\(verified.errorText)")

    mount.fill()
    let clear = try await job.prewarm("cache clear --job job.yaml")
    #expect(clear.status == 0 && mount.freeByteCount > 0, "\(clear.errorText)")
    let cleared = try await job.statistics("--job", "job.yaml")
    #expect(cleared.entries == 0 && cleared.bodyBytes == 0 && cleared.blacklistEntries == 1)
  }

  @Test func `clear replaces an index without free pages on a full disk, and keeps the blacklist`() async throws {
    let mount = try TemporaryMount(byteCount: 4 << 20)
    let urls = imageURLs(origin, 0..<20) + [origin.url("/gone.jpg")]
    let job = try await JobFolder.warmed(urls: urls, keys: "cache: {directory: \(mount.directory.path)}")
    #expect(try await job.prewarm("cache compact --job job.yaml").status == 0)
    mount.fill()
    let clear = try await job.prewarm("cache clear --job job.yaml")
    #expect(clear.status == 0 && clear.outputText.contains("20 entries"), "\(clear.errorText)")
    let cleared = try await job.statistics("--job", "job.yaml")
    #expect(cleared.entries == 0 && cleared.blacklistEntries == 1)
    let again = try await job.runJob()
    #expect(again.totals["urls"] == 21 && again.totals["blacklisted"] == 1)
  }
}
