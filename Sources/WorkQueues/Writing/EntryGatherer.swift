#if Queue
import DequeModule
import ImagePrimitives

/// Gathers entries of one host and one class into messages, in bounded memory.
///
/// A message goes out when it is full. Where too many entries are gathered, the one that was begun first goes out as it is.
/// Nothing but the sequence of entries decides, so that the same entries make the same messages.
struct EntryGatherer {
  /// A message on its way out.
  struct Message: Sendable, Hashable {
    let priority: Priority
    let bytes: [UInt8]
    let entryCount: Int
  }

  /// Which entries belong together.
  struct Key: Hashable {
    let priority: Priority
    /// A hash of the host's name: where two names had one, their entries would share messages, which harms nobody.
    let host: UInt64
  }

  static let maximumEntriesPerMessage = 64
  static let maximumTextBytesPerMessage = 256 << 10

  private struct Group {
    var key: Key
    /// Tells a group from others that were gathered in the same slot.
    var sequence: UInt64
    var encoder = MessageEncoder()
  }

  private let maximumEntries: Int
  private var gatheredEntries = 0
  private var indices: [Key: Int] = [:]
  private var groups: [Group] = []
  private var freeIndices: [Int] = []
  /// Groups as they were begun; those that went out since are passed over.
  private var order = Deque<(index: Int, sequence: UInt64)>()
  private var nextSequence: UInt64 = 0
  private var fullIndex: Int?

  init(maximumEntries: Int) { self.maximumEntries = maximumEntries }

  /// Adds an entry; what ``next()`` gives then has to be taken before the next one.
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

  /// The next message that has to go out; nil where more entries may be gathered.
  mutating func next() -> Message? {
    if let index = fullIndex { return take(index) }
    return gatheredEntries > maximumEntries ? takeOldest() : nil
  }

  /// The oldest message, full or not; nil where nothing is gathered.
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

  /// Keeps what is passed over from piling up where every message goes out full.
  private mutating func trimOrder() {
    guard order.count > 2 * indices.count + 64 else { return }
    order.removeAll { groups[$0.index].sequence != $0.sequence || groups[$0.index].encoder.count == 0 }
  }
}
#endif
