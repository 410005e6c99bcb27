import Base
import TestOrigin
import TestSupport
import Testing

@testable import ImageDownloading

/// Downloads that someone waits for, at hosts that fail or ask for a pause, over real sockets and with a manual clock.
struct ShortPatienceTests {
  private static let breaker = CircuitBreaker(failures: 5)
  private static let busy = Behaviour.status(503, headers: ["Retry-After": "20"])

  /// Fetches `/N` of a host as download N.
  private func fetch(_ id: UInt64, _ run: ManualRun, _ origin: Origin, host: Int = 0, retries: Int = 2) async throws -> End {
    let options = DownloadOptions.forTests(retries: retries, patience: .short)
    return try await run.fetcher.fetch(origin.url("/\(id)", host: host), id: id, options: options)
  }

  @Test func `a host that fails is tried by one download after 0.5, 1, 2, 4 and 5 s, and others fail at once`() async throws {
    let run = try ManualRun(circuitBreaker: Self.breaker)
    let origin = try Origin(fallback: .reset)
    for id in 1...5 as ClosedRange<UInt64> {
      #expect(try await fetch(id, run, origin, retries: 0).failure?.kind == .reset)
    }
    var requests = 5
    for (round, pause) in [500, 1000, 2000, 4000, 5000, 5000].enumerated() {
      let id = UInt64(10 * (round + 1))
      try await run.advance(by: .milliseconds(pause - 1))
      let refused = try await fetch(id, run, origin)
      #expect(refused.failure?.kind == .hostDown && refused.summary.attempts == 0)
      try await run.advance(by: .milliseconds(1))
      // Of those that come while one tries it, the others fail at once.
      let gate = origin.hold("/\(id + 1)")
      run.fetcher.client.submit([Download(id + 1, origin.url("/\(id + 1)"), options: .forTests(patience: .short))])
      try await gate.waitForWaiting(1)
      #expect(try await fetch(id + 2, run, origin).failure?.kind == .hostDown)
      gate.open()
      #expect(try await run.fetcher.recorder.waitForEnd(of: id + 1).failure?.kind == .reset)
      requests += 1
      #expect(origin.requests.count == requests)
    }
    try await run.advance(by: .seconds(5))
    origin.setFallback(.body([1]))
    for id in 101...103 as ClosedRange<UInt64> { #expect(try await fetch(id, run, origin).image != nil) }
  }

  @Test func `of many that wait for the try of a host, one is requested`() async throws {
    let run = try ManualRun(concurrency: 1, circuitBreaker: CircuitBreaker(failures: 1))
    let origin = try Origin(fallback: .reset, addresses: [.ipv4, .ipv4])
    _ = try await fetch(1, run, origin, retries: 0)
    try await run.advance(by: .milliseconds(500))
    // They may try it, but there is no room.
    let gate = origin.hold("/2")
    run.fetcher.client.submit([Download(2, origin.url("/2", host: 1), options: .forTests(patience: .short))])
    try await gate.waitForWaiting(1)
    run.fetcher.client.submit((3...9).map { Download($0, origin.url("/\($0)"), options: .forTests(patience: .short)) })
    try await run.fetcher.settle()
    gate.open()
    try await run.settle()
    #expect(origin.requests.count { $0.port == origin.ports[0] } == 2)
    #expect(run.ends.count { $0.failure?.kind == .hostDown } == 6)
  }

  @Test func `an origin that is away for 2 s or 60 s is up again within seconds`() async throws {
    for seconds in [2, 60] {
      let run = try ManualRun(circuitBreaker: CircuitBreaker())
      let origin = try Origin(fallback: .reset)
      var id: UInt64 = 0
      func load() async throws -> End {
        id += 1
        return try await fetch(id, run, origin)
      }
      for _ in 0..<seconds * 10 {
        #expect(try await load().failure != nil)
        try await run.advance(by: .milliseconds(100))
      }
      origin.setFallback(.body([1]))
      var (waited, failed) = (0, 0)
      while try await load().image == nil {
        (waited, failed) = (waited + 100, failed + 1)
        try await run.advance(by: .milliseconds(100))
      }
      #expect(waited <= (seconds == 2 ? 2000 : 5000))
      for _ in 0..<20 { #expect(try await load().image != nil) }
    }
  }

  @Test func `a batch keeps its pauses while a single download tries its host, and resumes when that succeeds`() async throws {
    let run = try ManualRun(circuitBreaker: Self.breaker)
    let origin = try Origin(fallback: .reset)
    run.fetcher.client.submit((1...20).map { Download($0, origin.url("/\($0)"), options: .forTests(retries: 3)) })
    try await run.settle()
    let requests = origin.requests.count
    for id in 101...103 as ClosedRange<UInt64> {
      try await run.advance(by: .seconds(5))
      #expect(try await fetch(id, run, origin).failure?.kind == .reset)
      #expect(origin.requests.count == requests + Int(id - 100))
    }
    origin.setFallback(.body([1]))
    try await run.advance(by: .seconds(5))
    #expect(try await fetch(104, run, origin).image != nil)
    try await run.settle()
    #expect(run.ends.count { $0.image != nil } == 21 && run.ends.count == 24)
  }

  @Test func `a download that joins one of a batch is requested at once, and the batch waits on if it fails`() async throws {
    let run = try ManualRun(circuitBreaker: CircuitBreaker(failures: 1))
    let origin = try Origin(fallback: .reset)
    let url = origin.url("/1")
    run.fetcher.client.submit([Download(1, url, options: .forTests(retries: 3))])
    try await run.settle()
    // The host is paused for 30 s, but for this one only for 0.5 s.
    #expect(try await run.fetcher.fetch(url, id: 2, options: .forTests(patience: .short)).failure?.kind == .hostDown)
    try await run.advance(by: .milliseconds(500))
    #expect(try await run.fetcher.fetch(url, id: 3, options: .forTests(patience: .short)).failure?.kind == .reset)
    #expect(origin.requests.count == 2 && run.ends.map(\.id) == [2, 3])
    origin.setFallback(.body([1]))
    try await run.advance(by: .seconds(1))
    // A raised download is one that someone waits for.
    run.fetcher.client.setPriority(.high, patience: PreparedOptions(.forTests(patience: .short)), of: 1)
    try await run.settle()
    #expect(run.ends.last?.id == 1 && run.ends.last?.image != nil)
  }

  @Test(arguments: [(503, 0), (503, 2), (429, 0), (429, 2)])
  func `a pause longer than 2 s fails with the server's answer, and other images are requested at once`(status: Int, retries: Int)
    async throws
  {
    let run = try ManualRun()
    let origin = try Origin(fallback: .body([1]))
    origin.set("/1", .status(status, headers: ["Retry-After": "20"]))
    let end = try await fetch(1, run, origin, retries: retries)
    #expect(end.failure?.kind == .httpStatus && end.failure?.status == status && end.summary.attempts == 1)
    #expect(end.failure?.message.contains("\(status)") == true && end.failure?.message.contains("a pause of 20 s") == true)
    #expect(try await fetch(2, run, origin, retries: retries).image != nil)
    // A batch waits.
    run.fetcher.client.submit([Download(3, origin.url("/3"))])
    try await run.advance(by: .seconds(19))
    #expect(run.ends.count == 2)
    try await run.advance(by: .seconds(1))
    #expect(run.ends.count == 3)
  }

  @Test(arguments: [429, 503])
  func `a shorter pause is waited for, by other images only after a 429`(status: Int) async throws {
    let run = try ManualRun()
    let origin = try Origin(
      ["/1": .sequence([.status(status, headers: ["Retry-After": "2"]), .body([1])])],
      fallback: .body([2])
    )
    let options = DownloadOptions.forTests(retries: 1, patience: .short)
    run.fetcher.client.submit([Download(1, origin.url("/1"), options: options)])
    try await run.settle()
    run.fetcher.client.submit([Download(2, origin.url("/2"), options: options)])
    #expect(try await fetch(3, run, origin, retries: 0).image != nil)
    try await run.settle()
    #expect(run.ends.map(\.id).sorted() == (status == 429 ? [3] : [2, 3]))
    try await run.advance(by: .seconds(2))
    #expect(run.ends.count { $0.image != nil } == 3 && run.ends.last?.summary.attempts ?? 0 > 0)
    #expect(origin.requests.count == 4)
  }

  @Test func `retries of 0 wait for nothing`() async throws {
    let run = try ManualRun(circuitBreaker: Self.breaker)
    let origin = try Origin(fallback: Self.busy)
    for (id, status) in [(1, 503), (2, 429), (3, 500)] as [(UInt64, Int)] {
      origin.setFallback(.status(status, headers: ["Retry-After": "1"]))
      let end = try await fetch(id, run, origin, retries: 0)
      #expect(end.failure?.status == status && end.summary.attempts == 1 && end.summary.waitedNanoseconds == 0)
    }
    #expect(try await fetch(4, run, origin, retries: 0).summary.attempts == 1)
  }
}
