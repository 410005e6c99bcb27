import Foundation
import TestOrigin
import TestSupport
import Testing

/// A job that a plan divides.
@Suite struct ShardPlanTests {
  private let origin = makeImageOrigin()

  /// A plan of the job in `plan`, with its file as JSON.
  private func plan(_ job: JobFolder, _ options: String...) async throws -> [String: any Sendable] {
    let result = try await job.start(["shards", "plan", "job.yaml", "--output", "plan"] + options).wait()
    try #require(result.status == 0, "\(result.errorText)")
    return try job.json("plan/plan.json")
  }

  private func sizes(_ plan: [String: any Sendable]) -> [Int] {
    (plan["shards"] as? [[String: Int]])?.compactMap { $0["entries"] } ?? []
  }

  private func totals(_ shard: Int, in job: JobFolder) throws -> [String: Int] {
    try #require(try job.json("plan/done/\(shard).json")["totals"] as? [String: Int])
  }

  /// The entries of hosts, the options, and the sizes of shards.
  static let packings: [(hosts: [Int], options: [String], sizes: [Int])] = [
    ([10, 6, 5, 4, 3, 2], ["--shards", "3"], [10, 11, 9]),
    ([10, 6, 5, 4, 3, 2], ["--entries", "15"], [16, 14]),
    ([40, 1, 1, 1], ["--shards", "2"], [40, 3]),
    ([5, 5], ["--shards", "64"], [5, 5]),
    ([9], ["--shards", "3"], [9]),
    ([], ["--shards", "3"], [0]),
    // The host that takes longest comes first, whatever the size of its shard.
    ([30, 4, 4, 4, 4, 4, 4, 4, 4], ["--shards", "2"], [30, 32]),
  ]

  @Test(arguments: packings) func `hosts are packed, the largest first, and stay whole`(
    hosts: [Int],
    options: [String],
    sizes expected: [Int]
  ) async throws {
    let urls = hosts.enumerated().flatMap { host, count in (0..<count).map { "https://h\(host).example/\($0).jpg" } }
    let job = JobFolder(urls: urls, keys: "fail-on: {empty: false}")
    let result = try await job.start(["shards", "plan", "job.yaml", "--output", "plan"] + options).wait()
    #expect(result.status == 0)
    expectGolden(result.errorText, for: "\(hosts) \(options.joined(separator: " "))")
    #expect(sizes(try job.json("plan/plan.json")) == expected)
    var shards: [Substring: Int] = [:]
    var found: [Substring] = []
    for shard in 1...expected.count {
      let rows = try await Command("/bin/gzip", ["-dc", job.folder.file("plan/entries/\(shard).tsv.gz")]).wait().outputText
      let lines = rows.split(separator: "\n").dropFirst()
      #expect(lines.count == expected[shard - 1])
      for line in lines {
        let url = line.split(separator: "\t")[0]
        found.append(url)
        let host = url.split(separator: "/")[1]
        #expect(shards.updateValue(shard, forKey: host) ?? shard == shard)
      }
    }
    #expect(found.map(String.init).sorted() == urls.sorted())
  }

  @Test func `a large host is named with its time, and hosts that can't fill the concurrency`() async throws {
    let urls = (0..<200).map { "https://large.example/\($0).jpg" } + (0..<20).map { "https://h\($0).example/a.jpg" }
    let job = JobFolder(urls: urls, keys: "prefetch: {per-host-rate: 2/s, per-host: 2}")
    try await job.expectTranscript("shards plan job.yaml --shards 8 --output plan")
  }

  @Test func `entries keep list, line, priority, identifier, expectation and credentials, and lists aren't read again`()
    async throws
  {
    let url = { (path: String) in origin.url(path).replacing("//", with: "//me:secret@", maxReplacements: 1) }
    let job = JobFolder("manifests: [{path: a.csv, priority: high, exclude: [\"*7.jpg\"]}, {path: b.txt}]")
    job.folder.write(
      "id,url,width\nsku 1,\(url("/images/1.jpg")),16\nsku 2,\(url("/images/2.jpg")),99\n,\(url("/images/7.jpg")),\n",
      to: "a.csv"
    )
    job.folder.write("\(origin.url("/images/3.jpg"))\nno url here\n\(origin.url("/images/9.jpg"))\n", to: "b.txt")
    let whole = try await job.runJob("--cache-directory whole")
    _ = try await plan(job, "--shards", "2", "--by", "url")
    for list in ["a.csv", "b.txt"] { try FileManager.default.removeItem(atPath: job.folder.file(list)) }
    for shard in 1...2 {
      let run = try await job.prewarm("shards run plan \(shard) --cache-directory cache-\(shard)")
      #expect(run.status == 0 && !run.outputText.contains("secret"), "\(run.outputText)\(run.errorText)")
    }
    let merged = try await job.prewarm("shards merge plan --report jsonl=rows.jsonl --report json=report.json")
    #expect(merged.status == 2, "\(merged.errorText)")
    let run = try job.finishedRun(merged)
    func rows(_ run: Run) -> [String] {
      run.rows.map { "\($0.manifest):\($0.line ?? 0) \($0.url) \($0.priority) \($0.outcome) \($0.message ?? "")" }.sorted()
    }
    #expect(rows(run) == rows(whole))
    let text = job.folder.text("rows.jsonl")
    #expect(text.contains("sku 1") && !text.contains("secret"))
  }

  @Test func `fetched lists are requested once, and a plan of a list that can't be fetched is none`() async throws {
    origin.set("/list.txt", .text(imageURLs(origin, 0..<6).joined(separator: "\n"), type: "text/plain"))
    let job = JobFolder("manifests: [{url: \"\(origin.url("/list.txt"))\"}]")
    _ = try await plan(job, "--shards", "3", "--by", "url")
    for shard in 1...3 { #expect(try await job.prewarm("shards run plan \(shard)").status == 0) }
    #expect(origin.requests.count { $0.path == "/list.txt" } == 1 && origin.requests.count == 7)
    #expect(try await job.prewarm("shards merge plan").status == 0)
    origin.set("/list.txt", .status(404))
    try await job.expectTranscript("shards plan job.yaml --shards 3 --output other")
    #expect(job.folder.read("other/plan.json") == nil)
  }

  @Test func `a shard that is done isn't run again, and its status is 0 whatever its images`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<5) + [origin.url("/missing.jpg")])
    _ = try await plan(job, "--shards", "1")
    #expect(try await job.prewarm("shards run plan 1").status == 0)
    let requests = origin.requests.count
    try await job.expectTranscript("shards run plan 1")
    #expect(origin.requests.count == requests)
    #expect(try await job.prewarm("shards merge plan").status == 2)
  }

  @Test func `a killed shard's retry reports what the shard did, not hits of its own`() async throws {
    let gate = origin.holdAll()
    let urls = (0..<30).map { $0.isMultiple(of: 3) ? origin.url("/missing/\($0).jpg") : origin.url("/images/\($0).jpg") }
    let job = JobFolder(urls: urls, keys: "prefetch: {concurrency: 4, per-host: 4}\nrequest: {timeout: 10m, stall-timeout: 10m}")
    _ = try await plan(job, "--shards", "1")
    let first = try job.start(["shards", "run", "plan", "1"])
    try await gate.waitForWaiting(4)
    gate.step(20)
    // Most of them are committed; the rest is requested again.
    var cached = 0
    for _ in 0..<500 where cached < 8 { cached = try await job.prewarm("cache list").outputText.split(separator: "\n").count }
    first.kill()
    _ = try await first.wait()
    #expect(job.folder.read("plan/done/1.json") == nil && job.folder.read("plan/done/1.jsonl") == nil)
    gate.open()
    let second = try await job.prewarm("shards run plan 1")
    #expect(second.status == 0, "\(second.errorText)")
    let totals = try totals(1, in: job)
    #expect(
      totals["downloaded"] == 20 && totals["failed"] == 10 && totals["hit_disk"] == 0 && totals["blacklisted"] == 0,
      "\(totals)"
    )
    #expect(origin.requests.count < 50)
  }

  @Test func `a shard ends when the process that started it is killed`() async throws {
    let gate = origin.holdAll()
    let job = JobFolder(urls: imageURLs(origin, 0..<4), keys: "request: {timeout: 10m, stall-timeout: 10m}")
    _ = try await plan(job, "--shards", "1")
    let script = "'\(BuiltCommand.path)' shards run plan 1 --exit-with-parent & echo $! >&2; wait"
    let shell = try job.start(["-c", script], of: "/bin/sh")
    try await gate.waitForWaiting(4)
    let child = try #require(pid_t(shell.errorText.prefix { $0.isNumber }))
    #expect(kill(child, 0) == 0)
    shell.kill()
    // It ends when nothing has its output open, the shard included.
    _ = try await shell.wait()
    // A parent that had ended before the shard began.
    let ended = ["PREWARM_PARENT": "\(shell.processID)"]
    let late = try await job.prewarm("shards run plan 1 --exit-with-parent", environment: ended)
    #expect(late.status == 1 && origin.requests.count == 4)
  }

  @Test func `a shard's status says whether to stop or to try again`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<3))
    _ = try await plan(job, "--shards", "1")
    job.folder.write("", to: "file")
    try await job.expectTranscript(
      "shards run plan 2",
      "shards run plan x",
      "shards run plan auto",
      "shards run plan 1 --set fail-on.failures=7",
      "shards run plan 1 --cache-directory file/cache",
      "shards plan job.yaml --shards 2 --output plan",
      "shards merge plan",
      "shards status plan"
    )
    let cut = "cd plan/entries && gzip -dc 1.tsv.gz | head -3 | gzip > cut && mv cut 1.tsv.gz"
    _ = try await Command("/bin/sh", ["-c", cut], workingDirectory: job.folder.path).wait()
    try await job.expectTranscript("shards run plan 1", for: "cut entries")
    #expect(job.folder.read("plan/done/1.json") == nil)
    let requests = origin.requests.count
    job.folder.write(job.folder.text("plan/job.yaml") + "prefetch: {per-host: 50}\n", to: "plan/job.yaml")
    try await job.expectTranscript("shards run plan 1", for: "changed")
    #expect(origin.requests.count == requests)
  }

  @Test func `tasks of arrays run the shard of their number, and further ones nothing`() async throws {
    let origin = makeImageOrigin(hosts: 2)
    let job = JobFolder(urls: imageURLs(origin, 0..<4) + imageURLs(origin, 0..<2, host: 1))
    _ = try await plan(job, "--shards", "2")
    let tasks: [([String: String], Int?)] = [
      (["JOB_COMPLETION_INDEX": "0"], 1), (["SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_MIN": "2"], 2),
      (["AWS_BATCH_JOB_ARRAY_INDEX": "7", "AWS_BATCH_JOB_ARRAY_SIZE": "8"], nil),
    ]
    for (variables, shard) in tasks {
      let run = try await job.prewarm("shards run plan auto", environment: variables.mapValues { $0 })
      #expect(run.status == 0, "\(run.errorText)")
      if let shard { #expect(job.folder.read("plan/done/\(shard).json") != nil) } else { expectGolden(run.errorText) }
    }
    #expect(try await job.prewarm("shards merge plan").status == 0)
  }

  @Test func `a merge names missing, foreign and cut reports, and counts what is outstanding`() async throws {
    let origin = makeImageOrigin(hosts: 3)
    let job = JobFolder(urls: (0..<3).flatMap { imageURLs(origin, 0..<(4 + $0), host: $0) })
    _ = try await plan(job, "--shards", "3")
    for shard in 1...3 { #expect(try await job.prewarm("shards run plan \(shard) -q").status == 0) }
    #expect(try await job.prewarm("shards merge plan").status == 0)
    let report = job.folder.text("plan/done/2.json")
    let totals = try #require(report.firstRange(of: ": {\"urls\""))
    let cases: [(String, String?)] = [
      ("missing", nil), ("cut", String(report[..<totals.lowerBound])), ("empty", ""),
      ("other plan", report.replacing(#/"fingerprint": ?"[0-9a-f]{16}"/#, with: #""fingerprint":"00000000000000ff""#)),
    ]
    for (name, text) in cases {
      if let text { job.folder.write(text, to: "plan/done/2.json") } else { unlink(job.folder.file("plan/done/2.json")) }
      let merged = try await job.prewarm("shards merge plan --report json=all.json")
      #expect(merged.status == 1)
      expectGolden(merged.errorText, for: name)
      #expect(try job.json("all.json")["outstanding"] as? Int == 5)
      let status = try await job.prewarm("shards status plan").outputText
      expectGolden(status.replacing(#/about .* with/#, with: "about TIME with"), for: name)
    }
    try await job.expectTranscript("shards merge plan --report json=plan/done/1.json", for: "overwrite")
  }

  @Test func `a merge writes the reports of the job, unless options name others`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<2), keys: "report: [{text: \"-\"}, {csv: rows.csv}]")
    _ = try await plan(job, "--shards", "1")
    #expect(try await job.prewarm("shards run plan 1").status == 0)
    #expect(job.folder.read("rows.csv") == nil)
    #expect(try await job.prewarm("shards merge plan --report markdown=all.md").status == 0)
    #expect(job.folder.read("rows.csv") == nil && job.folder.read("all.md") != nil)
    #expect(try await job.prewarm("shards merge plan").status == 0)
    #expect(job.folder.read("rows.csv").map { $0.count { $0 == UInt8(ascii: "\n") } } == 3)
  }
}
