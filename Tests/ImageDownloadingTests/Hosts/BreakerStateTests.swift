import Base
import Testing

@testable import ImageDownloading

/// The states of the circuit breaker, with simulated times.
struct BreakerStateTests {
  private let rules = CircuitBreaker(failures: 3, pause: .seconds(30), rounds: 2)
  private let start = MonotonicInstant(nanoseconds: 1_000)

  @Test func `a request begun before the pause isn't the try, and an inconclusive one allows another`() {
    var breaker = BreakerState()
    for _ in 0..<9 { _ = breaker.fail(by: rules, now: start) }
    #expect(breaker.earliestStart == start.advanced(by: .seconds(30)))
    breaker.start()
    breaker.abandonTry()
    #expect(breaker.earliestStart <= start && !breaker.isClosed)
    breaker.start()
    #expect(breaker.fail(by: rules, now: start) == .paused)
  }

  @Test func `the circuit breaker can be switched off`() {
    var breaker = BreakerState()
    for _ in 0..<1000 { #expect(breaker.fail(by: CircuitBreaker(failures: .max), now: start) == .none) }
    #expect(breaker.isClosed)
  }
}
