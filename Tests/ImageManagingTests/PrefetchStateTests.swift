import Base
import Testing

@testable import ImageManaging

/// The state machine alone: no threads, no sockets, and a clock that only these tests advance.
@Suite struct PrefetchStateTests {
  private let start = MonotonicInstant(nanoseconds: 1_000)

  @Test func `an empty source ends the run at once`() {
    var state = PrefetchState(window: PrefetchRun.largestWindow, deadline: nil)
    #expect(state.next(now: start) == .read(maximum: PrefetchState.batchLimit))
    state.read(pending: 0, source: .ended)
    #expect(state.next(now: start) == .end)
  }

  @Test func `a run ends only when all pending requests have completed`() {
    var state = PrefetchState(window: PrefetchRun.largestWindow, deadline: nil)
    state.read(pending: 3, source: .ended)
    #expect(state.next(now: start) == .wait(until: nil, forSource: false))
    state.completed(2)
    #expect(state.next(now: start) == .wait(until: nil, forSource: false))
    state.completed(1)
    #expect(state.next(now: start) == .end)
  }

  @Test func `a run reads no further than its look-ahead window`() {
    var state = PrefetchState(window: PrefetchRun.largestWindow, deadline: nil)
    state.read(pending: PrefetchRun.largestWindow - 10, source: .open)
    #expect(state.next(now: start) == .read(maximum: 10))
    state.read(pending: 10, source: .open)
    #expect(state.next(now: start) == .wait(until: nil, forSource: false))
    state.completed(1)
    #expect(state.next(now: start) == .read(maximum: 1))
  }

  @Test func `a blocked source isn't read until it is ready`() {
    var state = PrefetchState(window: PrefetchRun.largestWindow, deadline: nil)
    state.read(pending: 0, source: .blocked)
    #expect(state.next(now: start) == .wait(until: nil, forSource: true))
    state.sourceIsReady()
    #expect(state.next(now: start) == .read(maximum: PrefetchState.batchLimit))
  }

  @Test func `the deadline cancels everything once and waits for the completions`() {
    let deadline = start.advanced(by: .seconds(1))
    var state = PrefetchState(window: PrefetchRun.largestWindow, deadline: deadline)
    state.read(pending: 2, source: .open)
    #expect(state.next(now: start) == .read(maximum: PrefetchState.batchLimit))
    #expect(state.next(now: deadline) == .cancel(includingRunning: true))
    #expect(state.deadlinePassed)
    #expect(state.next(now: deadline) == .wait(until: nil, forSource: false))
    state.completed(2)
    #expect(state.next(now: deadline) == .end)
  }

  @Test func `a run complete at its deadline isn't interrupted`() {
    var state = PrefetchState(window: PrefetchRun.largestWindow, deadline: start)
    state.read(pending: 0, source: .ended)
    _ = state.next(now: start)
    #expect(!state.deadlinePassed)
  }

  @Test func `running requests get five seconds before they are cancelled too`() {
    var state = PrefetchState(window: PrefetchRun.largestWindow, deadline: nil)
    state.read(pending: 2, source: .open)
    state.stop(gracefully: true, now: start)
    #expect(state.next(now: start) == .cancel(includingRunning: false))
    let end = start.advanced(by: .seconds(5))
    #expect(state.next(now: start) == .wait(until: end, forSource: false))
    #expect(state.next(now: end) == .cancel(includingRunning: true))
    #expect(state.next(now: end) == .wait(until: nil, forSource: false))
    state.completed(2)
    #expect(state.next(now: end) == .end)
  }

  @Test func `a stopped run reads nothing more`() {
    var state = PrefetchState(window: PrefetchRun.largestWindow, deadline: nil)
    state.stop(gracefully: true, now: start)
    #expect(state.next(now: start) == .cancel(includingRunning: false))
    #expect(state.next(now: start) == .end)
    #expect(state.isStopping && !state.sourceEnded)
  }

  @Test func `a paused run reads nothing until it is resumed`() {
    var state = PrefetchState(window: PrefetchRun.largestWindow, deadline: nil)
    state.setPaused(true)
    #expect(state.next(now: start) == .wait(until: nil, forSource: false))
    state.setPaused(false)
    #expect(state.next(now: start) == .read(maximum: PrefetchState.batchLimit))
  }
}
