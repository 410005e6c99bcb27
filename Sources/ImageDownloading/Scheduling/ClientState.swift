import Base

/// A download that waits for a transfer.
struct WaitingDownload {
  let client: ClientState
  let id: UInt64
  var priority: LoadPriority
  let sequence: Int64
  let wantsDetails: Bool
  /// Whether it joined the transfer of another download.
  var hasJoined = false
  /// Whether transient failures are retried for it.
  var mayRetry = true

  init(_ download: Download, client: ClientState) {
    self.client = client
    id = download.id
    priority = download.priority
    sequence = download.sequence
    wantsDetails = download.wantsDetails
  }

  var position: QueuePosition { QueuePosition(priority: priority, sequence: sequence) }

  func `is`(_ id: UInt64, of client: ClientState) -> Bool { self.id == id && self.client === client }
}

/// A position in the queue: a class, and a sequence within that.
struct QueuePosition: Equatable {
  var priority: LoadPriority
  var sequence: Int64

  func isBefore(_ other: QueuePosition) -> Bool {
    priority > other.priority || priority == other.priority && sequence < other.sequence
  }
}

extension Waiters<WaitingDownload> {
  /// The position of the one that would start first.
  var best: QueuePosition {
    dropFirst().reduce(self[0].position) { best, other in other.position.isBefore(best) ? other.position : best }
  }

  var wantsDetails: Bool { contains(where: \.wantsDetails) }

  mutating func update(_ id: UInt64, of client: ClientState, _ change: (inout WaitingDownload) -> Void) {
    if let index = firstIndex(where: { $0.is(id, of: client) }) { change(&self[index]) }
  }
}

/// The transfer thread's state of a client.
final class ClientState {
  private let receiver: any DownloadReceiver
  /// The slots of transfers, by download.
  private(set) var slots: [UInt64: Int] = [:]
  /// Its downloads that wait for their start or a retry.
  var waiting = 0
  private var events: [DownloadEvent] = []

  init(_ receiver: any DownloadReceiver) { self.receiver = receiver }

  /// Whether it keeps new transfers from starting.
  var holdsBack: Bool { waiting > 0 && !receiver.mayStart }

  /// Adds a download; traps if one with that number has not ended.
  func add(_ id: UInt64, slot: Int) {
    let previous = slots.updateValue(slot, forKey: id)
    trap(unless: previous == nil, "the number \(id) is in use by another download")
  }

  func move(_ id: UInt64, to slot: Int) { slots[id] = slot }

  /// Adds an event, delivered at the end of the iteration.
  func notify(_ event: DownloadEvent) { events.append(event) }

  /// Adds the last event of a download, whose number may then be reused.
  func end(_ id: UInt64, _ event: DownloadEvent) {
    slots[id] = nil
    events.append(event)
  }

  func deliver() {
    guard !events.isEmpty else { return }
    receiver.receive(events)
    events.removeAll(keepingCapacity: true)
  }
}

/// Reports the progress of a download to its client.
struct ProgressWatch {
  let client: ClientState
  let id: UInt64
  private let interval: Duration
  private var hasNotifiedStart = false
  private(set) var hasNotifiedHead = false
  private var lastNotified: MonotonicInstant?
  private var last: (received: Int, expected: Int?)?

  init(_ download: Download, client: ClientState) {
    self.client = client
    id = download.id
    interval = download.progressInterval
  }

  /// Reports the start once, not again after a retry. Unless `isContinued`, the body starts over.
  mutating func start(isContinued: Bool = false) {
    if !isContinued {
      hasNotifiedHead = false
      last = nil
    }
    guard !hasNotifiedStart else { return }
    hasNotifiedStart = true
    client.notify(.started(id: id))
  }

  /// Reports that `received` bytes were received; the first call reports the head and 0 bytes before.
  mutating func advance(to received: Int, of expected: Int?, now: MonotonicInstant, head: @autoclosure () -> ResponseHead?) {
    if !hasNotifiedHead {
      hasNotifiedHead = true
      if let head = head() { client.notify(.response(id: id, head)) }
      notify(0, expected, now)
    }
    guard let last, let lastNotified, received > last.received, now >= lastNotified.advanced(by: interval) else { return }
    notify(received, expected, now)
  }

  /// Reports that the whole body was received.
  mutating func finish(_ received: Int, now: MonotonicInstant, head: @autoclosure () -> ResponseHead?) {
    advance(to: 0, of: received, now: now, head: head())
    if last?.received != received || last?.expected != received { notify(received, received, now) }
  }

  /// Reports that the attempt failed and another follows.
  func retry(after failure: ImageFailure, in delay: Duration) { client.notify(.retrying(id: id, failure, after: delay)) }

  private mutating func notify(_ received: Int, _ expected: Int?, _ now: MonotonicInstant) {
    last = (received, expected)
    lastNotified = now
    client.notify(.progress(id: id, received: received, expected: expected))
  }
}

extension DownloadScheduler {
  func watch(_ download: Download, of client: ClientState, slot: Int) {
    guard download.wantsProgress else { return }
    var watch = ProgressWatch(download, client: client)
    switch pending[slot].activity {
    case .transferring(let index):
      watch.start()
      pool.observe(pool[index])
    case .loading: watch.start()
    case .none, .queued, .held, .awaitingRobots: break
    }
    watches[slot, default: []].append(watch)
  }

  func forgetWatch(_ waiter: WaitingDownload, _ slot: Int) {
    watches[slot]?.removeAll { $0.id == waiter.id && $0.client === waiter.client }
  }

  func notifyStarted(_ slot: Int) {
    let isContinued = pending[slot].continuation != nil || pending[slot].accepted != nil
    update(slot) { $0.start(isContinued: isContinued) }
  }

  func notifyRetry(_ slot: Int, after failure: ImageFailure, in delay: Duration) {
    update(slot) { $0.retry(after: failure, in: delay) }
  }

  /// Reports the last progress of a transfer, before its end.
  func notifyEnd(of transfer: Transfer, _ slot: Int, _ outcome: TransferOutcome) {
    update(slot) { watch in
      switch outcome {
      case .response(let response) where !response.isNotModified:
        watch.finish(transfer.body.count, now: now, head: transfer.responseHead)
      case .redirect, .refused, .needsMore, .startOver, .remoteCache: break
      case .response, .failure:
        // The body of a rejected response isn't reported.
        if let head = transfer.responseHead { watch.advance(to: 0, of: transfer.response.declaredBytes, now: now, head: head) }
      }
    }
  }

  /// Reports the last progress of a load.
  func notifyLoaded(_ slot: Int, _ response: LoaderResponse) {
    update(slot) { watch in
      if !response.isNotModified { watch.finish(response.body.count, now: now, head: nil) }
    }
  }

  func update(_ slot: Int, _ change: (inout ProgressWatch) -> Void) {
    guard !watches.isEmpty, var list = watches[slot] else { return }
    for index in list.indices { change(&list[index]) }
    watches[slot] = list
  }
}
