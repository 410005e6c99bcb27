import Foundation
import TestOrigin
import TestSupport
import Testing

/// A job in shards, each run by its own process.
@Suite struct ShardRunTests {
  private let origin = makeImageOrigin()
  private let recipes = "\(Repository.path)/scripts/recipes"

  /// Images, some of them missing, broken or filtered out, and invalid URLs.
  private func makeURLs(_ origin: Origin) -> [String] {
    for number in 0..<6 { origin.set("/broken/\(number).jpg", .text("no image \(number)", type: "image/jpeg")) }
    let good = (0..<3).flatMap { imageURLs(origin, $0 * 20..<($0 + 1) * 20, host: $0) }
    let bad = (0..<9).map { origin.url("/missing/\($0).jpg", host: $0 % 3) } + (0..<6).map { origin.url("/broken/\($0).jpg") }
    let filtered = (0..<8).map { origin.url("/filtered/\($0).jpg") }
    return good + bad + ["no url", "ftp://a.example/"] + filtered
  }

  private func makeJob(_ origin: Origin, _ keys: String = "") -> JobFolder {
    let manifest = "manifests: [{path: urls.txt, exclude: [\"/filtered/*\"]}]"
    let job = JobFolder("\(manifest)\nblacklist: {enabled: false}\nrequest: {retries: 0}\n\(keys)")
    job.write(urls: makeURLs(origin))
    return job
  }

  /// The parts of a report that don't depend on how its job is run.
  private func counts(_ path: String, in job: JobFolder) throws -> [String: String] {
    let report = try job.json(path)
    func text(_ value: Any) throws -> String {
      String(decoding: try JSONSerialization.data(withJSONObject: ["": value], options: [.sortedKeys]), as: UTF8.self)
    }
    var counts: [String: String] = [:]
    for key in ["totals", "failures_by_kind", "failures_by_status", "formats", "manifests", "standings", "exit_status", "empty"] {
      counts[key] = try text(try #require(report[key]))
    }
    let identity = try #require(report["job"] as? [String: Any])
    counts["job"] = "\(identity["name"] ?? "") \(identity["digest"] ?? "") \(identity["shard"] ?? "")"
    let failures = try #require(report["failures"] as? [[String: Any]])
    counts["failures"] = "\(failures.map { "\($0["url"] ?? "") \($0["kind"] ?? "") \($0["line"] ?? "")" }.sorted())"
    let hosts = try #require(report["hosts"] as? [[String: Any]])
    counts["hosts"] =
      "\(hosts.map { host in ["host", "urls", "hits", "downloaded", "failed", "bytes"].map { "\(host[$0] ?? "")" } })"
    counts["attempts"] = "\((report["attempts"] as? [String: Any])?["total"] ?? "")"
    counts["bytes"] = try text(try #require(report["bytes"]))
    return counts
  }

  private func expectEqualCounts(in job: JobFolder) throws {
    let (all, whole) = (try counts("plan/all.json", in: job), try counts("whole.json", in: job))
    let difference = all.filter { whole[$0.key] != $0.value }.map { "\($0.key): \($0.value) | \(whole[$0.key] ?? "")" }
    #expect(difference == [], "\(difference.joined(separator: "\n"))")
  }

  @Test(arguments: ["url", "host"])
  func `the shards of a plan by GNU parallel merge into one run of the whole job`(rule: String) async throws {
    let origin = makeImageOrigin(hosts: 3)
    let job = makeJob(origin)
    let whole = try await job.prewarm("run job.yaml --cache-directory whole --report json=whole.json")
    #expect(whole.status == 2, "\(whole.errorText)")

    let planned = try await job.prewarm("shards plan job.yaml --shards 5 --by", rule, "--output", "plan")
    let count = rule == "host" ? 3 : 5
    #expect(planned.status == 0 && planned.errorText.contains("in \(count) shards"), "\(planned.errorText)")
    let path = "\(BuiltCommand.path.dropLast("/prewarm".count)):/usr/bin:/bin"
    let arguments = ["job.yaml", "5", "2", "plan", "--cache-directory", "shards"]
    let environment = ["PATH": path, "HOME": job.folder.path]
    let merged = try await job.start(arguments, of: "\(recipes)/shards-parallel", environment: environment).wait()
    #expect(merged.status == 2 && merged.outputText.contains(" URLs are bad"), "\(merged.outputText)\(merged.errorText)")
    try expectEqualCounts(in: job)
    // Each shard ran its own entries only.
    var latencies = 0
    let totals = try (1...count).map { index -> Int in
      let object = try job.json("plan/done/\(index).json")
      let shard = try #require((object["job"] as? [String: Any])?["shard"] as? [String: Any])
      #expect(shard["index"] as? Int == index && shard["count"] as? Int == count && shard["by"] as? String == rule)
      latencies += try #require((object["latency_ms"] as? [String: Any])?["count"] as? Int)
      return try #require((object["totals"] as? [String: Int])?["urls"])
    }
    #expect(totals.reduce(0, +) == 85 && totals.count { $0 < 85 } == count)
    for path in ["plan/all.json", "whole.json"] {
      #expect((try job.json(path)["latency_ms"] as? [String: Any])?["count"] as? Int == latencies)
    }
  }

  /// Runs the commands of sbatch(1) at once, with the variables that it sets.
  private static let sbatch = """
    #!/bin/bash
    for argument; do [[ $argument == --array=* ]] && array=${argument#--array=} array=${array%%%*}; done
    script=$(cat)
    export SLURM_ARRAY_TASK_MIN=${array%-*} SLURM_ARRAY_TASK_MAX=${array#*-}
    export SLURM_ARRAY_TASK_STEP=1 SLURM_ARRAY_TASK_COUNT=${array#*-}
    for ((task = SLURM_ARRAY_TASK_MIN; task <= SLURM_ARRAY_TASK_MAX; task++)); do
      SLURM_ARRAY_TASK_ID=$task SLURM_ARRAY_JOB_ID=4711 bash -c "$script" >&2
    done

    """

  @Test func `the tasks of a Slurm array with separate caches merge into one run of the whole job`() async throws {
    let origin = makeImageOrigin(hosts: 3)
    let job = makeJob(origin)
    #expect(try await job.prewarm("run job.yaml --cache-directory whole --report json=whole.json").status == 2)
    job.folder.write(Self.sbatch, to: "bin/sbatch")
    #expect(chmod(job.folder.file("bin/sbatch"), 0o755) == 0)
    let path = "\(job.folder.file("bin")):\(BuiltCommand.path.dropLast("/prewarm".count)):/usr/bin:/bin"
    let environment = ["PATH": path, "SLURM_TMPDIR": job.folder.path]
    let merged = try await job.start(["job.yaml", "4", "2", "plan"], of: "\(recipes)/shards-slurm", environment: environment)
      .wait()
    #expect(merged.status == 2 && merged.outputText.contains(" URLs are bad"), "\(merged.outputText)\(merged.errorText)")
    try expectEqualCounts(in: job)
  }

  @Test func `a merge exits with 1 if a shard is missing, duplicate or empty, and reports the others`() async throws {
    let job = JobFolder(urls: JobFolder.images(0..<12), keys: JobFolder.connect(to: origin))
    for index in 1...3 {
      try await job.expectTranscript(
        "run job.yaml --shard \(index)/3 --report json=\(index).json --report jsonl=\(index).jsonl",
        for: "run"
      )
    }
    job.folder.write("", to: "empty.json")
    job.folder.write(job.folder.text("1.jsonl") + job.folder.text("2.jsonl"), to: "both.jsonl")
    job.folder.write(job.folder.text("3.jsonl").split(separator: "\n").dropLast().map { "\($0)\n" }.joined(), to: "cut.jsonl")
    for files in [
      "1.json 3.json 2.json", "1.jsonl 2.jsonl 3.jsonl", "3.json both.jsonl", "1.json 3.json", "1.json 2.json 3.json 2.json",
      "1.json 2.json empty.json", "1.json 2.json 4.json", "1.jsonl 3.jsonl", "1.json 3.jsonl", "1.jsonl 2.json cut.jsonl",
      // None of the inputs is overwritten.
      "both.jsonl 2.jsonl", "1.json 2.json empty.json --report json=1.json",
      "1.json 2.json empty.json --report json=./empty.json",
    ] {
      try await job.expectTranscript("report merge \(files)", for: files)
    }
    // A merged report is a report of the whole job.
    #expect(try await job.prewarm("report merge both.jsonl 2.jsonl --report json=merged.json").status == 1)
    expectGolden(job.folder.text("merged.json").lines(with: #""breakage""#), for: "breakage")
    try await job.expectTranscript("report show merged.json", for: "shown")
  }

  @Test func `a merge exits with 1 if a list changed between two shards' runs`() async throws {
    let job = JobFolder(urls: JobFolder.images(0..<30), keys: JobFolder.connect(to: origin))
    #expect(try await job.prewarm("run job.yaml --shard 1/2 --report json=1.json").status == 0)
    for (urls, status) in [(JobFolder.images(0..<30).reversed(), 0), (JobFolder.images(0..<20), 1)] {
      job.write(urls: urls)
      #expect(try await job.prewarm("run job.yaml --shard 2/2 --report json=2.json").status == 0)
      try await job.expectTranscript("report merge 1.json 2.json", for: "\(status)")
    }
  }

  @Test func `an empty shard is fine, and an empty job is empty in all of them`() async throws {
    let job = JobFolder(urls: JobFolder.images(0..<1), keys: JobFolder.connect(to: origin))
    for index in 1...4 { #expect(try await job.prewarm("run job.yaml --shard \(index)/4").status == 0) }
    #expect(origin.requests.count == 1)
    job.write(urls: [])
    try await job.expectTranscript("run job.yaml --shard 2/4")
  }

  @Test func `check supports shards too`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<6))
    for index in 1...2 { #expect(try await job.prewarm("check urls.txt --shard \(index)/2").status == 0) }
    #expect(origin.requests.count == 6)
  }
}

/// Merged caches of shards.
@Suite struct ShardCacheTests {
  private let origin = makeImageOrigin()

  private struct Row: Decodable {
    let importedEntries: Int
    let blacklistedUrls: Int
    let notNewerEntries: Int
  }

  @Test func `the caches of three shards merge into one with every image, validator and blacklisted URL`() async throws {
    let bad = (0..<6).map { origin.url("/missing/\($0).jpg") }
    let job = JobFolder(urls: imageURLs(origin, 0..<30) + bad)
    for index in 1...3 { _ = try await job.runJob("--shard \(index)/3 --cache-directory shard-\(index)") }
    #expect(origin.requests.count == 36)

    var (images, blacklisted) = (0, 0)
    for index in 1...3 {
      let row: Row = try await job.prewarm("cache import shard-\(index) --json").row()
      images += row.importedEntries
      blacklisted += row.blacklistedUrls
      // Repeated, as after an interruption, it finds all images there.
      let again: Row = try await job.prewarm("cache import shard-\(index) --json").row()
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
    let url = origin.url("/changing.jpg")
    origin.set("/changing.jpg", .sequence([.status(404), .jpeg(1), .status(410)]))
    let job = JobFolder(urls: [url])
    for name in ["failed", "good", "failed-again"] { _ = try await job.runJob("--cache-directory", name) }
    for name in ["failed", "good", "failed"] { #expect(try await job.prewarm("cache import", name).status == 0) }
    #expect(try await job.statistics().blacklistEntries == 0)
    let text = try await job.prewarm("cache import failed-again good")
    expectGolden(text.outputText)
    #expect(try await job.statistics().blacklistEntries == 1)
    #expect(try await job.prewarm("blacklist list").outputText.contains("http-status 410"))
  }
}
