import Base
import Testing

@testable import ImageDownloading

/// The states of the circuit breaker, with simulated times.
struct BreakerStateTests {
  private let rules = CircuitBreaker(failures: 3, pause: .seconds(30), rounds: 2)
  private let start = MonotonicInstant(nanoseconds: 1_000)

  @Test func `consecutive failures pause a host, one request tries it, and after the last round it is down`() {
    var breaker = BreakerState()
    #expect((0..<3).map { _ in breaker.fail(by: rules, now: start) } == [.none, .none, .paused])
    #expect(breaker.earliestStart == start.advanced(by: .seconds(30)))
    #expect(!breaker.isClosed && !breaker.isDown)
    let later = start.advanced(by: .seconds(40))
    breaker.start()
    #expect(breaker.fail(by: rules, now: later) == .paused)
    #expect(breaker.earliestStart == later.advanced(by: .seconds(30)))
    breaker.start()
    #expect(breaker.fail(by: rules, now: later) == .down)
    #expect(breaker.recover() == .none)
    #expect(breaker.isDown && breaker.earliestStart == later.advanced(by: .seconds(300)))
    // Then one more try decides.
    breaker.start()
    #expect(!breaker.isDown && !breaker.isClosed)
    #expect(breaker.fail(by: rules, now: later) == .down)
    breaker.start()
    #expect(breaker.recover() == .recovered && breaker.isCalm)
    for _ in 0..<3 { _ = breaker.fail(by: rules, now: start) }
    breaker.forget()
    #expect(breaker.isCalm && breaker.earliestStart <= start)
  }

  @Test func `a response resets the count, even during the pause`() {
    var breaker = BreakerState()
    for _ in 0..<2 { _ = breaker.fail(by: rules, now: start) }
    #expect(breaker.recover() == .none)
    #expect(breaker.isCalm)
    for _ in 0..<3 { _ = breaker.fail(by: rules, now: start) }
    #expect(breaker.recover() == .recovered)
    #expect(breaker.isCalm && breaker.earliestStart <= start)
  }

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
    for _ in 0..<1000 { #expect(breaker.fail(by: .off, now: start) == .none) }
    #expect(breaker.isClosed)
  }
}
