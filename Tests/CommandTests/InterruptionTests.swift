import Foundation
import Glibc
import TestOrigin
import TestSupport
import Testing

@Suite struct InterruptionTests {
  private let origin = makeImageOrigin()

  @Test(arguments: [SIGINT, SIGTERM])
  func `the first signal lets transfers in flight finish, and a re-run resumes`(signal: Int32) async throws {
    let gate = origin.holdAll()
    let job = JobFolder(urls: imageURLs(origin, 0..<100), keys: "prefetch: {concurrency: 4, per-host: 4}")
    let command = try job.startJob(isHeld: true)
    try await gate.waitForWaiting(4)
    command.send(signal)
    try await command.waitForError("finish")
    gate.open()
    let run = try job.finishedRun(try await command.wait())
    #expect(run.status == 128 + Int(signal))
    #expect(run.report["interrupted"] as? Bool == true)
    #expect(run.totals["downloaded"] == 4 && run.totals["cancelled"] == 96 && run.sumOfTotals == 100)
    #expect(origin.requests.count == 4)
    let again = try await job.runJob()
    #expect(again.status == 0 && again.totals["hit_disk"] == 4 && again.totals["downloaded"] == 96)
  }

  @Test func `a job that a signal prevented from starting has no report, and its name is printed`() async throws {
    let gate = origin.holdAll()
    let job = JobFolder(urls: imageURLs(origin, 0..<1))
    job.writeJob("report: [{text: thumbs.txt}]", name: "thumbs")
    let command = try job.start(["run", "job.yaml", "thumbs.yaml"] + JobFolder.patience)
    try await gate.waitForWaiting(1)
    command.send(SIGINT)
    try await command.waitForError("finish")
    gate.open()
    let result = try await command.wait()
    #expect(result.status == 130 && !result.outputText.contains("thumbs"), "\(result.outputText)")
    #expect(job.folder.read("thumbs.txt") == nil)
    expectGolden(result.errorText.lines(with: "thumbs"))
  }

  @Test func `a signal that arrives twice at once counts as one`() async throws {
    origin.set("/stall.jpg", .stall)
    let job = JobFolder(urls: imageURLs(origin, 0..<10) + [origin.url("/stall.jpg")])
    let command = try job.startJob(["--progress", "none"])
    try await origin.waitForRequests(1, of: "/stall.jpg")
    command.send(SIGTERM)
    command.send(SIGTERM)
    #expect(try await command.wait().status == 143)
    #expect(job.folder.read("report.json") != nil)
  }

  @Test(
    arguments: [
      ["run", "pipe.yaml"], ["run", "pipe"], ["run", "/dev/stdin"], ["check", "pipe"], ["check", "-"],
      ["run", "job.yaml", "--set", "fail-on.baseline=pipe"],
    ],
    [SIGINT, SIGTERM]
  )
  func `a signal ends a run that waits for a job, a list, a baseline or a report's reader`(_ arguments: [String], signal: Int32)
    async throws
  {
    let job = JobFolder(urls: [])
    for name in ["pipe", "pipe.yaml"] { #expect(mkfifo(job.folder.file(name), 0o600) == 0) }
    let command = try job.start(arguments, input: .open)
    try await poll("signals to be watched") { command.watchesSignals }
    command.send(signal)
    #expect(try await command.wait().status == 128 + Int(signal))
  }

  @Test func `a signal ends a run whose report isn't read any more`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<10))
    let pipe = job.folder.file("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    let reader = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    defer { close(reader) }
    // F_SETPIPE_SZ of Linux (fcntl(2)).
    let capacity = fcntl(reader, 1031, 4096)
    let command = try job.start(["run", "job.yaml", "--report", "html=pipe"])
    try await poll("a full pipe") {
      var count: Int32 = 0
      return ioctl(reader, UInt(FIONREAD), &count) == 0 && count >= capacity
    }
    command.send(SIGTERM)
    #expect(try await command.wait().status == 143)
    #expect(try await job.runJob().totals["hit_disk"] == 10)
  }

  @Test func `a report to a pipe without a reader is rejected before anything is fetched`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<10))
    #expect(mkfifo(job.folder.file("pipe"), 0o600) == 0)
    let result = try await job.prewarm("run job.yaml --report json=pipe")
    #expect(result.status == 1)
    expectGolden(result.errorText)
    #expect(origin.requests.isEmpty)
  }
}

extension Command {
  /// Whether SIGINT no longer ends the process by itself.
  fileprivate var watchesSignals: Bool {
    let status = (try? String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8)) ?? ""
    let blocked = status.split(separator: "\n").first { $0.hasPrefix("SigBlk:") }?.split(separator: "\t").last ?? ""
    return UInt64(blocked, radix: 16).map { $0 & 1 << UInt64(SIGINT - 1) != 0 } ?? false
  }
}
