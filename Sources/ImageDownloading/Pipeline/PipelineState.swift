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
