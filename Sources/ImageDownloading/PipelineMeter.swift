import ImagePrimitives
import Synchronization

/// What, at one moment, keeps all that is to be loaded from being there sooner.
///
/// A load goes from who asks (a manifest is read, the cache is looked up) over the transfer thread and the network to the coding
/// threads and the store thread. One step at a time holds up the others: to make that one faster makes all of it faster, and nothing
/// else does.
package enum Bottleneck: Int, CaseIterable, Sendable {
  /// Who asks waits for its own input, such as a pipe or a list that is fetched.
  case input
  /// Who asks reads its input.
  case reading
  /// Who asks looks up what is cached, and tells of results.
  case lookingUp
  /// All transfers are used, and wait for servers.
  case concurrency
  /// Hosts are at their limit, and their transfers wait for them.
  case hosts
  /// The time of the next request, by a rate, has not come.
  case rate
  /// Hosts are left alone: by their own wish (429, 503), or since they do nothing but fail.
  case pause
  /// Nothing is left but requests that failed and wait for the time of their next try.
  case retry
  /// Transfers run, wait for servers, and nothing else could start: the last ones, or a host's first.
  case answers
  /// The transfer thread works, and what could start or end waits for it.
  case transferring
  /// What has come waits for the coding threads, which are all busy.
  case coding
  /// What has come waits for the store thread, which writes.
  case writing
  /// What has come waits for the store thread, which looks at headers and sums.
  case checking
}

/// For how long each was the bottleneck, in nanoseconds.
package struct BottleneckTimes: Sendable, Equatable {
  private var nanoseconds = [UInt64](repeating: 0, count: Bottleneck.allCases.count)

  package init() {}

  package subscript(_ bottleneck: Bottleneck) -> UInt64 {
    get { nanoseconds[bottleneck.rawValue] }
    set { nanoseconds[bottleneck.rawValue] = newValue }
  }

  /// What was added since `earlier`.
  package func since(_ earlier: BottleneckTimes) -> BottleneckTimes {
    var times = self
    for bottleneck in Bottleneck.allCases { times[bottleneck] &-= earlier[bottleneck] }
    return times
  }
}

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

/// What every part of a load's way does at one moment, and which of them holds up the others.
struct PipelineState {
  /// What who asks for images does.
  var supply = PipelineMeter.Supply.none
  /// What the store thread does.
  var store = PipelineMeter.Store.idle
  /// Bodies that the coding threads have, or are to have.
  var bodiesToCode = 0
  /// So many bodies keep all coding threads busy.
  var codingThreads = 1
  /// What kept more transfers from starting when the transfer thread last looked.
  var limit = StartLimit.empty
  /// Transfers that ran then.
  var running = 0
  /// Whether the transfer thread works, and does not sleep.
  var isTransferring = false

  /// nil where nothing is under way.
  ///
  /// While the transfer thread works, slots wait for it and not for servers, so that it is the bottleneck itself; not so where a time or
  /// a lack of room keeps the next transfer from starting anyhow.
  var bottleneck: Bottleneck? {
    switch limit {
    case .held: arrived
    case .rate: .rate
    case .paused: .pause
    case .concurrency: isTransferring ? .transferring : .concurrency
    case .hosts: isTransferring ? .transferring : .hosts
    case .notYet: isTransferring ? .transferring : running > 0 ? .answers : .retry
    case .empty: starved
    }
  }

  /// Where nothing waits for a transfer.
  private var starved: Bottleneck? {
    switch supply {
    case .waiting: .input
    case .reading: .reading
    case .working: .lookingUp
    case .none: isTransferring ? .transferring : running > 0 ? .answers : arrived
    }
  }

  /// Where what has arrived is to be done with first. Threads that have more than they can do at once come before the disk, to which each
  /// image goes from them.
  private var arrived: Bottleneck? {
    if bodiesToCode >= codingThreads { return .coding }
    return switch store {
    case .writing: .writing
    case .working: .checking
    case .idle: bodiesToCode > 0 ? .coding : nil
    }
  }
}
