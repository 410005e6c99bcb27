@usableFromInline
package protocol ProbedSlot: Sendable {
  var isFree: Bool { get }
}

/// An open-addressing hash table with linear probing over flat memory; it doubles when three quarters of its slots are used.
///
/// Callers pass hashes and comparisons, so they choose how keys are hashed. Keys from outside need a secret seed, or an attacker
/// could choose colliding keys.
///
/// Its hot functions are inlinable, since other modules couldn't specialise them otherwise.
@usableFromInline
package struct ProbedTable<Slot: ProbedSlot>: Sendable {
  @usableFromInline package var slots: [Slot]
  @usableFromInline package var used = 0
  @usableFromInline let maximumSlots: Int
  @usableFromInline let free: Slot

  /// Creates a table whose slots all equal `free`. Both numbers must be powers of two.
  @inlinable
  package init(free: Slot, slots: Int = 64, maximumSlots: Int = 1 << 40) {
    self.free = free
    self.maximumSlots = maximumSlots
    self.slots = Array(repeating: free, count: min(slots, maximumSlots))
  }

  package var byteCount: Int { slots.capacity * MemoryLayout<Slot>.stride }

  @inlinable
  package subscript(index: Int) -> Slot {
    @inline(__always) get { slots[index] }
    @inline(__always) _modify { yield &slots[index] }
  }

  /// Returns the index of the slot that `matches`, or of the free slot for it; valid until the next insertion.
  @inlinable
  @inline(__always)
  package func index(hash: UInt64, where matches: (Slot) -> Bool) -> Int {
    let mask = slots.count - 1
    var index = Int(truncatingIfNeeded: hash) & mask
    while !slots[index].isFree, !matches(slots[index]) { index = (index + 1) & mask }
    return index
  }

  /// Fills the free slot at `index` and returns its current index; nil if the table is full.
  ///
  /// When the table doubles, it calls `hash` for each slot.
  @inlinable
  @inline(__always)
  package mutating func insert(_ slot: Slot, at index: Int, hash: (Slot) -> UInt64) -> Int? {
    var index = index
    if used >= slots.count / 4 * 3 {
      guard slots.count < maximumSlots else { return nil }
      double(hash)
      index = self.index(hash: hash(slot)) { _ in false }
    }
    used += 1
    slots[index] = slot
    return index
  }

  @usableFromInline
  @inline(never)
  mutating func double(_ hash: (Slot) -> UInt64) {
    let old = slots
    slots = Array(repeating: free, count: old.count * 2)
    for slot in old where !slot.isFree { slots[index(hash: hash(slot)) { _ in false }] = slot }
  }
}

/// An index into an array of records plus one; 0 for a free slot.
extension UInt32: ProbedSlot {
  @inlinable package var isFree: Bool { self == 0 }
}
