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
    /// Tells a group from others that were gathered in the same place.
    var sequence: UInt64
    var encoder = MessageEncoder()
  }

  private let maximumEntries: Int
  private var gatheredEntries = 0
  private var places: [Key: Int] = [:]
  private var groups: [Group] = []
  private var freePlaces: [Int] = []
  /// Groups as they were begun; those that went out since are passed over.
  private var order = Deque<(place: Int, sequence: UInt64)>()
  private var nextSequence: UInt64 = 0
  private var fullPlace: Int?

  init(maximumEntries: Int) { self.maximumEntries = maximumEntries }

  /// Adds an entry; what ``next()`` gives then has to be taken before the next one.
  mutating func add(_ entry: NewQueuedEntry, key: Key) {
    let place = places[key] ?? begin(key)
    groups[place].encoder.append(entry)
    gatheredEntries += 1
    if groups[place].encoder.count >= Self.maximumEntriesPerMessage
      || groups[place].encoder.textBytes >= Self.maximumTextBytesPerMessage
    {
      fullPlace = place
    }
  }

  /// The next message that has to go out; nil where more entries may be gathered.
  mutating func next() -> Message? {
    if let place = fullPlace { return take(place) }
    return gatheredEntries > maximumEntries ? takeOldest() : nil
  }

  /// The oldest message, full or not; nil where nothing is gathered.
  mutating func takeOldest() -> Message? {
    while let (place, sequence) = order.popFirst() {
      if groups[place].sequence == sequence, groups[place].encoder.count > 0 { return take(place) }
    }
    return nil
  }

  private mutating func begin(_ key: Key) -> Int {
    nextSequence += 1
    let place: Int
    if let free = freePlaces.popLast() {
      place = free
      groups[place].key = key
      groups[place].sequence = nextSequence
    } else {
      place = groups.count
      groups.append(Group(key: key, sequence: nextSequence))
    }
    places[key] = place
    order.append((place, nextSequence))
    return place
  }

  private mutating func take(_ place: Int) -> Message {
    let encoder = groups[place].encoder
    let message = Message(priority: groups[place].key.priority, bytes: encoder.bytes, entryCount: encoder.count)
    gatheredEntries -= encoder.count
    groups[place].encoder = MessageEncoder()
    places[groups[place].key] = nil
    freePlaces.append(place)
    if place == fullPlace { fullPlace = nil }
    trimOrder()
    return message
  }

  /// Keeps what is passed over from piling up where every message goes out full.
  private mutating func trimOrder() {
    guard order.count > 2 * places.count + 64 else { return }
    order.removeAll { groups[$0.place].sequence != $0.sequence || groups[$0.place].encoder.count == 0 }
  }
}
