import Base

/// A download that waits for a transfer.
struct Waiter {
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

  var position: Waiters.Position { Waiters.Position(priority: priority, sequence: sequence) }

  func `is`(_ id: UInt64, of client: ClientState) -> Bool { self.id == id && self.client === client }
}

/// The downloads that share a transfer, at least one; a single one costs no allocation.
struct Waiters {
  private var first: Waiter
  private var others: [Waiter] = []

  init(_ first: Waiter) { self.first = first }

  var isAlone: Bool { others.isEmpty }

  /// Whether transient failures are retried for any of them.
  var mayRetry: Bool { first.mayRetry || others.contains(where: \.mayRetry) }

  var wantsDetails: Bool { first.wantsDetails || others.contains(where: \.wantsDetails) }

  /// A position in the queue: a class, and a sequence within that.
  struct Position: Equatable {
    var priority: LoadPriority
    var sequence: Int64

    func isBefore(_ other: Position) -> Bool {
      priority > other.priority || priority == other.priority && sequence < other.sequence
    }
  }

  /// The position of the one that would start first.
  var best: Position {
    others.reduce(first.position) { best, other in other.position.isBefore(best) ? other.position : best }
  }

  mutating func add(_ waiter: Waiter) { others.append(waiter) }

  /// Removes one of several.
  mutating func remove(_ id: UInt64, of client: ClientState) -> Waiter? {
    if first.is(id, of: client), !others.isEmpty {
      defer { first = others.removeFirst() }
      return first
    }
    guard let index = others.firstIndex(where: { $0.is(id, of: client) }) else { return nil }
    return others.remove(at: index)
  }

  mutating func update(_ id: UInt64, of client: ClientState, _ change: (inout Waiter) -> Void) {
    if first.is(id, of: client) {
      change(&first)
    } else if let index = others.firstIndex(where: { $0.is(id, of: client) }) {
      change(&others[index])
    }
  }

  /// Removes those without retries, if others remain.
  mutating func removeThoseWithoutRetry() -> [Waiter] {
    let all = [first] + others
    let staying = all.filter(\.mayRetry)
    guard let next = staying.first, staying.count < all.count else { return [] }
    first = next
    others = Array(staying.dropFirst())
    return all.filter { !$0.mayRetry }
  }

  func forEach(_ body: (Waiter) -> Void) {
    body(first)
    for other in others { body(other) }
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
