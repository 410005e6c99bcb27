import Foundation
import Glibc
import TestOrigin
import TestSupport
import Testing

/// Runs that are stopped at random moments, all with one cache.
@Suite(.serialized) struct CancelSoakTests {
  private static let goodCount = 200

  private enum Stop: CaseIterable {
    case interrupt, terminate, twice, deadline
  }

  @Test func `every stopped run ends by itself, reports each entry once, and leaves nothing in flight`() async throws {
    var random = SeededRandom(seed: SoakCounts.seed)
    let job = JobFolder("manifests: [{path: urls.txt}]\nfail-on: {failures: never}")
    var stopped = 0
    for round in 0..<SoakCounts.cancels {
      let stop = Stop.allCases[round % Stop.allCases.count]
      let origin = makeImageOrigin()
      // One response is held, so that no run ends before it is stopped.
      let gate = origin.hold("/images/\(Self.goodCount - 1).jpg")
      // New URLs each round: ports repeat after some hundreds of origins.
      let good = imageURLs(origin, 0..<Self.goodCount).map { "\($0)?\(round)" }
      var urls = good + good.prefix(20) + ["not a url", origin.url("/missing.jpg?\(round)")]
      urls.shuffle(using: &random)
      job.write(urls: urls)
      unlink(job.folder.file("report.json"))
      let result = try await stoppedRun(job, origin, gate, stop, &random)
      if result.status != 0 { stopped += 1 }
      try await expectNothingInFlight(origin)
      if stop == .twice {
        #expect([130, 143].contains(result.status), "\(result.ending): \(result.errorText)")
        continue
      }
      expectEveryEntryOnce(try job.finishedRun(result), origin, stop, "round \(round), seed \(SoakCounts.seed)")
    }
    #expect(stopped == SoakCounts.cancels, "seed \(SoakCounts.seed)")
    try await job.expectTrueTotals()
  }

  private func stoppedRun(
    _ job: JobFolder,
    _ origin: Origin,
    _ gate: Gate,
    _ stop: Stop,
    _ random: inout SeededRandom
  ) async throws -> Command.Result {
    let requests = Int.random(in: 1..<Self.goodCount, using: &random)
    let options = ["--concurrency", "8", "--set", "prefetch.threads=\([1, 2, 8].randomElement(using: &random)!)"]
    if stop == .deadline {
      return try await job.startJob(options + ["--deadline", "\(requests)ms"]).wait()
    }
    let command = try job.startJob(options, isHeld: true)
    try await origin.waitForRequests(requests)
    command.send(stop == .terminate ? SIGTERM : SIGINT)
    if stop == .twice {
      command.send(SIGTERM)
    } else {
      try await command.waitForError("finish")
      gate.open()
    }
    return try await command.wait()
  }

  private func expectNothingInFlight(_ origin: Origin) async throws {
    try await origin.waitForInFlight(0)
    try await origin.waitForOpenConnections(0)
  }

  private func expectEveryEntryOnce(_ run: Run, _ origin: Origin, _ stop: Stop, _ comment: Comment) {
    let cancelled = run.totals["cancelled"] ?? 0
    let status: Int? =
      switch stop {
      case .interrupt: 130
      case .terminate: 143
      case .twice: nil
      case .deadline: 2
      }
    #expect(run.status == status, comment)
    #expect(run.totals["urls"] == run.sumOfTotals && run.rows.count == run.sumOfTotals, comment)
    #expect(Set(run.rows.map(\.line)).count == run.rows.count, comment)
    #expect(run.rows.count(where: { $0.outcome == "cancelled" }) == cancelled, comment)
    // Started requests were finished: each one that arrived has its row. A deadline cancels started requests.
    let finished = run.rows("downloaded").count { $0.shared != true } + run.rows("failed").count { $0.kind == "http-status" }
    if stop == .deadline {
      #expect(finished <= origin.requests.count, comment)
    } else {
      #expect(finished == origin.requests.count, comment)
    }
  }
}

@Suite(.serialized) struct ManyImagesSoakTests {
  @Test(arguments: ["fifo", "lifo"], [1, 8])
  func `the second run over many images has only hits and makes no request`(order: String, threads: Int) async throws {
    let count = SoakCounts.images
    let folder = TemporaryDirectory()
    let paths = SampleImages.writeTree(count, in: folder)
    let nginx = try await Nginx(serving: folder.path)
    let job = JobFolder(
      urls: paths.map { nginx.url("/\($0)") },
      keys: "prefetch: {order: \(order), concurrency: 32, per-host: 32, threads: \(threads)}"
    )
    let cold = try await job.runJob()
    #expect(cold.status == 0)
    #expect(cold.totals["downloaded"] == count && cold.sumOfTotals == count && cold.rows.count == count)
    try await nginx.waitForRequests(count)
    let hot = try await job.runJob()
    #expect(hot.status == 0)
    #expect(hot.totals["hit_disk"] == count && hot.sumOfTotals == count && hot.rows.count == count)
    #expect(nginx.requestCount == count)
    #expect(try await job.statistics().entries == count)
  }
}

/// The number of repetitions in dangerous tests: few, or set by `scripts/soak`.
enum SoakCounts {
  /// Whether `scripts/soak` requests large counts.
  static let isLong = ProcessInfo.processInfo.environment["PREWARM_SOAK"] != nil
  /// Runs that are killed.
  static let kills = count("PREWARM_SOAK_KILLS", default: 6)
  /// Runs that are stopped by a signal or a deadline.
  static let cancels = count("PREWARM_SOAK_CANCELS", default: 8)
  /// Worlds that follow from seeds.
  static let worlds = count("PREWARM_SOAK_WORLDS", default: 10)
  /// Images of a run.
  static let images = count("PREWARM_SOAK_IMAGES", default: 300)
  /// The seed of random moments; a failing test prints it.
  static let seed = UInt64(count("PREWARM_SOAK_SEED", default: 20_261_121))

  private static func count(_ variable: String, default count: Int) -> Int {
    ProcessInfo.processInfo.environment[variable].flatMap { Int($0) } ?? count
  }
}
