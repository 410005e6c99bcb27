import ImageDownloading
import Base
import TestOrigin
import TestSupport
import Testing

/// One host must not delay the others: the order of requests at the origin.
struct FairnessTests {
  enum Trouble: CaseIterable {
    case stalls, asksForPause, fails
  }

  @Test(
    arguments: Trouble.allCases,
    [DownloadOrder.fifo, .lifo]
  )
  func `one of ten hosts that stalls, pauses or fails doesn't delay the other nine`(trouble: Trouble, order: DownloadOrder)
    async throws
  {
    let origin = try Origin(addresses: [Origin.Address](repeating: .ipv4, count: 10))
    let bad = origin.ports[0]
    origin.setFallback { request in
      guard request.port == bad else { return .body([1]) }
      return switch trouble {
      case .stalls: .stall
      case .asksForPause: .status(503, headers: ["Retry-After": "100"])
      case .fails: .reset
      }
    }
    // The stalling host keeps one transfer: so one is left for all the others.
    let run = try ManualRun(
      concurrency: trouble == .stalls ? 2 : 1,
      perHost: 1,
      order: order,
      circuitBreaker: CircuitBreaker(failures: 2)
    )
    run.fetcher.downloader.isSuspended = true
    run.fetcher.submit((0..<200).map { origin.url("/\($0)", host: $0 % 10) }, options: .forTests(retries: 5))
    run.fetcher.downloader.isSuspended = false
    _ = try await run.fetcher.recorder.waitForEnds(180)
    let asked = origin.requests.filter { $0.port != bad }.map(\.path)
    let others = (0..<200).filter { $0 % 10 != 0 }.map { "/\($0)" }
    #expect(asked == (order == .fifo ? others : others.reversed()))
    #expect(origin.requests.count { $0.port == bad } == (trouble == .fails ? 2 : 1))
    #expect(run.ends.count == 180)
  }
}
