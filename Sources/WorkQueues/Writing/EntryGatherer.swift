#if Queue
import DequeModule
import ImagePrimitives

/// Gathers entries of the same host and priority into messages, in bounded memory.
///
/// A message is sent when it is full. If too many entries are gathered, the oldest message is sent as it is. Only the
/// sequence of entries decides, so that the same entries make the same messages.
struct EntryGatherer {
  /// A message to send.
  struct Message: Sendable, Hashable {
    let priority: LoadPriority
    let bytes: [UInt8]
    let entryCount: Int
  }

  /// The entries that belong together.
  struct Key: Hashable {
    let priority: LoadPriority
    /// A hash of the host's name. Hosts with equal hashes share messages, which is harmless.
    let host: UInt64
  }

  static let maximumEntriesPerMessage = 64
  static let maximumTextBytesPerMessage = 256 << 10

  private struct Group {
    var key: Key
    /// Distinguishes a group from others in the same slot.
    var sequence: UInt64
    var encoder = MessageEncoder()
  }

  private let maximumEntries: Int
  private var gatheredEntries = 0
  private var indices: [Key: Int] = [:]
  private var groups: [Group] = []
  private var freeIndices: [Int] = []
  /// Groups in the order in which they were started; those that were sent since are skipped.
  private var order = Deque<(index: Int, sequence: UInt64)>()
  private var nextSequence: UInt64 = 0
  private var fullIndex: Int?

  init(maximumEntries: Int) { self.maximumEntries = maximumEntries }

  /// Adds an entry; all messages of ``next()`` must be taken before the next call.
  mutating func add(_ entry: NewQueuedEntry, key: Key) {
    let index = indices[key] ?? begin(key)
    groups[index].encoder.append(entry)
    gatheredEntries += 1
    if groups[index].encoder.count >= Self.maximumEntriesPerMessage
      || groups[index].encoder.textBytes >= Self.maximumTextBytesPerMessage
    {
      fullIndex = index
    }
  }

  /// Returns the next message that must be sent; nil if more entries may be gathered.
  mutating func next() -> Message? {
    if let index = fullIndex { return take(index) }
    return gatheredEntries > maximumEntries ? takeOldest() : nil
  }

  /// Returns the oldest message, full or not; nil if nothing is gathered.
  mutating func takeOldest() -> Message? {
    while let (index, sequence) = order.popFirst() {
      if groups[index].sequence == sequence, groups[index].encoder.count > 0 { return take(index) }
    }
    return nil
  }

  private mutating func begin(_ key: Key) -> Int {
    nextSequence += 1
    let index: Int
    if let free = freeIndices.popLast() {
      index = free
      groups[index].key = key
      groups[index].sequence = nextSequence
    } else {
      index = groups.count
      groups.append(Group(key: key, sequence: nextSequence))
    }
    indices[key] = index
    order.append((index, nextSequence))
    return index
  }

  private mutating func take(_ index: Int) -> Message {
    let encoder = groups[index].encoder
    let message = Message(priority: groups[index].key.priority, bytes: encoder.bytes, entryCount: encoder.count)
    gatheredEntries -= encoder.count
    groups[index].encoder = MessageEncoder()
    indices[groups[index].key] = nil
    freeIndices.append(index)
    if index == fullIndex { fullIndex = nil }
    trimOrder()
    return message
  }

  /// Removes skipped groups, which would pile up if every message is sent full.
  private mutating func trimOrder() {
    guard order.count > 2 * indices.count + 64 else { return }
    order.removeAll { groups[$0.index].sequence != $0.sequence || groups[$0.index].encoder.count == 0 }
  }
}
#endif
