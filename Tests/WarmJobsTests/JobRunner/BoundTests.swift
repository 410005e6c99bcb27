import Testing

@testable import WarmJobs

/// What held a run back, of 32 transfers and one second unless said otherwise.
@Suite struct BoundTests {
  private func sentence(
    _ times: Bound.LimitTimes,
    peak: Int = 32,
    keys: String = "",
    duration: Duration = .seconds(1)
  ) throws -> String? {
    Bound(times, peakRunning: peak, job: try job(shortestJob + keys), duration: duration).sentence
  }

  private func milliseconds(_ count: UInt64) -> UInt64 { count * 1_000_000 }

  @Test func theLimitThatHeldLongestIsNamedWithWhatToDo() throws {
    let times = Bound.LimitTimes(concurrency: milliseconds(300), hosts: milliseconds(400), held: milliseconds(350))
    #expect(try sentence(times, peak: 8) == "per-host: 8 of 32 transfers used; raise prefetch.per-host")
    #expect(
      try sentence(Bound.LimitTimes(concurrency: milliseconds(900), hosts: milliseconds(90)))
        == "concurrency: all 32 transfers used; raise prefetch.concurrency"
    )
  }

  @Test func whatHeldForAQuarterOfTheRunOrLessIsNotNamed() throws {
    #expect(try sentence(Bound.LimitTimes(concurrency: milliseconds(250))) == nil)
    #expect(try sentence(Bound.LimitTimes(concurrency: milliseconds(251))) != nil)
  }

  @Test func aVeryShortRunNeedsNoAdvice() throws {
    #expect(try sentence(Bound.LimitTimes(hosts: milliseconds(50)), duration: .milliseconds(60)) == nil)
    #expect(try sentence(Bound.LimitTimes(hosts: milliseconds(51)), duration: .milliseconds(60)) != nil)
  }

  @Test func waitingForRoomIsForTheDecoderWhereTheJobDecodesInFull() throws {
    let times = Bound.LimitTimes(held: milliseconds(500))
    #expect(try sentence(times)?.hasPrefix("disk: ") == true)
    #expect(try sentence(times, keys: "verify: {decode: full}\n")?.hasPrefix("decoding: ") == true)
  }

  @Test func ratesAndPausesAreNamedWithTheirKeys() throws {
    let rates = Bound.LimitTimes(concurrency: milliseconds(300), rate: milliseconds(500))
    #expect(
      try sentence(rates, keys: "prefetch: {per-host-rate: 5/s}\n")
        == "rate: requests waited for their time; raise prefetch.per-host-rate"
    )
    #expect(try sentence(rates, keys: "prefetch: {rate: 5/s}\n")?.hasSuffix("raise prefetch.rate") == true)
    let pauses = Bound.LimitTimes(rate: milliseconds(300), paused: milliseconds(600))
    #expect(try sentence(pauses)?.hasPrefix("paused: hosts that answered 429 or 503") == true)
  }

  @Test func moreTransfersThanTheJobMayUseAreNotClaimed() throws {
    // An earlier job of the command may have used more.
    #expect(try sentence(Bound.LimitTimes(hosts: milliseconds(500)), peak: 64)?.hasPrefix("per-host: 32 of 32 ") == true)
  }
}
