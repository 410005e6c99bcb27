import Base
import Synchronization

/// The step that limits the speed of loading at a moment.
///
/// A load passes from the caller (who reads a manifest and looks up the cache) over the transfer thread and the network to the coding
/// threads and the store thread. One step at a time is the bottleneck: only a faster bottleneck makes loading faster.
package enum Bottleneck: Int, CaseIterable, Sendable {
  /// The caller waits for its own input, such as a pipe or a list that is being fetched.
  case input
  case reading
  /// The caller looks up the cache or reports results.
  case lookingUp
  /// All transfers are in use and wait for servers.
  case concurrency
  /// Hosts are at their limit, and their transfers wait for them.
  case hosts
  /// The same, of hosts that get fewer transfers, since they were slow or failed.
  case slowHosts
  case rate
  /// Hosts are paused: they asked for it (429, 503) or kept failing.
  case pause
  /// Only failed requests are left, which wait for their retry.
  case retry
  /// Transfers wait for servers, and nothing else can start: the last ones, or the first one of a host.
  case answers
  /// The transfer thread is busy; transfers that could start or end wait for it.
  case transferring
  /// Received images wait for the coding threads, which are all busy.
  case coding
  /// Received images wait for the store thread, which writes.
  case writing
  /// Received images wait for the store thread, which checks headers and checksums.
  case checking
}

/// How long each step was the bottleneck, in nanoseconds.
package struct BottleneckTimes: Sendable, Equatable {
  private var nanoseconds = [UInt64](repeating: 0, count: Bottleneck.allCases.count)

  package init() {}

  package subscript(_ bottleneck: Bottleneck) -> UInt64 {
    get { nanoseconds[bottleneck.rawValue] }
    set { nanoseconds[bottleneck.rawValue] = newValue }
  }

  package func since(_ earlier: BottleneckTimes) -> BottleneckTimes {
    var times = self
    for bottleneck in Bottleneck.allCases { times[bottleneck] &-= earlier[bottleneck] }
    return times
  }
}

/// Measures how long each step of loading was the bottleneck: threads report their activity, which ends the one before.
///
/// They report changes between work and sleep, which are rare compared with URLs: the transfer thread twice per iteration,
/// callers per batch, the coding threads per body. The figures cover all managers and runs of a downloader.
package final class PipelineMeter: Sendable {
  package enum Supply: Sendable {
    /// Nothing: everything is requested, or as much as is allowed at once.
    case none
    /// It waits for its own input.
    case waiting
    case reading
    /// It looks up the cache or reports results.
    case working
  }

  package enum Store: Sendable {
    case idle
    /// It checks received images.
    case working
    /// It writes, or waits for the disk.
    case writing
  }

  private struct State {
    var pipeline = PipelineState()
    var since: MonotonicInstant
    var times = BottleneckTimes()

    /// Adds the time up to `now` to the current bottleneck.
    mutating func advance(to now: MonotonicInstant) {
      // Threads read the clock before they wait for this lock.
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

  /// The current bottleneck; nil if nothing is loading.
  package var bottleneck: Bottleneck? { state.withLock { $0.pipeline.bottleneck } }

  package var times: BottleneckTimes {
    let now = time.monotonic()
    return state.withLock { state in
      state.advance(to: now)
      return state.times
    }
  }

  package func supply(_ supply: Supply) { change { $0.supply = supply } }

  package func store(_ store: Store) { change { $0.store = store } }

  /// Sets how many bodies keep all coding threads busy.
  package func setCodingThreads(_ count: Int) { change { $0.codingThreads = count } }

  /// Counts a body that is passed to the coding threads.
  package func codingWasAdded() { change { $0.bodiesToCode += 1 } }

  package func codingEnded() { change { $0.bodiesToCode -= 1 } }

  /// Records that the transfer thread sleeps, with `running` transfers, some its own, and a limit that keeps more from starting.
  func transfersSleep(limit: StartLimit, running: Int, ofThem own: Int) {
    change { pipeline in
      pipeline.sleeps(0, hasTransfers: own > 0)
      pipeline.limit = limit
      pipeline.running = running
    }
  }

  func loopWoke(_ loop: Int, at now: MonotonicInstant) {
    state.withLock { state in
      state.advance(to: now)
      state.pipeline.wakes(loop)
    }
  }

  /// Records that the thread of a loop sleeps from now on.
  func loopSleeps(_ loop: Int, hasTransfers: Bool) { change { $0.sleeps(loop, hasTransfers: hasTransfers) } }

  private func change(_ change: (inout PipelineState) -> Void) {
    let now = time.monotonic()
    state.withLock { state in
      state.advance(to: now)
      change(&state.pipeline)
    }
  }
}

/// The activity of each step at one moment, which determines the bottleneck.
struct PipelineState {
  var supply = PipelineMeter.Supply.none
  var store = PipelineMeter.Store.idle
  /// Bodies in the coding threads or waiting for them.
  var bodiesToCode = 0
  /// How many bodies keep all coding threads busy.
  var codingThreads = 1
  /// What kept more transfers from starting at the transfer thread's last iteration.
  var limit = StartLimit.empty
  /// Transfers that ran at that time.
  var running = 0
  /// The loops that are awake, and those that sleep although they have transfers: a bit for each.
  private var awake: UInt32 = 0
  private var waiting: UInt32 = 0

  /// Whether the transfer thread, which also orders all transfers, or all loops with transfers are busy.
  var isTransferring: Bool { awake & 1 != 0 || awake != 0 && waiting == 0 }

  mutating func wakes(_ loop: Int) {
    awake |= 1 << loop
    waiting &= ~(1 << loop)
  }

  mutating func sleeps(_ loop: Int, hasTransfers: Bool) {
    awake &= ~(1 << loop)
    if hasTransfers { waiting |= 1 << loop } else { waiting &= ~(1 << loop) }
  }

  /// The bottleneck; nil if nothing is loading.
  ///
  /// While the threads that make transfers work, slots wait for them, unless a time or a lack of room delays the next.
  var bottleneck: Bottleneck? {
    switch limit {
    case .held: arrived
    case .rate: .rate
    case .paused: .pause
    case .concurrency: isTransferring ? .transferring : .concurrency
    case .hosts: isTransferring ? .transferring : .hosts
    case .slowHosts: isTransferring ? .transferring : .slowHosts
    case .notYet: isTransferring ? .transferring : running > 0 ? .answers : .retry
    case .empty: starved
    }
  }

  /// The bottleneck if no download waits for a transfer.
  private var starved: Bottleneck? {
    switch supply {
    case .waiting: .input
    case .reading: .reading
    case .working: .lookingUp
    case .none: isTransferring ? .transferring : running > 0 ? .answers : arrived
    }
  }

  /// The bottleneck among the steps after the transfer. Busy coding threads come before the disk, since images pass through them first.
  private var arrived: Bottleneck? {
    if bodiesToCode >= codingThreads { return .coding }
    return switch store {
    case .writing: .writing
    case .working: .checking
    case .idle: bodiesToCode > 0 ? .coding : nil
    }
  }
}
