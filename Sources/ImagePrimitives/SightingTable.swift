/// Slots by 64-bit hash: open addressing with linear probing over flat memory, doubled until it has as many as it may.
struct SightingTable: Sendable {
  /// A body at a host.
  struct Slot: Sendable {
    /// What it is found by; 0 for a free slot.
    var key: UInt64 = 0
    /// Of the hash of its first URL, as much as tells it from the others of this slot.
    var firstURL: UInt32 = 0
    var host: UInt32 = 0
    /// URLs of the host that had it.
    var urls: UInt32 = 0
    /// Where its first URL lies, in the upper 31 bits; 0 for nowhere.
    private var textAndFlag: UInt32 = 0

    /// What ``SightedURLs/append(_:isRepeated:)`` gave.
    var text: UInt32 {
      get { textAndFlag >> 1 }
      set { textAndFlag = newValue << 1 | textAndFlag & 1 }
    }

    /// Whether more than one URL had the body, at whatever host.
    var isRepeated: Bool {
      get { textAndFlag & 1 == 1 }
      set { textAndFlag = textAndFlag & ~1 | (newValue ? 1 : 0) }
    }
  }

  private let maximumSlots: Int
  private var slots: [Slot]
  private var used = 0

  init(maximumSlots: Int) {
    self.maximumSlots = maximumSlots
    slots = Array(repeating: Slot(), count: min(1024, maximumSlots))
  }

  subscript(place: Int) -> Slot {
    _read { yield slots[place] }
    _modify { yield &slots[place] }
  }

  /// Where the slot of `key` is, until the next one is inserted.
  func place(of key: UInt64) -> Int? {
    let key = key == 0 ? 1 : key
    var place = Int(truncatingIfNeeded: key) & (slots.count - 1)
    while slots[place].key != 0 {
      if slots[place].key == key { return place }
      place = (place + 1) & (slots.count - 1)
    }
    return nil
  }

  /// Makes a slot for `key`, which has none; nil where there is no room.
  mutating func insert(_ key: UInt64) -> Int? {
    if used >= slots.count / 4 * 3 {
      guard slots.count < maximumSlots else { return nil }
      double()
    }
    used += 1
    let place = freePlace(for: key == 0 ? 1 : key)
    slots[place].key = key == 0 ? 1 : key
    return place
  }

  private func freePlace(for key: UInt64) -> Int {
    var place = Int(truncatingIfNeeded: key) & (slots.count - 1)
    while slots[place].key != 0 { place = (place + 1) & (slots.count - 1) }
    return place
  }

  private mutating func double() {
    let old = slots
    slots = Array(repeating: Slot(), count: old.count * 2)
    for slot in old where slot.key != 0 { slots[freePlace(for: slot.key)] = slot }
  }
}
