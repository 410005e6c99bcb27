import Synchronization

/// What has arrived and is not final yet, bounded, so that a slow disk or decoder holds back the network and not memory.
///
/// The transfer thread asks and adds, the store thread subtracts. Whoever was told to wait is remembered before the bounds are
/// looked at once more, and whoever subtracts looks at that after it has: so one of the two always sees the other.
final class BackPressure: Sendable {
  /// Entries between the end of their transfer and their commit.
  static let maximumEntries = 4096
  /// Bytes of bodies in memory.
  static let maximumBytes = 24 << 20

  private let entries = Atomic(0)
  private let bytes = Atomic(0)
  private let isAwaited = Atomic(false)

  /// Whether a new transfer may start; after false, ``subtract(entries:bytes:)`` says when to ask again.
  func mayStart() -> Bool {
    if hasRoom { return true }
    isAwaited.store(true, ordering: .sequentiallyConsistent)
    return hasRoom
  }

  func add(entries: Int, bytes: Int) {
    self.entries.add(entries, ordering: .sequentiallyConsistent)
    self.bytes.add(bytes, ordering: .sequentiallyConsistent)
  }

  /// Returns whether there is room again for whoever was told to wait.
  func subtract(entries: Int, bytes: Int) -> Bool {
    self.entries.subtract(entries, ordering: .sequentiallyConsistent)
    self.bytes.subtract(bytes, ordering: .sequentiallyConsistent)
    return hasRoom && isAwaited.exchange(false, ordering: .sequentiallyConsistent)
  }

  private var hasRoom: Bool {
    entries.load(ordering: .sequentiallyConsistent) < Self.maximumEntries
      && bytes.load(ordering: .sequentiallyConsistent) < Self.maximumBytes
  }
}
