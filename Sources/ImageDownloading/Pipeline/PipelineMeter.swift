import ImagePrimitives
import Synchronization

/// For how long each part of a load's way held up the others: the parts tell what they begin to do, and the time up to then counts for
/// what was the bottleneck.
///
/// They tell it where they change between work and sleep, which is seldom beside what a URL costs: the transfer thread twice a turn, the
/// others by batches, the coding threads for each body. Where a downloader serves several managers or runs, it is of all of them
/// together, and of who asks the one that told last counts.
package final class PipelineMeter: Sendable {
  /// What who asks for images does.
  package enum Supply: Sendable {
    /// Nothing: all is asked for, or as much as may be at once.
    case none
    /// It waits for its own input.
    case waiting
    /// It reads its input.
    case reading
    /// It looks up what is cached, or tells of results.
    case working
  }

  /// What the store thread does.
  package enum Store: Sendable {
    case idle
    /// It judges what has come.
    case working
    /// It writes, or waits for the disk.
    case writing
  }

  private struct State {
    var pipeline = PipelineState()
    var since: MonotonicInstant
    var times = BottleneckTimes()

    /// The time up to `now` counts for what was the bottleneck.
    mutating func advance(to now: MonotonicInstant) {
      // Threads read the clock before they wait for one another here.
      guard now > since else { return }
      if let bottleneck = pipeline.bottleneck { times[bottleneck] += now.nanoseconds - since.nanoseconds }
      since = now
    }
  }

  private let state: Mutex<State>
  private let time: TimeSource

  init(time: TimeSource) {
    self.time = time
    state = Mutex(State(since: time.monotonic()))
  }

  /// What is the bottleneck now; nil where nothing is under way.
  package var bottleneck: Bottleneck? { state.withLock { $0.pipeline.bottleneck } }

  /// Up to this moment.
  package var times: BottleneckTimes {
    let now = time.monotonic()
    return state.withLock { state in
      state.advance(to: now)
      return state.times
    }
  }

  /// Who asks for images begins to do that.
  package func supply(_ supply: Supply) { change { $0.supply = supply } }

  /// The store thread begins to do that.
  package func store(_ store: Store) { change { $0.store = store } }

  /// So many bodies keep all coding threads busy.
  package func setCodingThreads(_ count: Int) { change { $0.codingThreads = count } }

  /// The coding threads have one body more to look at.
  package func codingWasAdded() { change { $0.bodiesToCode += 1 } }

  /// They have done with one.
  package func codingEnded() { change { $0.bodiesToCode -= 1 } }

  /// The transfer thread sleeps from now on, with so many transfers, and this kept more from starting.
  func transfersSleep(limit: StartLimit, running: Int) {
    change { pipeline in
      pipeline.isTransferring = false
      pipeline.limit = limit
      pipeline.running = running
    }
  }

  /// The transfer thread has woken.
  func transfersWoke(at now: MonotonicInstant) {
    state.withLock { state in
      state.advance(to: now)
      state.pipeline.isTransferring = true
    }
  }

  private func change(_ change: (inout PipelineState) -> Void) {
    let now = time.monotonic()
    state.withLock { state in
      state.advance(to: now)
      change(&state.pipeline)
    }
  }
}
