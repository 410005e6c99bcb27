import Base

/// A download that waits for a transfer.
struct WaitingDownload {
  let client: ClientState
  let id: UInt64
  var priority: LoadPriority
  let sequence: Int64
  let wantsDetails: Bool
  /// Nil unless it wants progress.
  let watch: ProgressWatch?
  /// Its options, of which those about waiting for its host count.
  var prepared: PreparedOptions
  /// Whether it joined the transfer of another download.
  var hasJoined = false
  var mayRetry = true

  init(_ download: Download, client: ClientState) {
    self.client = client
    id = download.id
    priority = download.priority
    sequence = download.sequence
    wantsDetails = download.wantsDetails
    prepared = download.prepared
    watch = download.wantsProgress ? ProgressWatch(download, client: client) : nil
  }

  // Without a copy, which would retain each part.
  var patience: DownloadOptions { _read { yield prepared.options } }

  var position: QueuePosition { QueuePosition(priority: priority, sequence: sequence) }

  func `is`(_ id: UInt64, of client: ClientState) -> Bool { self.id == id && self.client === client }
}

/// A position in the queue: a class, and a sequence within that.
struct QueuePosition: Comparable {
  var priority: LoadPriority
  var sequence: Int64

  /// Whether `left` starts first.
  static func < (left: QueuePosition, right: QueuePosition) -> Bool {
    left.priority > right.priority || left.priority == right.priority && left.sequence < right.sequence
  }
}

extension [WaitingDownload] {
  /// The position of the one that would start first.
  var best: QueuePosition { lazy.map(\.position).min()! }

  var wantsDetails: Bool { contains(where: \.wantsDetails) }

  mutating func update(_ id: UInt64, of client: ClientState, _ change: (inout WaitingDownload) -> Void) {
    if let index = firstIndex(where: { $0.is(id, of: client) }) { change(&self[index]) }
  }
}

final class ClientState {
  /// Nil for the downloads of the scheduler itself.
  private let receiver: (any DownloadReceiver)?
  /// The slots of transfers, by download.
  private(set) var slots: [UInt64: Int] = [:]
  /// Its downloads that wait for their start or a retry.
  var waiting = 0
  private var events: [DownloadEvent] = []

  init(_ receiver: (any DownloadReceiver)?) { self.receiver = receiver }

  /// Whether it keeps new transfers from starting.
  var holdsBack: Bool { waiting > 0 && receiver?.mayStart == false }

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
    guard let receiver, !events.isEmpty else { return }
    receiver.receive(events)
    events.removeAll(keepingCapacity: true)
  }

  /// Returns the events since the last call, if there is no receiver.
  func takeEvents() -> [DownloadEvent] {
    defer { events.removeAll() }
    return events
  }
}

/// Reports the progress of a download to its client.
final class ProgressWatch {
  private let client: ClientState
  private let id: UInt64
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
  func start(isContinued: Bool = false) {
    if !isContinued {
      hasNotifiedHead = false
      last = nil
    }
    guard !hasNotifiedStart else { return }
    hasNotifiedStart = true
    client.notify(.started(id: id))
  }

  /// Reports that `received` bytes were received; the first call reports the head and 0 bytes before.
  func advance(to received: Int, of expected: Int?, now: MonotonicInstant, head: @autoclosure () -> ResponseHead?) {
    if !hasNotifiedHead {
      hasNotifiedHead = true
      if let head = head() { client.notify(.response(id: id, head)) }
      notify(0, expected, now)
    }
    guard let last, let lastNotified, received > last.received, now >= lastNotified.advanced(by: interval) else { return }
    notify(received, expected, now)
  }

  func finish(_ received: Int, now: MonotonicInstant, head: @autoclosure () -> ResponseHead?) {
    advance(to: 0, of: received, now: now, head: head())
    if last?.received != received || last?.expected != received { notify(received, received, now) }
  }

  func retry(after failure: ImageFailure, in delay: Duration) { client.notify(.retrying(id: id, failure, after: delay)) }

  private func notify(_ received: Int, _ expected: Int?, _ now: MonotonicInstant) {
    last = (received, expected)
    lastNotified = now
    client.notify(.progress(id: id, received: received, expected: expected))
  }
}

extension DownloadScheduler {
  func notifyStarted(_ slot: Int) {
    let isContinued = pending[slot].continuation != nil || pending[slot].accepted != nil
    for watch in pending[slot].watches { watch.start(isContinued: isContinued) }
  }

  /// Reports the last progress of a transfer, before its end.
  func notifyEnd(of transfer: Transfer, _ slot: Int, _ outcome: TransferOutcome) {
    for watch in pending[slot].watches {
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
}
