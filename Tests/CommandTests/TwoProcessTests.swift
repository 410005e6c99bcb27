import Glibc
import TestOrigin
import TestSupport
import Testing

/// Two simultaneous commands with one cache.
@Suite struct TwoProcessTests {
  private let origin = makeImageOrigin()

  private static let keys = "prefetch: {concurrency: 4, per-host: 4}"

  /// Two jobs with the same cache; 200 of their 400 images each are shared.
  private func makeJobs(_ origin: Origin) -> (JobFolder, JobFolder) {
    let first = JobFolder(urls: imageURLs(origin, 0..<400), keys: Self.keys)
    let keys = "\(Self.keys)\ncache: {directory: \(first.cacheDirectory)}"
    return (first, JobFolder(urls: imageURLs(origin, 200..<600), keys: keys))
  }

  @Test func `two processes both end well, nothing is lost, and totals stay correct`() async throws {
    let (first, second) = makeJobs(origin)
    let gate = origin.holdAll()
    let commands = [try first.startJob(isHeld: true), try second.startJob(isHeld: true)]
    // Eight at the gate are four of each.
    try await gate.waitForWaiting(8)
    gate.open()
    for (job, command) in zip([first, second], commands) {
      let run = try job.finishedRun(try await command.wait())
      #expect(run.status == 0, "\(run.result.errorText)")
      #expect(run.totals["urls"] == 400 && run.sumOfTotals == 400)
      #expect(run.loaded == 400)
    }
    let listed = try await first.expectTrueTotals()
    #expect(Set(listed.map(\.url)) == Set(imageURLs(origin, 0..<600)))
    #expect(try await first.runJob("--cache-mode only").totals["hit_disk"] == 400)
    #expect(try await second.runJob("--cache-mode only").totals["hit_disk"] == 400)
  }

  @Test(arguments: [0, 60, 250])
  func `one process is killed, and the other continues and loses nothing`(answers: Int) async throws {
    let (first, second) = makeJobs(origin)
    let gate = origin.holdAll()
    let survivor = try first.startJob(isHeld: true)
    let victim = try second.startJob(isHeld: true)
    try await gate.waitForWaiting(8)
    gate.step(answers)
    try await origin.waitForRequests(8 + answers)
    victim.kill()
    #expect(try await victim.wait().status == nil)
    gate.open()
    let run = try first.finishedRun(try await survivor.wait())
    #expect(run.status == 0, "\(run.result.errorText)")
    #expect(run.loaded == 400 && run.sumOfTotals == 400)
    try await first.expectTrueTotals()
    #expect(try await second.runJob().status == 0)
    #expect(try await first.expectTrueTotals().count == 600)
  }

  @Test func `a second run of the same lists waits, says for whom, and finds the images and the report of the first`()
    async throws
  {
    let job = JobFolder(urls: imageURLs(origin, 0..<50))
    let gate = origin.holdAll()
    let first = try job.startJob(isHeld: true)
    try await gate.waitForWaiting(1)
    let second = try job.startJob(isHeld: true)
    try await second.waitForError("waiting for process \(first.processID), which runs the same lists over this cache")
    gate.open()
    #expect(try await first.wait().status == 0)
    let run = try job.finishedRun(try await second.wait())
    #expect(run.status == 0 && run.totals["hit_disk"] == 50 && origin.requests.count == 50, "\(run.result.errorText)")
  }

  @Test func `a run that waits ends by a signal, and goes on if the first is killed`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<10))
    let gate = origin.holdAll()
    let first = try job.startJob(isHeld: true)
    try await gate.waitForWaiting(1)
    let stopped = try job.startJob(isHeld: true)
    try await stopped.waitForError("waiting for process")
    stopped.send(SIGTERM)
    #expect(try await stopped.wait().status == 143)
    let third = try job.startJob(isHeld: true)
    try await third.waitForError("waiting for process")
    first.kill()
    #expect(try await first.wait().status == nil)
    gate.open()
    #expect(try job.finishedRun(try await third.wait()).loaded == 10)
  }

  @Test func `a cache in use can be read but not cleared`() async throws {
    let job = try await JobFolder.warmed(urls: imageURLs(origin, 0..<10))
    let gate = origin.holdAll()
    job.write(urls: imageURLs(origin, 0..<11))
    let command = try job.startJob(isHeld: true)
    try await gate.waitForWaiting(1)
    let refused = try await job.prewarm("cache clear")
    #expect(refused.status == 1)
    #expect(refused.errorText.contains(" \(command.processID)"))
    expectGolden(refused.errorText.replacing("\(command.processID)", with: "PID"))
    #expect(try await job.statistics().entries == 10)
    #expect(try await job.prewarm("cache remove", imageURLs(origin, 3..<4)[0]).status == 0)
    gate.open()
    #expect(try await command.wait().status == 0)
    #expect(try await job.prewarm("cache clear").status == 0)
    #expect(try await job.statistics().entries == 0)
  }
}

extension Run {
  /// Entries that the cache has now.
  var loaded: Int { (totals["downloaded"] ?? 0) + (totals["hit_disk"] ?? 0) }
}
