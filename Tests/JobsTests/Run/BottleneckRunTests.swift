import Foundation
import ImageCaching
import ImageCoding
import ImageDownloading
import ImageManaging
import Base
import Reports
import TestOrigin
import TestSupport
import Testing

@testable import Jobs

/// Whole runs with one bottleneck, by a clock that moves only while it holds them up.
@Suite struct BottleneckRunTests {
  private let runs = JobRuns()
  private let clock = ManualClock()
  private let origin: Origin

  init() throws { origin = try Origin(fallback: .body(SampleImages.jpeg(1), type: "image/jpeg")) }

  /// Runs a job on its own thread; when `bottleneck` holds it up, some seconds pass, and `release` lets it continue.
  private func end(
    of job: Job,
    heldUpBy bottleneck: Bottleneck,
    change: (inout ImageManager.Configuration) -> Void = { _ in },
    onMiss: (@Sendable () -> Void)? = nil,
    preparing: (PreparedJob) throws -> Void = { _ in },
    release: (ImageDownloader) throws -> Void
  ) async throws -> RunEnd {
    var configuration = ImageManager.Configuration(downloader: ImageDownloader.Configuration(time: clock.source, jitter: { $0 }))
    change(&configuration)
    let manager = try ImageManager(configuration)
    defer { manager.blocking.shutDown() }
    let prepared = try PreparedJob(job, isDryRun: onMiss != nil)
    try preparing(prepared)
    let handed = HandedOver(job: prepared)
    let result = Watched<FinishedReport?>(nil)
    Thread.detachNewThread {
      let runner = JobRunner(manager: manager, version: "1", control: RunControl())
      let report = runner.run(handed.job, onMiss: onMiss.map { told in { _ in told() } })
      result.withLock { $0 = report }
    }
    let meter = manager.downloader.pipeline
    for _ in 0..<5 {
      try await poll("\(bottleneck) to hold up the run") { meter.bottleneck == bottleneck }
      clock.advance(by: .seconds(1))
    }
    try release(manager.downloader)
    try await result.wait(for: "the end of the run") { $0 != nil }
    return try #require(result.value).end
  }

  /// Values passed to the run's thread.
  private struct HandedOver: @unchecked Sendable {
    // Sendable because the test leaves them to that thread.
    let job: PreparedJob
  }

  /// Threads wait at it until it is open; later ones pass at once.
  private final class Door: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    func open() { semaphore.signal() }
    func pass() {
      semaphore.wait()
      semaphore.signal()
    }
  }

  /// A job over that many images.
  private func job(_ origin: Origin, _ count: Int, keys: String = "", change: (inout Job) -> Void = { _ in }) throws -> Job {
    var job = try runs.job(urls: (0..<count).map { origin.url("/\($0).jpg") }, keys: keys)
    change(&job)
    return job
  }

  private func expect(_ end: RunEnd, _ word: String, sourceLocation: SourceLocation = #_sourceLocation) {
    expectGolden(end.bottleneck?.replacing(#/\d+ of 8/#, with: "N of 8"), sourceLocation: sourceLocation)
    #expect(end.bottlenecks.first == BottleneckShare(name: word, fraction: 1), sourceLocation: sourceLocation)
  }

  @Test func `the network is the bottleneck if all transfers wait for servers`() async throws {
    let gate = origin.holdAll()
    let job = try job(origin, 4, keys: "prefetch: {concurrency: 2}")
    expect(try await end(of: job, heldUpBy: .concurrency) { _ in gate.open() }, "network")
  }

  @Test func `the network is the bottleneck if the last transfer waits`() async throws {
    let gate = origin.holdAll()
    let end = try await end(of: job(origin, 1), heldUpBy: .answers) { _ in gate.open() }
    expect(end, "network")
  }

  @Test func `the per-host limit is the bottleneck if one host is full`() async throws {
    let origin = try Origin(fallback: .body(SampleImages.jpeg(1), type: "image/jpeg"), addresses: [.ipv4, .ipv4, .ipv4])
    let gate = origin.hold("/full0.jpg")
    let urls = (0..<3).map { origin.url("/full\($0).jpg") } + (0..<20).map { origin.url("/\($0).jpg", host: 1 + $0 % 2) }
    let job = try runs.job(urls: urls, keys: "prefetch: {concurrency: 8, per-host: 1}")
    let end = try await end(of: job, heldUpBy: .hosts) { _ in gate.open() }
    expect(end, "per-host")
  }

  @Test func `the rate is the bottleneck if the next request must wait`() async throws {
    let job = try job(origin, 2) { $0.prefetch.limits.rate = 0.01 }
    let end = try await end(of: job, heldUpBy: .rate) { downloader in pass(.seconds(200), for: downloader) }
    expect(end, "rate")
  }

  @Test func `the rate is the bottleneck if a host asked for a pause`() async throws {
    let image = Behaviour.body(SampleImages.jpeg(1), type: "image/jpeg")
    origin.set("/0.jpg", .sequence([.status(429, headers: ["Retry-After": "30"]), image]))
    let end = try await end(of: job(origin, 1), heldUpBy: .pause) { downloader in pass(.seconds(60), for: downloader) }
    expect(end, "rate")
  }

  @Test func `the network is the bottleneck if a failed request waits for its retry`() async throws {
    origin.set("/0.jpg", .sequence([.status(500), .body(SampleImages.jpeg(1), type: "image/jpeg")]))
    let job = try job(origin, 1) { job in
      (job.request.download.retries, job.request.download.backoff.initial, job.request.download.backoff.maximum) = (
        1, .seconds(30), .seconds(30)
      )
    }
    let end = try await end(of: job, heldUpBy: .retry) { downloader in pass(.seconds(60), for: downloader) }
    expect(end, "network")
  }

  /// Lets time pass, and wakes the transfer thread, which sleeps by the system's clock.
  private func pass(_ duration: Duration, for downloader: ImageDownloader) {
    clock.advance(by: duration)
    downloader.forgetFailures()
  }

  @Test func `decoding is the bottleneck if images wait for it`() async throws {
    let door = Door()
    let job = try job(origin, sysconf(Int32(_SC_NPROCESSORS_ONLN)) + 2, keys: "verify: {decode: full}")
    let end = try await end(of: job, heldUpBy: .coding, change: { $0.coders.add(HeldCoder(door: door)) }) { _ in door.open() }
    expect(end, "decoding")
  }

  /// Decodes once its door is open.
  private struct HeldCoder: JPEGReading {
    let door: Door

    func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> ImageProof {
      door.pass()
      return try JPEGCoder().proveDecodable(bytes, limits: limits)
    }
  }

  @Test func `the disk is the bottleneck if images wait to be written`() async throws {
    let (door, taken) = (Door(), Door())
    let end = try await end(
      of: job(origin, 3),
      heldUpBy: .writing,
      preparing: { prepared in
        let cache = try #require(prepared.cache)
        // There is one writer at a time.
        Thread.detachNewThread {
          try? cache.write { _ in
            taken.open()
            door.pass()
          }
        }
        taken.pass()
      },
      release: { _ in door.open() }
    )
    expect(end, "disk")
  }

  @Test func `the manifest is the bottleneck while it is fetched`() async throws {
    origin.set("/list.txt", .body(Array(origin.url("/1.jpg").utf8), type: "text/plain"))
    let gate = origin.hold("/list.txt")
    let list = try BaseURL(origin.url("/list.txt"))
    let job = try job(origin, 1) { $0.manifests = [Job.List((list))] }
    let end = try await end(of: job, heldUpBy: .input) { _ in gate.open() }
    expect(end, "manifest")
  }

  @Test func `the manifest is the bottleneck if a pipe is silent`() async throws {
    let pipe = runs.folder.file("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    // Open at both ends, so that opening doesn't block.
    let descriptor = open(pipe, O_RDWR | O_CLOEXEC)
    let line = Array((origin.url("/1.jpg") + "\n").utf8)
    #expect(write(descriptor, line, line.count) == line.count)
    let job = try job(origin, 1) { $0.manifests = [Job.List(JobPath(pipe, in: "/"))] }
    let end = try await end(of: job, heldUpBy: .input) { _ in close(descriptor) }
    expect(end, "manifest")
  }

  @Test func `lookups are the bottleneck while they are busy`() async throws {
    let door = Door()
    let end = try await end(of: job(origin, 1), heldUpBy: .lookingUp, onMiss: { door.pass() }) { _ in door.open() }
    expect(end, "cpu")
  }
}
