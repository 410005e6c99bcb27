import ImageDownloading
import Base
import TestOrigin
import TestSupport

/// A downloader with a clock that only the test advances.
struct ManualRun {
  let clock = ManualClock()
  let fetcher: Fetcher

  init(
    concurrency: Int = 6,
    perHost: Int = 8,
    order: DownloadOrder? = nil,
    circuitBreaker: CircuitBreaker = CircuitBreaker()
  ) throws {
    fetcher = try Fetcher(
      concurrency: concurrency,
      perHost: perHost,
      order: order,
      time: clock.source,
      circuitBreaker: circuitBreaker
    )
  }

  var ends: [End] { fetcher.recorder.ends.filter { $0.id != .max } }

  /// Waits until nothing runs, and nothing can start before time advances; `stalling` transfers may keep running.
  func settle(stalling: Int = 0) async throws {
    var waiting: Int
    repeat {
      try await fetcher.settle()
      try await poll("transfers to end") { fetcher.downloader.statistics.running <= stalling }
      waiting = fetcher.downloader.statistics.waiting
      try await fetcher.settle()
      // Nothing may seem to run between the end of one transfer and the start of the next.
    } while fetcher.downloader.statistics.running > stalling || fetcher.downloader.statistics.waiting != waiting
  }

  /// Advances the clock, and waits for all that follows.
  func advance(by duration: Duration, stalling: Int = 0) async throws {
    clock.advance(by: duration)
    fetcher.client.capacityChanged()
    try await settle(stalling: stalling)
  }

  /// Advances the clock second by second until `count` downloads have ended; returns the number of seconds.
  func advance(untilEnds count: Int, atMost maximum: Int) async throws -> Int {
    try await settle()
    var seconds = 0
    while ends.count < count, seconds < maximum {
      try await advance(by: .seconds(1))
      seconds += 1
    }
    return seconds
  }
}
