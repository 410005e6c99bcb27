@testable import ImageDownloading
import Base
import TestOrigin
import TestSupport
import Testing

/// Several clients of one downloader.
struct ClientTests {
  @Test func `clients have their own numbers and events, and share limits`() async throws {
    let origin = try Origin(fallback: .computed { .body(Array($0.path.utf8)) })
    let gate = origin.holdAll()
    let first = try Fetcher(concurrency: 3)
    let other = Recorder()
    let client = first.downloader.client(other)
    first.submit((1...4).map { origin.url("/first\($0)") })
    client.submit((1...4).map { Download($0, origin.url("/other\($0)"), sequence: Int64($0)) })
    try await gate.waitForWaiting(3)
    gate.open()
    for (recorder, name) in [(first.recorder, "first"), (other, "other")] {
      let ends = try await recorder.waitForEnds(4)
      #expect(Set(ends.map(\.id)) == [1, 2, 3, 4])
      for end in ends { #expect(end.image?.body == Array("/\(name)\(end.id)".utf8)) }
    }
    #expect(origin.peakInFlight == 3)
  }

  @Test(arguments: [false, true])
  func `a client cancels only its own downloads, and the downloader all of them`(ofDownloader: Bool) async throws {
    let origin = try Origin(fallback: .body([1]))
    let gate = origin.holdAll()
    let first = try Fetcher(concurrency: 2)
    let other = Recorder()
    let client = first.downloader.client(other)
    first.submit((1...3).map { origin.url("/first\($0)") })
    client.submit((1...3).map { Download($0, origin.url("/other\($0)")) })
    try await gate.waitForWaiting(2)
    if ofDownloader { first.downloader.cancelAll(includingRunning: true) } else { client.cancel([1, 2, 3]) }
    #expect(try await other.waitForEnds(3).allSatisfy(\.isCancelled))
    gate.open()
    #expect(try await first.recorder.waitForEnds(3).count(where: \.isCancelled) == (ofDownloader ? 3 : 0))
  }

  @Test func `a full receiver holds back new starts while its client has waiting downloads, until it has room`() async throws {
    let origin = try Origin(fallback: .body([1]))
    let fetcher = try Fetcher()
    let full = Recorder()
    full.mayStart = false
    let client = fetcher.downloader.client(full)
    _ = try await fetcher.fetchAll([origin.url("/1")])

    client.submit([Download(1, origin.url("/full"))])
    fetcher.client.submit([Download(2, origin.url("/2"))])
    try await fetcher.settle()
    #expect(fetcher.downloader.statistics.waiting == 2)
    #expect(origin.requests.count == 1)

    client.cancel([1])
    try await fetcher.recorder.waitForEnd(of: 2)
    #expect(try await full.waitForEnds(1).map(\.isCancelled) == [true])

    client.submit([Download(3, origin.url("/full"))])
    try await fetcher.settle()
    #expect(fetcher.downloader.statistics.running == 0 && fetcher.downloader.statistics.waiting == 1)
    full.mayStart = true
    client.capacityChanged()
    try await full.waitForEnd(of: 3)
  }

  @Test(arguments: [true, false]) func `a closed client leaves no event behind`(explicitly: Bool) async throws {
    let origin = try Origin(fallback: .body([1]))
    let gate = origin.holdAll()
    let fetcher = try Fetcher(concurrency: 2)
    let other = Recorder()
    var client: DownloadClient? = fetcher.downloader.client(other)
    client?.submit((1...3).map { Download($0, origin.url("/other\($0)")) })
    try await gate.waitForWaiting(2)
    if explicitly { client?.close() } else { client = nil }
    if explicitly { #expect(other.ends.count == 3) }
    #expect(try await other.waitForEnds(3).allSatisfy(\.isCancelled))
    client?.close()
    fetcher.submit([origin.url("/1")])
    gate.open()
    _ = try await fetcher.recorder.waitForEnds(1)
    #expect(other.events.count == 3)
  }

  @Test func `closing a client releases its receiver`() throws {
    let fetcher = try Fetcher()
    weak var receiver: Recorder?
    do {
      let recorder = Recorder()
      receiver = recorder
      fetcher.downloader.client(recorder).close()
    }
    #expect(receiver == nil)
  }

  @Test func `after a shutdown a client's downloads end as cancelled, and it can be closed`() throws {
    let fetcher = try Fetcher()
    fetcher.downloader.shutDown()
    fetcher.client.cancel([1])
    #expect(fetcher.recorder.events.isEmpty)
    fetcher.client.submit([Download(1, "http://127.0.0.1:1/a"), Download(2, "http://127.0.0.1:1/b")])
    #expect(fetcher.recorder.ends.count(where: \.isCancelled) == 2)
    fetcher.client.close()
  }

  @Test func `a new priority changes a waiting download's class and keeps its sequence`() async throws {
    let origin = try Origin(fallback: .body([1]))
    let fetcher = try Fetcher(concurrency: 1)
    fetcher.downloader.isSuspended = true
    fetcher.submit((1...6).map { origin.url("/\($0)") })
    fetcher.client.setPriority(.high, of: 5)
    fetcher.client.setPriority(.high, of: 3)
    fetcher.client.setPriority(.low, of: 1)
    fetcher.client.setPriority(.veryHigh, of: 77)
    fetcher.downloader.isSuspended = false
    _ = try await fetcher.recorder.waitForEnds(6)
    #expect(origin.requests.map(\.path) == ["/3", "/5", "/2", "/4", "/6", "/1"])
  }

  @Test func `a raised priority doesn't shorten a retry's wait`() async throws {
    let clock = ManualClock()
    let origin = try Origin(["/1": .sequence([.status(500), .body([1])])], fallback: .body([2]))
    let fetcher = try Fetcher(time: clock.source)
    fetcher.submit([origin.url("/1")], options: .forTests(retries: 1, backoff: .constant(.seconds(20))))
    try await origin.waitForRequests(1)
    try await origin.waitForInFlight(0)
    fetcher.client.submit([Download(2, origin.url("/2"))])
    try await fetcher.recorder.waitForEnd(of: 2)
    fetcher.client.setPriority(.veryHigh, of: 1)
    try await fetcher.settle()
    #expect(origin.count(of: "/1") == 1)
    fetcher.advance(clock, by: .seconds(20))
    try await fetcher.recorder.waitForEnd(of: 1)
  }

  @Test(
    arguments: [
      (.init(limits: .init(concurrency: 0)), "limits: concurrency must be at least 1, not 0"),
      (.init(limits: .init(perHost: -1)), "limits: perHost must be at least 1, not -1"),
      (.init(limits: .init(rate: 0)), "limits: rate must be above zero, not 0.0"),
      (.init(limits: .init(perHostRate: -1)), "limits: perHostRate must be above zero, not -1.0"),
      (.init(limits: .init(hosts: [HostPattern("a")!: .init(perHost: 0)])), "limits: perHost must be at least 1, not 0"),
      (
        .init(limits: .init(hosts: [HostPattern("a")!: .init(perHostRate: 0)])), "limits: perHostRate must be above zero, not 0.0"
      ),
      (.init(limits: .init(rate: .nan)), "limits: rate must be above zero, not nan"),
      (.init(limits: .init(threads: 0)), "limits: threads must be 1 to 16, not 0"),
      (.init(limits: .init(threads: 17)), "limits: threads must be 1 to 16, not 17"),
      (.init(headers: [.init("X-A", "secret\r\nX-B: c")]), "headers: X-A isn't a valid header"),
      (.init(headers: [.init("X A", "1")]), "headers: X A isn't a valid header"),
      (.init(circuitBreaker: .init(failures: 0)), "circuitBreaker: failures must be at least 1, not 0"),
      (.init(circuitBreaker: .init(batchTries: 0)), "circuitBreaker: batchTries must be at least 1, not 0"),
      (.init(circuitBreaker: .init(firstPause: .seconds(-1))), "circuitBreaker: firstPause must not be negative"),
    ] as [(ImageDownloader.Configuration, String)]
  )
  func `a downloader with a value that can't be used isn't created`(configuration: ImageDownloader.Configuration, reason: String)
    throws
  {
    #expect(throws: DownloaderError(message: reason)) { try ImageDownloader(configuration) }
    let downloader = try ImageDownloader(ImageDownloader.Configuration(limits: DownloadLimits(concurrency: 3)))
    guard reason.hasPrefix("limits") else { return }
    #expect(throws: DownloaderError(message: reason)) { try downloader.setLimits(configuration.limits) }
    #expect(downloader.limits == DownloadLimits(concurrency: 3))
  }

  @Test func `submitting to a closed client traps`() async throws {
    await #expect(processExitsWith: .failure) {
      let client = try ImageDownloader().client(Recorder())
      client.close()
      client.submit([])
    }
  }
}
