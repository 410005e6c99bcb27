import ImagePrimitives

/// A client as the transfer thread knows it.
final class ClientState {
  private let receiver: any DownloadReceiver
  /// The jobs of its downloads that have not ended, by their numbers.
  private(set) var slots: [UInt64: Int] = [:]
  /// Its downloads that wait to begin, or to begin again.
  var waiting = 0
  private var events: [DownloadEvent] = []

  init(_ receiver: any DownloadReceiver) { self.receiver = receiver }

  /// Whether it holds back what is new.
  var holdsBack: Bool { waiting > 0 && !receiver.mayStart }

  /// Traps where a download of that number has not ended, which is the caller's error.
  func add(_ id: UInt64, slot: Int) {
    let previous = slots.updateValue(slot, forKey: id)
    trap(unless: previous == nil, "download \(id) has not ended yet")
  }

  func move(_ id: UInt64, to slot: Int) { slots[id] = slot }

  /// Notes an event, to be told at the end of the turn.
  func notify(_ event: DownloadEvent) { events.append(event) }

  /// Notes the last event of a download, whose number may be used again from here.
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
