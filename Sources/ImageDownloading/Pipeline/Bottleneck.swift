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

  /// Zero for each.
  package init() {}

  /// The time of one of them.
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
