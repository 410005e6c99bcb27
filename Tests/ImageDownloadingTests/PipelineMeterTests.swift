import Base
import TestSupport
import Testing

@testable import ImageDownloading

/// The accumulated times of the bottlenecks.
@Suite struct PipelineMeterTests {
  private let clock = ManualClock()
  private let meter: PipelineMeter

  init() { meter = PipelineMeter(time: clock.source) }

  private func pass(_ milliseconds: Int) { clock.advance(by: .milliseconds(milliseconds)) }

  private func milliseconds(_ bottleneck: Bottleneck) -> UInt64 { meter.times[bottleneck] / 1_000_000 }

  @Test func `each moment counts for its bottleneck`() {
    pass(1)
    meter.supply(.reading)
    pass(2)
    meter.supply(.working)
    pass(3)
    meter.loopWoke(0, at: clock.source.monotonic())
    meter.supply(.none)
    pass(4)
    meter.transfersSleep(limit: .hosts, running: 2, ofThem: 2)
    pass(5)
    meter.store(.writing)
    meter.transfersSleep(limit: .held, running: 2, ofThem: 2)
    pass(6)
    meter.setCodingThreads(2)
    meter.codingWasAdded()
    pass(7)
    meter.codingWasAdded()
    pass(8)
    meter.codingEnded()
    meter.codingEnded()
    meter.transfersSleep(limit: .empty, running: 0, ofThem: 0)
    meter.store(.idle)
    pass(9)
    #expect(milliseconds(.reading) == 2 && milliseconds(.lookingUp) == 3 && milliseconds(.transferring) == 4)
    #expect(milliseconds(.hosts) == 5 && milliseconds(.writing) == 13 && milliseconds(.coding) == 8)
    #expect(Bottleneck.allCases.reduce(0) { $0 + milliseconds($1) } == 35)
  }

  @Test func `the time up to now counts`() {
    meter.supply(.waiting)
    pass(5)
    let before = meter.times
    #expect(before[.input] == 5_000_000)
    pass(7)
    #expect(meter.times.since(before)[.input] == 7_000_000 && meter.bottleneck == .input)
  }

  @Test func `a moment is counted once even if others have passed it`() {
    let woken = clock.source.monotonic()
    pass(5)
    meter.supply(.reading)
    // The clock was read before another thread was first.
    meter.loopWoke(0, at: woken)
    pass(5)
    #expect(Bottleneck.allCases.reduce(0) { $0 + milliseconds($1) } == 5)
  }
}

/// The bottleneck, in every combination of states.
@Suite struct PipelineStateTests {
  private static let supplies: [PipelineMeter.Supply] = [.none, .waiting, .reading, .working]
  private static let stores: [PipelineMeter.Store] = [.idle, .working, .writing]

  private func state(
    _ limit: StartLimit = .empty,
    running: Int = 0,
    works: Bool = false,
    _ supply: PipelineMeter.Supply = .none,
    _ store: PipelineMeter.Store = .idle,
    bodies: Int = 0
  ) -> PipelineState {
    var state = PipelineState()
    (state.limit, state.running, state.supply, state.store) = (limit, running, supply, store)
    if works { state.wakes(0) }
    (state.bodiesToCode, state.codingThreads) = (bodies, 2)
    return state
  }

  @Test func `while transfers sleep, their limit is the bottleneck`() {
    for supply in Self.supplies {
      for store in Self.stores {
        #expect(state(.concurrency, running: 4, supply, store, bodies: 3).bottleneck == .concurrency)
        #expect(state(.hosts, running: 4, supply, store, bodies: 3).bottleneck == .hosts)
        #expect(state(.notYet, running: 4, supply, store).bottleneck == .answers)
        #expect(state(.notYet, supply, store).bottleneck == .retry)
        #expect(state(.rate, supply, store).bottleneck == .rate)
        #expect(state(.paused, supply, store).bottleneck == .pause)
      }
    }
  }

  @Test func `while the transfer thread works, it is the bottleneck`() {
    for limit in [StartLimit.concurrency, .hosts, .notYet] {
      #expect(state(limit, running: 4, works: true).bottleneck == .transferring)
    }
    #expect(state(.rate, running: 4, works: true).bottleneck == .rate)
    #expect(state(.paused, running: 4, works: true).bottleneck == .pause)
    #expect(state(.held, running: 4, works: true, bodies: 2).bottleneck == .coding)
    #expect(state(.empty, running: 4, works: true).bottleneck == .transferring)
  }

  @Test func `if nothing waits, the caller is the bottleneck`() {
    for running in [0, 4] {
      for works in [false, true] {
        #expect(state(running: running, works: works, .waiting, .writing, bodies: 3).bottleneck == .input)
        #expect(state(running: running, works: works, .reading, .writing, bodies: 3).bottleneck == .reading)
        #expect(state(running: running, works: works, .working, .writing, bodies: 3).bottleneck == .lookingUp)
      }
    }
  }

  @Test func `once everything is requested, the last transfers are the bottleneck, then their results`() {
    #expect(state(running: 1, .none, .writing, bodies: 3).bottleneck == .answers)
    #expect(state(.empty, .none, .writing, bodies: 2).bottleneck == .coding)
    #expect(state(.empty, .none, .writing, bodies: 1).bottleneck == .writing)
    #expect(state(.empty, .none, .working, bodies: 1).bottleneck == .checking)
    #expect(state(.empty, .none, .idle, bodies: 1).bottleneck == .coding)
    #expect(state(.empty, .none, .idle).bottleneck == nil)
  }

  @Test func `without room the results are the bottleneck`() {
    for supply in Self.supplies {
      #expect(state(.held, running: 4, supply, .writing, bodies: 2).bottleneck == .coding)
      #expect(state(.held, running: 4, supply, .writing, bodies: 1).bottleneck == .writing)
      #expect(state(.held, running: 4, supply, .working).bottleneck == .checking)
      #expect(state(.held, running: 4, supply, .idle).bottleneck == nil)
    }
  }
}
