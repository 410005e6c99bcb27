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

    /// A free one.
    init() {}

    /// A body that one URL had.
    init(key: UInt64, firstURL: UInt32, host: UInt32) {
      (self.key, self.firstURL, self.host) = (key, firstURL, host)
      urls = 1
    }

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

  var byteCount: Int { slots.capacity * MemoryLayout<Slot>.stride }

  subscript(place: Int) -> Slot {
    get { slots[place] }
    _modify { yield &slots[place] }
  }

  /// Where the slot of `key`, which is not 0, is; else the free one where it belongs. Until the next one is inserted.
  @inline(__always)
  func place(of key: UInt64) -> (place: Int, isFree: Bool) {
    let mask = slots.count - 1
    var place = Int(truncatingIfNeeded: key) & mask
    while true {
      let found = slots[place].key
      if found == key { return (place, false) }
      if found == 0 { return (place, true) }
      place = (place + 1) & mask
    }
  }

  /// Fills the free slot that was found at `place`; false where there is no room.
  @inline(__always)
  mutating func insert(_ slot: Slot, at place: Int) -> Bool {
    var place = place
    if used >= slots.count / 4 * 3 {
      guard slots.count < maximumSlots else { return false }
      double()
      place = self.place(of: slot.key).place
    }
    used += 1
    slots[place] = slot
    return true
  }

  @inline(never)
  private mutating func double() {
    let old = slots
    slots = Array(repeating: Slot(), count: old.count * 2)
    for slot in old where slot.key != 0 { slots[place(of: slot.key).place] = slot }
  }
}
