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
