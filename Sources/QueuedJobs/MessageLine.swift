#if Queue
import ImagePrimitives
import WorkQueues

/// Messages that have arrived and aren't started, and the order in which they are started.
///
/// A started message stays with this worker to the end; the rest can be given to idle workers. So it starts only enough
/// to keep its transfers busy: for each host, twice the number of transfers that the host takes, whatever else there is
/// for that host.
struct MessageLine {
  /// No more messages of a host are started while it has that many open requests.
  let hostLimit: Int
  private let limit: Int

  /// Higher priorities first, each in order of arrival.
  private var messages: [HeldMessage] = []
  /// Open requests by host.
  private var open: [Int: Int] = [:]
  /// The sum over all hosts, each counted up to ``hostLimit``: more requests of a host keep no transfer busy.
  private var busy = 0

  /// Creates a line for that many transfers in total and per host.
  init(concurrency: Int, perHost: Int) {
    hostLimit = 2 * min(perHost, concurrency)
    // Enough for messages of as many hosts as needed, plus as many again for requests that must wait.
    limit = 4 * concurrency
  }

  var isEmpty: Bool { messages.isEmpty }
  var hasOpenRequests: Bool { !open.isEmpty }
  /// Whether no message is waiting and transfers will run out soon.
  var isRunningDry: Bool { messages.isEmpty && busy < hostLimit }

  mutating func add(_ message: HeldMessage) {
    let last = messages.lastIndex { $0.message.priority.rawValue <= message.message.priority.rawValue }
    messages.insert(message, at: last.map { $0 + 1 } ?? 0)
  }

  /// Takes the next message to start; `pace` is the number of entries finished in the time that it takes to get more.
  mutating func next(pace: Int) -> HeldMessage? { firstIndex(pace).map { messages.remove(at: $0) } }

  /// Whether there is a message to start.
  func hasNext(pace: Int) -> Bool { firstIndex(pace) != nil }

  private func firstIndex(_ pace: Int) -> Int? {
    guard busy < max(limit, pace) else { return nil }
    let hostLimit = max(hostLimit, pace)
    return messages.firstIndex { open[$0.host, default: 0] < hostLimit }
  }

  /// Adds requests of that host, or removes finished ones if `count` is negative.
  mutating func change(_ host: Int, by count: Int) {
    let before = open[host, default: 0]
    let after = before + count
    open[host] = after == 0 ? nil : after
    busy += min(after, hostLimit) - min(before, hostLimit)
  }

  /// Takes the messages to give to idle workers: the last ones, at most half of the entries, but at least one message.
  mutating func takePart() -> [HeldMessage] {
    var left = messages.reduce(0) { $0 + $1.message.entries.count } / 2
    var count = 0
    for message in messages.reversed() {
      left -= message.message.entries.count
      guard left >= 0 || count == 0 else { break }
      count += 1
    }
    defer { messages.removeLast(count) }
    return Array(messages.suffix(count))
  }

  /// Takes the messages that satisfy a condition.
  mutating func takeAll(where isTaken: (HeldMessage) -> Bool) -> [HeldMessage] {
    defer { messages.removeAll(where: isTaken) }
    return messages.filter(isTaken)
  }
}

/// The number of entries that a worker holds: few, so that others get their share and little is repeated after a crash;
/// but as many as it finishes in a quarter of a second, so that it doesn't have to wait for Redis.
struct LookAhead {
  /// The maximum, however fast the worker is.
  static let most = 4096
  static let period = Duration.milliseconds(250)

  private let least: Int
  private var finished = 0
  /// The number of entries that were finished in the last period.
  private(set) var pace = 0
  private var periodEnd: MonotonicInstant
  /// The number of entries that may be held or requested now.
  private(set) var entries: Int

  init(least: Int, now: MonotonicInstant) {
    self.least = least
    entries = least
    periodEnd = now.advanced(by: Self.period)
  }

  /// Records that many finished entries.
  mutating func finish(_ count: Int) { finished += count }

  /// Adapts to the entries finished in the last period.
  mutating func adapt(now: MonotonicInstant) {
    guard now >= periodEnd else { return }
    pace = min(finished, Self.most)
    entries = max(least, pace)
    finished = 0
    periodEnd = now.advanced(by: Self.period)
  }
}
#endif
