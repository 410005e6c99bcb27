import Foundation
import TestOrigin
import TestSupport
import Testing

/// `kill -9` at random moments, all with one cache.
///
/// The moment is when nginx has responded to a random number of the run's requests or, every second time, when the run
/// has written a random number of rows. Each round requests many new URLs; the cache has a limit, so that rounds also
/// trim earlier images, and kills may hit that, too.
@Suite(.serialized) struct KillSoakTests {
  @Test func `after a kill reported images exist, totals are correct, and the files don't grow without limit`() async throws {
    var random = SeededRandom(seed: SoakCounts.seed)
    let images = try await ImagesToKill(count: SoakCounts.images)
    let job = images.makeJob()
    // Listing a large cache takes longer than the round itself.
    let countingInterval = max(1, SoakCounts.images / 1000, SoakCounts.kills / 100)
    var killed = 0
    var reported = 0
    var largestIndexBytes = 0
    for round in 0..<SoakCounts.kills {
      let urls = try await killedRun(job, images, round, &random, &killed)
      reported += urls.count
      try await expectHits(job, urls, round)
      let statistics = try await job.statistics()
      #expect(statistics.bodyBytes <= images.maximumCacheBytes * 11 / 10 + images.bytes)
      largestIndexBytes = max(largestIndexBytes, try job.indexDiskBytes())
      if round % countingInterval == 0 {
        try await expectToGoOn(job, images, round, stored: Set(try await job.expectTrueTotals().map(\.url)))
      }
    }
    let comment: Comment = "seed \(SoakCounts.seed)"
    #expect(SoakCounts.isLong ? killed > SoakCounts.kills / 2 : killed == SoakCounts.kills, comment)
    #expect(reported > 0, comment)
    // Records and free pages need space; the next run reuses pages freed by a kill.
    #expect(largestIndexBytes < 2 * images.maximumCacheBytes + 4 << 20, comment)
    try await expectNoOrphans(job, images)
  }

  /// Starts a run, kills it, and returns the URLs of the complete rows with `downloaded`.
  private func killedRun(
    _ job: JobFolder,
    _ images: ImagesToKill,
    _ round: Int,
    _ random: inout SeededRandom,
    _ killed: inout Int
  ) async throws -> [String] {
    // A URL without a response keeps a short run from ending before it is killed.
    let held = SoakCounts.isLong ? [] : [images.silent.url("/silent.jpg")]
    job.write(urls: images.urls(round: round) + held, to: images.manifestPath)
    let answered = images.nginx.requestCount
    let moment = Int.random(in: 1..<images.newURLsEachRound, using: &random)
    let threads = [1, 2, 8][round % 3]
    let command = try job.start(
      ["run", "job.yaml", "--progress", "none", "--set", "report=[{jsonl: '-'}]", "--set", "prefetch.threads=\(threads)"]
    )
    if round % 2 == 0 {
      try await images.nginx.waitForRequests(answered + moment)
    } else {
      try await command.waitForOutputLines(moment)
    }
    command.kill()
    let result = try await command.wait()
    if result.ending == .signalled(SIGKILL) { killed += 1 }
    // Text after the last newline is a row truncated by the kill.
    let lines = result.output.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return try lines.dropLast().map { try JSONDecoder().decode(Run.Row.self, from: Data($0)) }
      .filter { $0.outcome == "downloaded" }.map(\.url)
  }

  private func expectHits(_ job: JobFolder, _ urls: [String], _ round: Int) async throws {
    if urls.isEmpty { return }
    job.write(urls: urls, to: "reported.txt")
    let result = try await job.prewarm("run reported.yaml --cache-mode only --report json=report.json")
    let run = try job.finishedRun(result)
    #expect(run.totals["hit_disk"] == urls.count, "round \(round), seed \(SoakCounts.seed)")
  }

  /// Runs the killed run's job to its end, which requests only uncommitted images.
  private func expectToGoOn(_ job: JobFolder, _ images: ImagesToKill, _ round: Int, stored: Set<String>) async throws {
    let urls = images.urls(round: round)
    let missing = Set(urls).subtracting(stored).count
    job.write(urls: urls, to: images.manifestPath)
    let run = try await job.runJob()
    let comment: Comment = "round \(round), seed \(SoakCounts.seed): \(missing) missing, \(run.totals)"
    #expect(run.status == 0 && run.totals["downloaded"] == missing && run.sumOfTotals == urls.count, comment)
    #expect(run.section("attempts")["total"] as? Int == missing, comment)
  }

  /// A complete run resumes after the last kill; then trims gradually remove everything that the kills left behind.
  private func expectNoOrphans(_ job: JobFolder, _ images: ImagesToKill) async throws {
    job.write(urls: images.urls(round: SoakCounts.kills - 1), to: images.manifestPath)
    let run = try await job.runJob()
    #expect(run.status == 0 && run.sumOfTotals == images.paths.count, "\(run.result.outputText)\(run.result.errorText)")
    let blobs = try await job.expectTrueTotals().count { $0.isBlob }
    #expect(blobs > 0)
    for _ in 0..<400 where try job.blobFiles().count > blobs {
      #expect(try await job.prewarm("cache trim --job job.yaml").status == 0)
    }
    #expect(try job.blobFiles().count == blobs)
    #expect(try FileManager.default.contentsOfDirectory(atPath: job.cacheDirectory + "/default/blobs/tmp").isEmpty)
  }
}

/// Images behind nginx; many have new URLs each round.
private struct ImagesToKill {
  let nginx: Nginx
  /// Accepts requests, but never responds.
  let silent: Origin
  /// Rows are written in pieces of 64 KiB. They contain the path of their manifest, so a long path makes pieces of few
  /// rows.
  let manifestPath: String
  let paths: [String]
  /// The bytes of all images.
  let bytes: Int
  private let folder = TemporaryDirectory()

  init(count: Int) async throws {
    manifestPath = String(repeating: String(repeating: "long-", count: 40) + "/", count: count < 1000 ? 15 : 1) + "urls.txt"
    let padding = 1000
    let large = 280_000
    var paths = SampleImages.writeTree(count, in: folder, padding: padding)
    var bytes = count * (SampleImages.baseJPEG.count + padding)
    let step = max(20, count / 100)
    for number in stride(from: 0, to: count, by: step) {
      folder.write(SampleImages.jpeg(number, padding: large), to: paths[number])
      bytes += large
    }
    // In another order, the large ones come at any moment of a run.
    var random = SeededRandom(seed: SoakCounts.seed)
    paths.shuffle(using: &random)
    self.paths = paths
    self.bytes = bytes
    nginx = try await Nginx(serving: folder.path)
    silent = try Origin(fallback: .stall)
  }

  /// The limit of the cache: several rounds, so that images of the last two are never trimmed.
  var maximumCacheBytes: Int { bytes * 3 }

  /// At least three of four images have another URL than in the previous round.
  var newURLsEachRound: Int { paths.count * 3 / 4 }

  func urls(round: Int) -> [String] {
    paths.enumerated().map { nginx.url("/\($0.element)?version=\($0.offset % 4 == 0 ? round / 2 : round)") }
  }

  /// A job over the manifest of a round, and one over the URLs that a round reported.
  func makeJob() -> JobFolder {
    let job = JobFolder(
      """
      manifests: [{path: \(manifestPath)}]
      cache: {max-size: \(maximumCacheBytes), trim-to: 67%}
      fail-on: {evicted: false}
      """
    )
    job.writeJob("manifests: [{path: reported.txt}]", name: "reported")
    return job
  }
}

extension JobFolder {
  /// The index's size on disk, without holes.
  fileprivate func indexDiskBytes() throws -> Int {
    var status = stat()
    guard stat(cacheDirectory + "/default/index.mdb", &status) == 0 else { return 0 }
    return Int(status.st_blocks) * 512
  }
}
