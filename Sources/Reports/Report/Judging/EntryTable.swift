import ImagePrimitives

/// Values by the keys of entries, in flat memory.
///
/// A slot costs 16 bytes and the value's own; between 3/8 and 3/4 of the slots are used. URLs come from outside, and anyone can compute
/// the hash that keys are, so that indices follow from a secret of the process: chosen collisions must not slow a run.
struct EntryTable<Value: BitwiseCopyable & Sendable> {
  /// The key of a free slot is zero.
  private struct Slot: ProbedSlot {
    var high: UInt64 = 0
    var low: UInt64 = 0
    var value: Value
    var isFree: Bool { high == 0 && low == 0 }
  }

  private var slots: ProbedTable<Slot>
  private let filler: Value
  private let seeds = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))

  /// An empty table; `filler` stands where there is no value.
  init(filler: Value) {
    self.filler = filler
    slots = ProbedTable(free: Slot(value: filler))
  }

  /// How many keys it holds.
  var count: Int { slots.used }

  /// The index of a key; nil if it is not there. Valid until a key is added.
  func index(of key: EntryKey) -> Int? {
    let index = search(key)
    return slots[index].isFree ? nil : index
  }

  /// The index of a key, which is added with the filler as its value if it is not there.
  mutating func indexAdding(_ key: EntryKey) -> (index: Int, isNew: Bool) {
    let index = search(key)
    guard slots[index].isFree else { return (index, false) }
    let (high, low) = Self.stored(key)
    let seeds = seeds
    let added = slots.insert(Slot(high: high, low: low, value: filler), at: index) { Self.hash($0.high, $0.low, seeds) }
    return (added!, true)
  }

  subscript(index: Int) -> Value {
    get { slots[index].value }
    set { slots[index].value = newValue }
  }

  /// Calls `body` with every key and its value, in no order.
  func forEach(_ body: (EntryKey, Value) -> Void) {
    for slot in slots.slots where !slot.isFree { body(EntryKey(high: slot.high, low: slot.low), slot.value) }
  }

  private func search(_ key: EntryKey) -> Int {
    let (high, low) = Self.stored(key)
    return slots.index(hash: Self.hash(high, low, seeds)) { $0.high == high && $0.low == low }
  }

  /// Both halves of the product, after what nobody can know was added to each (as wyhash mixes).
  private static func hash(_ high: UInt64, _ low: UInt64, _ seeds: (UInt64, UInt64)) -> UInt64 {
    let product = (high ^ seeds.0).multipliedFullWidth(by: low ^ seeds.1)
    return product.high ^ product.low
  }

  private static func stored(_ key: EntryKey) -> (UInt64, UInt64) { key.high == 0 && key.low == 0 ? (0, 1) : (key.high, key.low) }
}
