import Foundation
import TestOrigin
import TestSupport
import Testing

/// Faults of this machine: they say nothing about a URL, come first, end with status 1, and aren't remembered.
@Suite struct MachineFaultTests {
  @Test(
    .enabled(if: TemporaryMount.isAllowed, "needs the right to mount")
  )
  func `on a full disk each night exits with 1 and says so first, whatever the baseline, and requests no more than it began`()
    async throws
  {
    let mount = try TemporaryMount(byteCount: 1 << 20)
    let origin = try makeImageOrigin()
    origin.setFallback { request in
      let number = Int(request.path.dropFirst("/images/".count).prefix { $0 != "." }) ?? 0
      return .body(SampleImages.jpeg(number, padding: 100_000), type: "image/jpeg")
    }
    let keys = "cache: {directory: \(mount.directory.path)}\nprefetch: {concurrency: 4}\nreport: [{text: '-'}]"
    let job = JobFolder(urls: imageURLs(origin, 0..<200), keys: keys)
    let sentence = "no space left for the cache at \(mount.directory.path)"
    for night in 0..<3 {
      let options = night == 0 ? [] : ["--fail-on", "baseline=last.jsonl", "--fail-on", "known=never"]
      let run = try job.finishedRun(try await job.startJob(options).wait())
      #expect(run.status == 1 && run.failuresByKind.isEmpty, "\(run.result.errorText)")
      #expect(run.result.outputText.hasPrefix("test  FAILED  \(sentence)"), "\(run.result.outputText)")
      #expect(run.totals["failed"] == 0 && (run.totals["cancelled"] ?? 0) > 0)
      #expect(run.section("standings")["known"] as? Int == 0 && run.section("standings")["counting"] as? Int == 0)
      #expect(run.rows("cancelled").contains { $0.message?.hasPrefix(sentence) == true })
      #expect(origin.requests.count < 100 * (night + 1))
      job.folder.write(try #require(job.folder.read("rows.jsonl")), to: "last.jsonl")
    }
    #expect(try await job.prewarm("blacklist", "list", "--job", "job.yaml").output.isEmpty)
    let shown = try await job.prewarm("report", "merge", "last.jsonl")
    #expect(shown.status == 1 && shown.outputText.contains(sentence), "\(shown.outputText)")
  }

  @Test(arguments: ["cache-write", "internal"])
  func `a baseline doesn't know URLs whose images couldn't be written`(kind: String) async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: [origin.url("/gone.jpg")], keys: "fail-on: {known: never}")
    for outcome in ["failed", "cancelled"] {
      let row = #"{"url":"\#(origin.url("/gone.jpg"))","manifest":"urls.txt","line":1,"priority":"normal","#
      job.folder.write(row + #""outcome":"\#(outcome)","kind":"\#(kind)","message":"no space"}"# + "\n", to: "last.jsonl")
      let run = try await job.runJob("--fail-on", "baseline=last.jsonl")
      #expect(run.status == 2 && run.section("standings")["counting"] as? Int == 1, "\(outcome)")
    }
  }

  @Test(
    .enabled(if: isolates, "needs the right to unshare")
  )
  func `without a network the run stops, says so first, and exits with 1`() async throws {
    let job = JobFolder(urls: (0..<500).map { "http://shop\($0).example/\($0).jpg" })
    for arguments in [["check", "urls.txt"], ["run", "job.yaml"]] {
      let command = try Command(
        "/usr/bin/unshare",
        ["-rn", BuiltCommand.path] + arguments + ["--set", "request.retries=0"],
        environment: job.environment,
        workingDirectory: job.folder.path
      )
      let result = try await command.wait()
      #expect(result.status == 1, "\(result.outputText)")
      let text = result.outputText
      #expect(text.contains("FAILED  this machine has no network") && !text.contains(" bad"), "\(text)")
    }
  }

  @Test func `if no name server answers, the run exits with 1; if one host responds or a name doesn't exist, with 2`()
    async throws
  {
    let origin = try makeImageOrigin()
    let (down, good) = (["a.down", "b.down", "c.broken", "d.down"].map { "http://\($0)/0.jpg" }, imageURLs(origin, 0..<1))
    let cases = [
      (down, 1), (Array(down.prefix(1)), 1), (down + good, 2), (["http://a.none/0.jpg"], 2), (["http://a.invalid/0.jpg"], 2),
    ]
    for (urls, status) in cases {
      let job = JobFolder(urls: urls, keys: "request: {retries: 0}\nreport: [{text: '-'}]")
      let result = try await job.startPreloaded(.resolver, []).wait()
      #expect(result.status == status, "\(result.outputText)")
      #expect(result.outputText.contains("FAILED  no name could be resolved, such as") == (status == 1), "\(result.outputText)")
    }
  }

  private static let isolates =
    (try? Command("/usr/bin/unshare", ["-rn", "/bin/true"]).wait().status) == 0

  @Test(arguments: [404, 403, 500])
  func `a source that can't be read exits with 1, whatever the baseline`(status: Int) async throws {
    let origin = try makeImageOrigin()
    origin.setFallback { _ in .status(status) }
    let job = JobFolder(urls: [])
    for source in ["/", "/page", "/page.html", "/sitemap.xml", "/urls.txt", "/feed"] {
      let arguments = ["check", origin.url(source), "--set", "request.retries=0", "-o", "rows.jsonl"]
      for options in [[], ["--fail-on", "baseline=rows.jsonl"]] {
        let result = try await job.start(arguments.dropLast(options.isEmpty ? 0 : 2) + options).wait()
        #expect(result.status == 1, "\(source): \(result.outputText)")
        #expect(result.errorText.contains("cannot fetch it: the server responded with \(status)"), "\(result.errorText)")
      }
    }
    // An image isn't a source.
    #expect(try await job.prewarm("check", origin.url("/a.jpg"), "--set", "request.retries=0").status == 2)
  }
}
