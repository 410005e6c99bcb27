import ImageDownloading
import ImagePrimitives
import TestOrigin
import TestSupport

/// A downloader whose time stands still until a test moves it.
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

  /// Waits until nothing runs, and nothing can start before time moves on; `stalling` transfers may run for ever.
  func settle(stalling: Int = 0) async throws {
    var waiting: Int
    repeat {
      try await fetcher.settle()
      try await poll("transfers to end") { fetcher.downloader.statistics.running <= stalling }
      waiting = fetcher.downloader.statistics.waiting
      try await fetcher.settle()
      // None may run for a moment in which one has ended and the next has not begun.
    } while fetcher.downloader.statistics.running > stalling || fetcher.downloader.statistics.waiting != waiting
  }

  /// Moves time on, and lets all happen that may then.
  func advance(by duration: Duration, stalling: Int = 0) async throws {
    clock.advance(by: duration)
    fetcher.client.capacityChanged()
    try await settle(stalling: stalling)
  }

  /// Moves time on second by second until `count` downloads have ended; returns for how long.
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
