import Synchronization

/// What has arrived and is not final yet, bounded, so that a slow disk or decoder holds back the network and not memory.
final class BackPressure: Sendable {
  /// Entries between the end of their transfer and their commit.
  static let maximumEntries = 4096
  /// Bytes of bodies in memory.
  static let maximumBytes = 24 << 20

  private let entries = Atomic(0)
  private let bytes = Atomic(0)

  /// Whether a new transfer may start.
  var hasRoom: Bool {
    entries.load(ordering: .relaxed) < Self.maximumEntries && bytes.load(ordering: .relaxed) < Self.maximumBytes
  }

  func add(entries: Int, bytes: Int) {
    self.entries.add(entries, ordering: .relaxed)
    self.bytes.add(bytes, ordering: .relaxed)
  }

  /// Returns whether this made room where there was none.
  func subtract(entries: Int, bytes: Int) -> Bool {
    let hadRoom = hasRoom
    self.entries.subtract(entries, ordering: .relaxed)
    self.bytes.subtract(bytes, ordering: .relaxed)
    return !hadRoom && hasRoom
  }
}
