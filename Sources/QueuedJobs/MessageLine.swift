#if Queue
import ImagePrimitives
import WorkQueues

/// Messages that have come to a worker and are not begun, and which of them is begun when.
///
/// What is begun is this worker's to the end; the rest it can give to one that has nothing to do. So it begins no more than keeps
/// its transfers busy: of a host that takes a few at a time as many more again, whatever else is there of that host.
struct MessageLine {
  /// Of one host it begins nothing more while so many requests are open.
  let hostLimit: Int
  private let limit: Int

  /// Higher classes first, in each as they came.
  private var messages: [HeldMessage] = []
  /// Open requests by host.
  private var open: [Int: Int] = [:]
  /// Those of all hosts, of each no more than ``hostLimit``: the rest of a host keeps no transfer busy.
  private var busy = 0

  /// For so many transfers in all, and so many of a host.
  init(concurrency: Int, perHost: Int) {
    hostLimit = 2 * min(perHost, concurrency)
    // Room for messages of as many hosts as it takes, and as much again for those whose requests have to wait.
    limit = 4 * concurrency
  }

  var isEmpty: Bool { messages.isEmpty }
  var hasOpenRequests: Bool { !open.isEmpty }
  /// Whether nothing waits here, and transfers run out soon.
  var isRunningDry: Bool { messages.isEmpty && busy < hostLimit }

  mutating func add(_ message: HeldMessage) {
    let last = messages.lastIndex { $0.message.priority.rawValue <= message.message.priority.rawValue }
    messages.insert(message, at: last.map { $0 + 1 } ?? 0)
  }

  /// Takes the message that is to be begun now; `pace` is how many entries are finished in the time that it takes to get more.
  mutating func next(pace: Int) -> HeldMessage? { firstIndex(pace).map { messages.remove(at: $0) } }

  /// Whether there is one.
  func hasNext(pace: Int) -> Bool { firstIndex(pace) != nil }

  private func firstIndex(_ pace: Int) -> Int? {
    guard busy < max(limit, pace) else { return nil }
    let hostLimit = max(hostLimit, pace)
    return messages.firstIndex { open[$0.host, default: 0] < hostLimit }
  }

  /// Requests of that host were begun, or have ended where `count` is below 0.
  mutating func change(_ host: Int, by count: Int) {
    let before = open[host, default: 0]
    let after = before + count
    open[host] = after == 0 ? nil : after
    busy += min(after, hostLimit) - min(before, hostLimit)
  }

  /// Takes what is to be given to workers that have nothing to do: the last messages, at most half of the entries, but one.
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

  /// Takes those that fulfil a condition.
  mutating func takeAll(where isTaken: (HeldMessage) -> Bool) -> [HeldMessage] {
    defer { messages.removeAll(where: isTaken) }
    return messages.filter(isTaken)
  }
}

/// How many entries a worker holds: few, so that others have their part and little has to be done again when it dies; and as many
/// as it finishes within a quarter of a second, so that it need not wait for Redis.
struct LookAhead {
  /// It holds no more, however fast it is.
  static let most = 4096
  static let period = Duration.milliseconds(250)

  private let least: Int
  private var finished = 0
  /// How many entries were finished in the last period.
  private(set) var pace = 0
  private var periodEnd: MonotonicInstant
  /// Entries that may be held or asked for now.
  private(set) var entries: Int

  init(least: Int, now: MonotonicInstant) {
    self.least = least
    entries = least
    periodEnd = now.advanced(by: Self.period)
  }

  /// That many entries have been finished.
  mutating func finish(_ count: Int) { finished += count }

  /// Judges by what was finished in the period that is over.
  mutating func adapt(now: MonotonicInstant) {
    guard now >= periodEnd else { return }
    pace = min(finished, Self.most)
    entries = max(least, pace)
    finished = 0
    periodEnd = now.advanced(by: Self.period)
  }
}
#endif
