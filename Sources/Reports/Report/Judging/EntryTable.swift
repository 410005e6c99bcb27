/// Values by the keys of entries, in flat memory: an open-addressing hash table with linear probing.
///
/// A slot costs 16 bytes and the value's own; between 3/8 and 3/4 of the slots are used. URLs come from outside, and anyone can compute
/// the hash that keys are, so that places follow from a secret of the process: chosen collisions must not slow a run.
struct EntryTable<Value: BitwiseCopyable> {
  /// The key of a free slot is zero.
  private struct Slot {
    var high: UInt64
    var low: UInt64
    var value: Value
  }

  private var slots: [Slot]
  private let filler: Value
  /// How many keys it holds.
  private(set) var count = 0
  private let factors = (UInt64.random(in: .min ... .max) | 1, UInt64.random(in: .min ... .max) | 1)

  /// An empty table; `filler` stands where there is no value.
  init(filler: Value) {
    self.filler = filler
    slots = Array(repeating: Slot(high: 0, low: 0, value: filler), count: 64)
  }

  /// The place of a key; nil where it is not there. Valid until a key is added.
  func place(of key: EntryKey) -> Int? {
    let place = search(key)
    return slots[place].high == 0 && slots[place].low == 0 ? nil : place
  }

  /// The place of a key, which is added with the filler as its value where it is not there.
  mutating func placeAdding(_ key: EntryKey) -> (place: Int, isNew: Bool) {
    var place = search(key)
    guard slots[place].high == 0, slots[place].low == 0 else { return (place, false) }
    if (count + 1) * 4 > slots.count * 3 {
      grow()
      place = search(key)
    }
    (slots[place].high, slots[place].low) = Self.stored(key)
    count += 1
    return (place, true)
  }

  /// The value at a place.
  subscript(place: Int) -> Value {
    get { slots[place].value }
    set { slots[place].value = newValue }
  }

  /// Calls `body` with every key and its value, in no order.
  func forEach(_ body: (EntryKey, Value) -> Void) {
    for slot in slots where slot.high != 0 || slot.low != 0 { body(EntryKey(high: slot.high, low: slot.low), slot.value) }
  }

  private func search(_ key: EntryKey) -> Int {
    let (high, low) = Self.stored(key)
    var place = start(high, low)
    while slots[place].high != high || slots[place].low != low {
      if slots[place].high == 0, slots[place].low == 0 { return place }
      place = (place + 1) & (slots.count - 1)
    }
    return place
  }

  /// Multiply-shift by secret odd factors: the upper bits of the product hang on all bits of the key.
  private func start(_ high: UInt64, _ low: UInt64) -> Int {
    let mixed = (high &* factors.0) ^ (low &* factors.1).byteSwapped
    return Int((mixed &* factors.1) >> UInt64(64 - slots.count.trailingZeroBitCount))
  }

  private static func stored(_ key: EntryKey) -> (UInt64, UInt64) { key.high == 0 && key.low == 0 ? (0, 1) : (key.high, key.low) }

  private mutating func grow() {
    let old = slots
    slots = Array(repeating: Slot(high: 0, low: 0, value: filler), count: old.count * 2)
    for slot in old where slot.high != 0 || slot.low != 0 { slots[search(EntryKey(high: slot.high, low: slot.low))] = slot }
  }
}
